"""Golden sets are read or refused with the line that is wrong; ours is one that a model can be measured on."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from export.golden import ClaimSet, RetrievalSet, RoutingSet, own_retrieval_set, read_golden
from orchestrator.errors import ConfigurationError


def write_retrieval(folder: Path, **files: str) -> Path:
    content = {
        "corpus.jsonl": '{"id": "a", "title": "办法", "content": "第一条"}\n{"id": "b", "content": "第二条"}\n',
        "queries.jsonl": '{"id": "q", "text": "哪条"}\n{"id": "unjudged", "text": "?"}\n',
        "qrels.tsv": "q\ta\t1\nq\tb\t0\n",
    }
    for name, text in {**content, **files}.items():
        (folder / name).write_text(text, "utf-8")
    return folder


def test_a_retrieval_set(tmp_path: Path) -> None:
    golden = read_golden("embedder", write_retrieval(tmp_path))
    assert isinstance(golden, RetrievalSet)
    assert golden.passages == ("办法 第一条", "第二条")
    assert [(question.text, question.gold) for question in golden.questions] == [("哪条", frozenset({0}))]
    (tmp_path / "corpus.jsonl.gz").write_bytes(gzip.compress((tmp_path / "corpus.jsonl").read_bytes()))
    (tmp_path / "corpus.jsonl").unlink()
    assert read_golden("reranker", tmp_path) == golden


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("corpus.jsonl", '{"id": "a"}', r"corpus\.jsonl, line 1: a passage needs"),
        ("corpus.jsonl", "{", r"corpus\.jsonl, line 1"),
        ("corpus.jsonl", "[]", r"corpus\.jsonl, line 1: a JSON object"),
        ("queries.jsonl", '{"id": "q", "text": 1}', r"queries\.jsonl, line 1: a question needs"),
        ("qrels.tsv", "q\tnobody\t1", r"qrels\.tsv, line 1"),
        ("qrels.tsv", "", "no question with a judgement"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, file: str, content: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        read_golden("embedder", write_retrieval(tmp_path, **{file: content}))


def test_a_folder_that_is_no_set(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"holds no corpus\.jsonl"):
        read_golden("embedder", tmp_path)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_golden("router", tmp_path / "nowhere.jsonl")
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(ConfigurationError, match="no rows"):
        read_golden("router", tmp_path / "empty.jsonl")


def test_routing_and_claims(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    slots = [{"type": "hospital_grade", "start": 0, "end": 2, "value": "三级"}]
    path.write_text(json.dumps({"text": "三级报多少", "intent": "rate", "slots": slots}) + "\n")
    golden = read_golden("router", path)
    assert isinstance(golden, RoutingSet)
    assert golden.rows[0].slots == {("hospital_grade", 0, 2)}
    path.write_text('{"text": "三级报多少", "intent": "rate", "slots": [{"type": "x"}]}')
    with pytest.raises(ConfigurationError, match="line 1: 'start' is missing"):
        read_golden("router", path)
    path.write_text('{"clause": "支付70%", "question": "多少", "number": "70%", "topic": [["支付", "报销"]]}')
    claims = read_golden("reasoner", path)
    assert isinstance(claims, ClaimSet)
    assert claims.rows[0].topic == (("支付", "报销"),)
    assert claims.texts == ("支付70%",)


def test_our_own_set_is_whole() -> None:
    golden = read_golden("embedder", own_retrieval_set())
    assert isinstance(golden, RetrievalSet)
    assert len(golden.questions) >= 60
    assert len(golden.passages) >= 100
    assert len(set(golden.texts)) == len(golden.texts)
