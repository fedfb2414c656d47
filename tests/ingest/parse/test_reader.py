from __future__ import annotations

import os
import pickle

import pytest

from ingest.parse import reader
from ingest.parse.reader import parse_file
from ingest.parse.sniff import Format
from orchestrator.errors import DocumentError


def kind_of(path, **options) -> str:
    with pytest.raises(DocumentError) as caught:
        parse_file(path, **options)
    assert caught.value.hint
    return caught.value.kind


def test_source_is_what_the_user_named(write):
    path = write("a.txt", "第一条")
    assert parse_file(path).source == str(path)
    assert parse_file(path, source="docs/a.txt").source == "docs/a.txt"
    with pytest.raises(DocumentError, match=r"^docs/b.txt: "):
        parse_file(write("b.txt", b""), source="docs/b.txt")


def test_lying_name_is_read_with_a_warning(write):
    parsed = parse_file(write("a.docx", "第一条"))
    assert parsed.media_type == "text/plain"
    assert ".docx" in parsed.warnings[0]


def test_limits(write):
    path = write("a.txt", "第一条")
    assert kind_of(path, max_bytes=3) == "TOO_LARGE"
    assert parse_file(path, max_bytes=9).blocks


def test_what_is_no_file(tmp_path):
    assert kind_of(tmp_path) == "NOT_A_FILE"
    assert kind_of(tmp_path / "missing.docx") == "NOT_A_FILE"
    os.mkfifo(tmp_path / "pipe.docx")
    assert kind_of(tmp_path / "pipe.docx") == "NOT_A_FILE"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_file(write):
    path = write("a.txt", "第一条")
    path.chmod(0)
    assert kind_of(path) == "UNREADABLE_FILE"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (OSError(5, "Input/output error"), "UNREADABLE_FILE"),
        (RecursionError(), "TOO_LARGE"),
        (MemoryError(), "TOO_LARGE"),
        (KeyError("x"), "TRUNCATED"),
    ],
)
def test_errors_of_libraries_become_document_errors(write, monkeypatch, error, kind):
    def fail(path, source):
        raise error

    monkeypatch.setitem(reader._READERS, Format.TEXT, fail)
    assert kind_of(write("a.txt", "第一条")) == kind


def test_errors_cross_processes(write):
    with pytest.raises(DocumentError) as caught:
        parse_file(write("a.txt", b""))
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.kind) == (str(caught.value), "EMPTY_FILE")


def test_documents_cross_processes(docx):
    parsed = docx.read(docx.table(["甲", "乙"], ["丙", "丁"]))
    assert pickle.loads(pickle.dumps(parsed)) == parsed
