"""Documents, clauses and references as the library holds them: immutable, with deterministic ids.

The words are those of the contract (``trias.v1``); `orchestrator.knowledge.messages` converts both ways.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
import numpy.typing as npt

__all__ = [
    "AuthorityLevel",
    "Box",
    "Clause",
    "ClauseType",
    "Document",
    "DocumentStatus",
    "IndexedDocument",
    "PathElement",
    "Place",
    "Position",
    "Provenance",
    "Reference",
    "ReferenceType",
    "Table",
    "document_id_for",
    "snippet_hash_for",
    "source_id_for",
]


class DocumentStatus(str, Enum):
    """Whether a document may still be relied on."""

    UNKNOWN = "unknown"
    IN_FORCE = "in_force"
    AMENDED = "amended"
    REPEALED = "repealed"
    PENDING = "pending"


class AuthorityLevel(str, Enum):
    """The rank of the issuing authority."""

    UNKNOWN = "unknown"
    LAW = "law"
    ADMINISTRATIVE_REGULATION = "administrative_regulation"
    DEPARTMENT_RULE = "department_rule"
    PROVINCIAL = "provincial"
    MUNICIPAL = "municipal"
    COUNTY = "county"
    INTERPRETATION = "interpretation"


class Position(str, Enum):
    """Where in the document a clause stands."""

    BODY = "body"
    APPENDIX = "appendix"
    FOOTNOTE = "footnote"


class ClauseType(str, Enum):
    """What a unit of retrieval is."""

    ARTICLE = "article"
    PARAGRAPH = "paragraph"
    ITEM = "item"
    TABLE = "table"
    PREAMBLE = "preamble"
    TEXT = "text"
    FOOTNOTE = "footnote"


class ReferenceType(str, Enum):
    """What one clause says about another."""

    CITES = "cites"
    AMENDS = "amends"
    REPEALS = "repeals"


@dataclass(frozen=True, slots=True)
class Provenance:
    """One metadata field and where it was read from (see the contract)."""

    field: str
    origin: str
    excerpt: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """One source file with its metadata. Dates are ISO 8601 strings, empty where unknown."""

    document_id: str
    doc_source: str
    title: str
    content_hash: str
    doc_number: str = ""
    publish_date: str = ""
    effective_date: str = ""
    expiry_date: str = ""
    authority: str = ""
    authority_level: AuthorityLevel = AuthorityLevel.UNKNOWN
    version: str = ""
    status: DocumentStatus = DocumentStatus.UNKNOWN
    region: str = ""
    superseded_by: tuple[str, ...] = ()
    provenance: tuple[Provenance, ...] = ()


@dataclass(frozen=True, slots=True)
class PathElement:
    """One step of a clause's path: level 章, label 第三章, heading 待遇支付."""

    level: str
    label: str
    heading: str = ""


@dataclass(frozen=True, slots=True)
class Box:
    """Page coordinates in PDF points, origin top left.

    Rounded to hundredths: a box that went through a message (float32) equals the one that did not.
    """

    x0: float
    y0: float
    x1: float
    y1: float

    def __post_init__(self) -> None:
        for name in ("x0", "y0", "x1", "y1"):
            object.__setattr__(self, name, round(float(getattr(self, name)), 2))


@dataclass(frozen=True, slots=True)
class Place:
    """Where a clause stands in its file: page from 1 (0 without pages), block indexes from 0."""

    page: int = 0
    box: Box | None = None
    first_block: int = 0
    last_block: int = 0


@dataclass(frozen=True, slots=True)
class Table:
    """A table; merged cells are repeated in each place that they cover."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Clause:
    """The unit of retrieval and of evidence."""

    source_id: str
    document_id: str
    text: str
    ordinal: int
    label: str = ""
    path: tuple[PathElement, ...] = ()
    clause_type: ClauseType = ClauseType.TEXT
    position: Position = Position.BODY
    place: Place = field(default_factory=Place)
    table: Table | None = None

    @property
    def snippet_hash(self) -> str:
        """Hex SHA-256 of the text."""
        return snippet_hash_for(self.text)

    def heading_path(self) -> str:
        """The headings above the clause, outermost first: ``第三章 待遇支付``."""
        return " ".join(f"{step.label} {step.heading}".strip() for step in self.path if step.heading)


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference found in a clause. Targets are set once they are in the library."""

    source_id: str
    type: ReferenceType
    text: str
    start: int
    end: int
    target_title: str = ""
    target_label: str = ""
    target_document_id: str = ""
    target_source_id: str = ""


@dataclass(frozen=True, slots=True)
class IndexedDocument:
    """A document ready for the library.

    Attributes:
        vectors: float32, shape [len(clauses), dimension], one L2-normalised row a clause.
        embedder_fingerprint: of the model that made the vectors.
    """

    document: Document
    clauses: tuple[Clause, ...]
    references: tuple[Reference, ...]
    vectors: npt.NDArray[np.float32]
    embedder_fingerprint: str


def document_id_for(doc_source: str) -> str:
    """The id of the document that a source holds: the same source always gives the same id."""
    return "d" + hashlib.sha256(doc_source.encode()).hexdigest()[:24]


def snippet_hash_for(text: str) -> str:
    """Hex SHA-256 of a clause's text."""
    return hashlib.sha256(text.encode()).hexdigest()


def source_id_for(document_id: str, path: tuple[PathElement, ...], text: str, repeat: int = 0) -> str:
    """The id of a clause: of its document, its path and its content.

    Args:
        document_id: of the document that holds the clause.
        path: from the outermost step to the clause itself.
        text: the clause's exact text.
        repeat: 0, or how many clauses with the same path and text stand before it in the document.
    """
    steps = "\x1f".join(f"{step.level}\x1e{step.label}" for step in path)
    digest = hashlib.sha256(f"{document_id}\x1d{steps}\x1d{text}\x1d{repeat}".encode()).hexdigest()
    return "c" + digest[:31]
