from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from evaluation.corpus import read_corpus, read_qrels, read_queries
from orchestrator.errors import ConfigurationError

ROWS = [
    {"id": "甲法第一条", "law": "甲法", "content": "为了保护人民。"},
    {"id": "甲法第二条", "law": "甲法", "content": "适用范围。"},
    {"id": 7, "title": "乙规定", "content": "第九条　适用范围。"},
]


def write(path: Path, rows: list[object]) -> Path:
    text = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize("name", ["corpus.jsonl", "corpus.jsonl.gz"])
def test_rows_of_one_title_are_one_document(tmp_path: Path, name: str) -> None:
    first, second = read_corpus(write(tmp_path / name, list(ROWS)))
    assert first.document.title == "甲法"
    assert first.row_ids == ("甲法第一条", "甲法第二条")
    assert [clause.label for clause in first.clauses] == ["第一条", "第二条"]
    assert [clause.ordinal for clause in first.clauses] == [0, 1]
    assert second.row_ids == ("7",)
    assert second.clauses[0].label == "第九条"


def test_ids_are_deterministic_and_repeated_texts_stay_apart(tmp_path: Path) -> None:
    rows = [{"id": number, "title": "甲", "content": "同一句。"} for number in range(3)]
    path = write(tmp_path / "c.jsonl", list(rows))
    ids = [clause.source_id for clause in read_corpus(path)[0].clauses]
    assert len(set(ids)) == 3
    assert ids == [clause.source_id for clause in read_corpus(path)[0].clauses]


@pytest.mark.parametrize("line", ["{", "[]", '{"id": 1}', '{"content": "x"}', '{"id": 1, "content": 2}'])
def test_a_malformed_row_is_named_by_its_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text('{"id": 1, "title": "t", "content": "x"}\n' + line)
    with pytest.raises(ConfigurationError, match=r"c\.jsonl, line 2"):
        read_corpus(path)


def test_queries_and_judgements(tmp_path: Path) -> None:
    queries = read_queries(write(tmp_path / "q.jsonl", [{"id": 3, "text": "问"}]))
    assert [(query.query_id, query.text) for query in queries] == [("3", "问")]
    judgements = tmp_path / "qrels.tsv"
    judgements.write_text("3\ta\t1\n3\tb\t2\n3\tc\t0\n")
    assert read_qrels(judgements) == {"3": frozenset({"a", "b"})}


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    broken = tmp_path / "broken.jsonl.gz"
    broken.write_bytes(gzip.compress(b"x" * 1000)[:20])
    for path in (tmp_path / "none.jsonl", broken):
        with pytest.raises(ConfigurationError, match=path.name):
            read_corpus(path)
    judgements = tmp_path / "qrels.tsv"
    judgements.write_text("3 a 1\n")
    with pytest.raises(ConfigurationError, match=r"qrels\.tsv, line 1"):
        read_qrels(judgements)
