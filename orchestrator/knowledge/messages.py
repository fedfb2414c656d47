"""The library's words as messages of the contract (``trias.v1``), and back.

A message that comes from outside is checked: an enum value that this release does not know, or a vector block of the
wrong size, is an `InvalidFieldError` that names the field.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from orchestrator.errors import InvalidFieldError
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
    snippet_hash_for,
)
from trias.v1 import document_pb2, knowledge_service_pb2

__all__ = [
    "clause_from_message",
    "clause_to_message",
    "document_from_message",
    "document_to_message",
    "indexed_from_request",
    "indexed_to_request",
    "place_from_message",
    "place_to_message",
    "reference_from_message",
    "reference_to_message",
    "table_from_message",
    "table_to_message",
    "vectors_from_bytes",
]

_Enum = TypeVar("_Enum", bound=Enum)

_STATUS: Final = {
    DocumentStatus.UNKNOWN: document_pb2.DOCUMENT_STATUS_UNSPECIFIED,
    DocumentStatus.IN_FORCE: document_pb2.DOCUMENT_STATUS_IN_FORCE,
    DocumentStatus.AMENDED: document_pb2.DOCUMENT_STATUS_AMENDED,
    DocumentStatus.REPEALED: document_pb2.DOCUMENT_STATUS_REPEALED,
    DocumentStatus.PENDING: document_pb2.DOCUMENT_STATUS_PENDING,
}
_AUTHORITY: Final = {
    AuthorityLevel.UNKNOWN: document_pb2.AUTHORITY_LEVEL_UNSPECIFIED,
    AuthorityLevel.LAW: document_pb2.AUTHORITY_LEVEL_LAW,
    AuthorityLevel.ADMINISTRATIVE_REGULATION: document_pb2.AUTHORITY_LEVEL_ADMINISTRATIVE_REGULATION,
    AuthorityLevel.DEPARTMENT_RULE: document_pb2.AUTHORITY_LEVEL_DEPARTMENT_RULE,
    AuthorityLevel.PROVINCIAL: document_pb2.AUTHORITY_LEVEL_PROVINCIAL,
    AuthorityLevel.MUNICIPAL: document_pb2.AUTHORITY_LEVEL_MUNICIPAL,
    AuthorityLevel.COUNTY: document_pb2.AUTHORITY_LEVEL_COUNTY,
    AuthorityLevel.INTERPRETATION: document_pb2.AUTHORITY_LEVEL_INTERPRETATION,
}
_POSITION: Final = {
    Position.BODY: document_pb2.POSITION_BODY,
    Position.APPENDIX: document_pb2.POSITION_APPENDIX,
    Position.FOOTNOTE: document_pb2.POSITION_FOOTNOTE,
}
_CLAUSE_TYPE: Final = {
    ClauseType.ARTICLE: document_pb2.CLAUSE_TYPE_ARTICLE,
    ClauseType.PARAGRAPH: document_pb2.CLAUSE_TYPE_PARAGRAPH,
    ClauseType.ITEM: document_pb2.CLAUSE_TYPE_ITEM,
    ClauseType.TABLE: document_pb2.CLAUSE_TYPE_TABLE,
    ClauseType.PREAMBLE: document_pb2.CLAUSE_TYPE_PREAMBLE,
    ClauseType.TEXT: document_pb2.CLAUSE_TYPE_TEXT,
    ClauseType.FOOTNOTE: document_pb2.CLAUSE_TYPE_FOOTNOTE,
}
_REFERENCE_TYPE: Final = {
    ReferenceType.CITES: document_pb2.REFERENCE_TYPE_CITES,
    ReferenceType.AMENDS: document_pb2.REFERENCE_TYPE_AMENDS,
    ReferenceType.REPEALS: document_pb2.REFERENCE_TYPE_REPEALS,
}


def document_to_message(document: Document) -> document_pb2.Document:
    """A document as a message."""
    return document_pb2.Document(
        document_id=document.document_id,
        doc_source=document.doc_source,
        title=document.title,
        doc_number=document.doc_number,
        publish_date=document.publish_date,
        effective_date=document.effective_date,
        expiry_date=document.expiry_date,
        authority=document.authority,
        authority_level=_AUTHORITY[document.authority_level],
        version=document.version,
        status=_STATUS[document.status],
        region=document.region,
        superseded_by=document.superseded_by,
        provenance=[
            document_pb2.Provenance(field=item.field, origin=item.origin, excerpt=item.excerpt)
            for item in document.provenance
        ],
        content_hash=document.content_hash,
    )


def document_from_message(message: document_pb2.Document, field: str = "document") -> Document:
    """A document; ``field`` is its path in the request, for errors.

    Raises:
        InvalidFieldError: an enum value is unknown.
    """
    return Document(
        document_id=message.document_id,
        doc_source=message.doc_source,
        title=message.title,
        content_hash=message.content_hash,
        doc_number=message.doc_number,
        publish_date=message.publish_date,
        effective_date=message.effective_date,
        expiry_date=message.expiry_date,
        authority=message.authority,
        authority_level=_known(_AUTHORITY, message.authority_level, f"{field}.authority_level"),
        version=message.version,
        status=_known(_STATUS, message.status, f"{field}.status"),
        region=message.region,
        superseded_by=tuple(message.superseded_by),
        provenance=tuple(Provenance(item.field, item.origin, item.excerpt) for item in message.provenance),
    )


def place_to_message(place: Place) -> document_pb2.Place:
    """A place as a message; without a box where it has none."""
    message = document_pb2.Place(page=place.page, first_block=place.first_block, last_block=place.last_block)
    if place.box is not None:
        message.box.CopyFrom(document_pb2.Box(x0=place.box.x0, y0=place.box.y0, x1=place.box.x1, y1=place.box.y1))
    return message


def place_from_message(message: document_pb2.Place) -> Place:
    """A place."""
    box = message.box
    return Place(
        page=message.page,
        box=Box(box.x0, box.y0, box.x1, box.y1) if message.HasField("box") else None,
        first_block=message.first_block,
        last_block=message.last_block,
    )


def table_to_message(table: Table) -> document_pb2.Table:
    """A table as a message."""
    rows = [document_pb2.TableRow(cells=row) for row in table.rows]
    return document_pb2.Table(caption=table.caption, headers=table.headers, rows=rows)


def table_from_message(message: document_pb2.Table) -> Table:
    """A table."""
    rows = tuple(tuple(row.cells) for row in message.rows)
    return Table(headers=tuple(message.headers), rows=rows, caption=message.caption)


def clause_to_message(clause: Clause) -> document_pb2.Clause:
    """A clause as a message, with the hash of its text."""
    message = document_pb2.Clause(
        source_id=clause.source_id,
        document_id=clause.document_id,
        label=clause.label,
        path=[
            document_pb2.PathElement(level=step.level, label=step.label, heading=step.heading) for step in clause.path
        ],
        clause_type=_CLAUSE_TYPE[clause.clause_type],
        position=_POSITION[clause.position],
        text=clause.text,
        place=place_to_message(clause.place),
        ordinal=clause.ordinal,
        snippet_hash=clause.snippet_hash,
    )
    if clause.table is not None:
        message.table.CopyFrom(table_to_message(clause.table))
    return message


def clause_from_message(message: document_pb2.Clause, field: str = "clause") -> Clause:
    """A clause; ``field`` is its path in the request, for errors.

    Raises:
        InvalidFieldError: an enum value is unknown or unspecified, or the hash is not that of the text.
    """
    if message.snippet_hash and message.snippet_hash != snippet_hash_for(message.text):
        raise InvalidFieldError(f"{field}.snippet_hash", "is not the SHA-256 of the text")
    return Clause(
        source_id=message.source_id,
        document_id=message.document_id,
        text=message.text,
        ordinal=message.ordinal,
        label=message.label,
        path=tuple(PathElement(step.level, step.label, step.heading) for step in message.path),
        clause_type=_known(_CLAUSE_TYPE, message.clause_type, f"{field}.clause_type"),
        position=_known(_POSITION, message.position, f"{field}.position"),
        place=place_from_message(message.place),
        table=table_from_message(message.table) if message.HasField("table") else None,
    )


def reference_to_message(reference: Reference) -> document_pb2.Reference:
    """A reference as a message."""
    return document_pb2.Reference(
        source_id=reference.source_id,
        type=_REFERENCE_TYPE[reference.type],
        text=reference.text,
        target_title=reference.target_title,
        target_label=reference.target_label,
        target_document_id=reference.target_document_id,
        target_source_id=reference.target_source_id,
        start=reference.start,
        end=reference.end,
    )


def reference_from_message(message: document_pb2.Reference, field: str = "reference") -> Reference:
    """A reference; ``field`` is its path in the request, for errors.

    Raises:
        InvalidFieldError: its type is unknown or unspecified.
    """
    return Reference(
        source_id=message.source_id,
        type=_known(_REFERENCE_TYPE, message.type, f"{field}.type"),
        text=message.text,
        start=message.start,
        end=message.end,
        target_title=message.target_title,
        target_label=message.target_label,
        target_document_id=message.target_document_id,
        target_source_id=message.target_source_id,
    )


def indexed_to_request(indexed: IndexedDocument) -> knowledge_service_pb2.ApplyDocumentRequest:
    """A document ready for the library, as the request that applies it."""
    vectors = np.ascontiguousarray(indexed.vectors, dtype="<f4")
    return knowledge_service_pb2.ApplyDocumentRequest(
        document=document_to_message(indexed.document),
        clauses=[clause_to_message(clause) for clause in indexed.clauses],
        vectors=vectors.tobytes(),
        dimension=vectors.shape[1] if vectors.ndim == 2 else 0,
        embedder_fingerprint=indexed.embedder_fingerprint,
        references=[reference_to_message(reference) for reference in indexed.references],
    )


def indexed_from_request(request: knowledge_service_pb2.ApplyDocumentRequest) -> IndexedDocument:
    """The document that a request applies.

    Raises:
        InvalidFieldError: a field is malformed; names it. What `Library.apply` checks is left to it.
    """
    vectors = vectors_from_bytes(request.vectors, len(request.clauses), request.dimension)
    return IndexedDocument(
        document=document_from_message(request.document),
        clauses=tuple(clause_from_message(item, f"clauses[{at}]") for at, item in enumerate(request.clauses)),
        references=tuple(
            reference_from_message(item, f"references[{at}]") for at, item in enumerate(request.references)
        ),
        vectors=vectors,
        embedder_fingerprint=request.embedder_fingerprint,
    )


def vectors_from_bytes(data: bytes, rows: int, dimension: int) -> npt.NDArray[np.float32]:
    """Vectors as a message carries them: float32, shape [rows, dimension].

    Raises:
        InvalidFieldError: the numbers do not fit together; names the field.
    """
    if dimension < 0 or (rows and not dimension):
        raise InvalidFieldError("dimension", "must be at least 1")
    if len(data) != 4 * rows * dimension:
        raise InvalidFieldError(
            "vectors", f"must hold {rows} rows of {dimension} float32 values, not {len(data)} bytes"
        )
    return np.frombuffer(data, dtype="<f4").reshape(rows, dimension).astype(np.float32, copy=False)


def _known(names: Mapping[_Enum, int], number: int, field: str) -> _Enum:
    for name, value in names.items():
        if value == number:
            return name
    raise InvalidFieldError(field, f"{number} is not a known value")
