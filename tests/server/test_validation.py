from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from orchestrator.errors import InvalidFieldError
from orchestrator.server.validation import check_apply
from trias.v1 import document_pb2, knowledge_service_pb2


def document() -> knowledge_service_pb2.ApplyDocumentRequest:
    vectors = np.eye(2, 4, dtype="<f4")
    request = knowledge_service_pb2.ApplyDocumentRequest(
        document=document_pb2.Document(document_id="d1", doc_source="a.md", title="办法", content_hash="h"),
        clauses=[document_pb2.Clause(source_id=f"c{i}", document_id="d1", text="条", ordinal=i) for i in range(2)],
        vectors=vectors.tobytes(),
        dimension=4,
        embedder_fingerprint="f",
    )
    request.references.add(source_id="c1", type=document_pb2.REFERENCE_TYPE_CITES)
    return request


def test_a_sound_document_passes() -> None:
    check_apply(document())


def vectors(values: Any) -> Callable[[Any], None]:
    def change(request: knowledge_service_pb2.ApplyDocumentRequest) -> None:
        request.vectors = np.asarray(values, dtype="<f4").tobytes()

    return change


def change(path: str, value: Any) -> Callable[[Any], None]:
    def changed(request: Any) -> None:
        *parents, leaf = path.split(".")
        for parent in parents:
            request = request[int(parent)] if parent.isdigit() else getattr(request, parent)
        setattr(request, leaf, value)

    return changed


CASES: dict[str, tuple[Callable[[Any], None], str]] = {
    "no id": (change("document.document_id", ""), "document.document_id"),
    "no hash": (change("document.content_hash", ""), "document.content_hash"),
    "no source": (change("document.doc_source", ""), "document.doc_source"),
    "no day": (change("document.publish_date", "2024-13-01"), "document.publish_date"),
    "unknown status": (change("document.status", 55), "document.status"),
    "unknown clause type": (change("clauses.1.clause_type", 99), "clauses[1].clause_type"),
    "unknown position": (change("clauses.0.position", 9), "clauses[0].position"),
    "box without numbers": (change("clauses.0.place.box.x0", float("inf")), "clauses[0].place.box.x0"),
    "twice": (change("clauses.1.source_id", "c0"), "clauses[1].source_id"),
    "another document's": (change("clauses.1.document_id", "d2"), "clauses[1].document_id"),
    "blank": (change("clauses.1.text", " \n"), "clauses[1].text"),
    "reference from nowhere": (change("references.0.source_id", "c9"), "references[0].source_id"),
    "unknown reference": (change("references.0.type", 44), "references[0].type"),
    "no fingerprint": (change("embedder_fingerprint", ""), "embedder_fingerprint"),
    "no dimension": (change("dimension", 0), "dimension"),
    "negative dimension": (change("dimension", -4), "dimension"),
    "too few vectors": (change("vectors", b"\x00" * 16), "vectors"),
    "half a float": (change("vectors", b"\x00" * 31), "vectors"),
    "not a number": (vectors([[np.nan, 0, 0, 0], [0, 1, 0, 0]]), "vectors"),
    "not a unit vector": (vectors([[1, 0, 0, 0], [0, 2, 0, 0]]), "vectors"),
    "zero": (vectors([[1, 0, 0, 0], [0, 0, 0, 0]]), "vectors"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_broken_document_names_its_field(name: str) -> None:
    request = document()
    alter, path = CASES[name]
    alter(request)
    with pytest.raises(InvalidFieldError) as caught:
        check_apply(request)
    assert caught.value.field == path
