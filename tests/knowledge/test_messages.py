from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import InvalidFieldError
from orchestrator.knowledge import messages
from orchestrator.knowledge.clause import (
    AuthorityLevel,
    Box,
    Clause,
    ClauseType,
    Document,
    DocumentStatus,
    IndexedDocument,
    PathElement,
    Place,
    Position,
    Provenance,
    Reference,
    ReferenceType,
    Table,
)
from trias.v1 import document_pb2, knowledge_service_pb2

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
numbers = st.integers(0, 2**31 - 1)
boxes = st.builds(Box, *[st.floats(0, 9999)] * 4)
places = st.builds(Place, numbers, st.none() | boxes, numbers, numbers)
tables = st.builds(
    Table, st.lists(texts, max_size=3).map(tuple), st.lists(st.lists(texts, max_size=3).map(tuple)).map(tuple), texts
)
clauses = st.builds(
    Clause,
    source_id=texts,
    document_id=texts,
    text=texts,
    ordinal=numbers,
    label=texts,
    path=st.lists(st.builds(PathElement, texts, texts, texts), max_size=3).map(tuple),
    clause_type=st.sampled_from(ClauseType),
    position=st.sampled_from(Position),
    place=places,
    table=st.none() | tables,
)
documents = st.builds(
    Document,
    *[texts] * 9,
    authority_level=st.sampled_from(AuthorityLevel),
    version=texts,
    status=st.sampled_from(DocumentStatus),
    region=texts,
    superseded_by=st.lists(texts, max_size=2).map(tuple),
    provenance=st.lists(st.builds(Provenance, texts, texts, texts), max_size=2).map(tuple),
)
references = st.builds(
    Reference, texts, st.sampled_from(ReferenceType), texts, numbers, numbers, texts, texts, texts, texts
)


@given(clauses)
def test_a_clause_comes_back(clause: Clause) -> None:
    wire = messages.clause_to_message(clause).SerializeToString()
    assert messages.clause_from_message(document_pb2.Clause.FromString(wire)) == clause


@given(documents)
def test_a_document_comes_back(document: Document) -> None:
    wire = messages.document_to_message(document).SerializeToString()
    assert messages.document_from_message(document_pb2.Document.FromString(wire)) == document


@given(references)
def test_a_reference_comes_back(reference: Reference) -> None:
    wire = messages.reference_to_message(reference).SerializeToString()
    assert messages.reference_from_message(document_pb2.Reference.FromString(wire)) == reference


def _through(indexed: IndexedDocument) -> IndexedDocument:
    wire = messages.indexed_to_request(indexed).SerializeToString()
    return messages.indexed_from_request(knowledge_service_pb2.ApplyDocumentRequest.FromString(wire))


@pytest.mark.parametrize("texts", [["甲", "乙"], []])
def test_an_indexed_document_comes_back(factory: Any, texts: list[str]) -> None:
    indexed = factory.indexed("某省办法", texts, [(0, "某法", "第1条")] if texts else [])
    back = _through(indexed)
    assert replace(back, vectors=indexed.vectors) == indexed
    assert np.array_equal(back.vectors, indexed.vectors)
    assert back.vectors.dtype == np.float32


def _request(factory: Any) -> knowledge_service_pb2.ApplyDocumentRequest:
    return messages.indexed_to_request(factory.indexed("某省办法", ["甲", "乙"], [(0, "某法", "")]))


def test_malformed_fields_are_named(factory: Any) -> None:
    def broken(field: str, change: Any) -> None:
        request = _request(factory)
        change(request)
        with pytest.raises(InvalidFieldError) as caught:
            messages.indexed_from_request(request)
        assert caught.value.field == field

    broken("vectors", lambda request: setattr(request, "vectors", request.vectors[:-1]))
    broken("vectors", lambda request: setattr(request, "dimension", 7))
    broken("dimension", lambda request: setattr(request, "dimension", 0))
    broken("dimension", lambda request: setattr(request, "dimension", -8))
    broken("document.status", lambda request: setattr(request.document, "status", 77))
    broken("document.authority_level", lambda request: setattr(request.document, "authority_level", 77))
    broken("clauses[1].clause_type", lambda request: setattr(request.clauses[1], "clause_type", 0))
    broken("clauses[0].position", lambda request: setattr(request.clauses[0], "position", 9))
    broken("clauses[1].snippet_hash", lambda request: setattr(request.clauses[1], "snippet_hash", "0"))
    broken("references[0].type", lambda request: setattr(request.references[0], "type", 0))


def test_every_enum_value_of_the_contract_has_a_word() -> None:
    for mapping, enum in (
        (messages._STATUS, document_pb2.DocumentStatus),
        (messages._AUTHORITY, document_pb2.AuthorityLevel),
        (messages._POSITION, document_pb2.Position),
        (messages._CLAUSE_TYPE, document_pb2.ClauseType),
        (messages._REFERENCE_TYPE, document_pb2.ReferenceType),
    ):
        assert set(enum.values()) - {0} == set(mapping.values()) - {0}
        assert len(set(mapping.values())) == len(mapping)
