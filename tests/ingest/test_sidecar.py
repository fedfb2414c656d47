"""Sidecars: what may be set, and what is said of mistakes."""

from __future__ import annotations

import pytest

from ingest.sidecar import read_sidecar
from orchestrator.errors import DocumentError


def test_fields_are_read() -> None:
    content = "title: 甲办法\npublish_date: 2024-01-05\nauthority_level: provincial\nversion: 2\n".encode()
    assert read_sidecar(content, "x") == {
        "title": "甲办法",
        "publish_date": "2024-01-05",
        "authority_level": "provincial",
        "version": "2",
    }
    assert read_sidecar(b"", "x") == {}


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"titel: x", "titel"),
        (b"publish_date: gestern", "publish_date"),
        (b"status: alive", "status"),
        (b"title: [a]", "title"),
        (b"- a", "mapping"),
        (b"a: [", "YAML"),
        (b"\xff\xfe\x00", "YAML"),
    ],
)
def test_a_mistake_is_named(content: bytes, word: str) -> None:
    with pytest.raises(DocumentError, match=word) as caught:
        read_sidecar(content, "甲.docx.meta.yaml")
    assert caught.value.kind == "SIDECAR_INVALID"
