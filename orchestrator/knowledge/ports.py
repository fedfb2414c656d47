"""The three ports of the library, and what crosses them. Every adapter passes one contract suite.

Visibility: an index may hold entries of a revision that is not live (an apply that is under way or was cut short).
Every entry carries its revision, every hit returns it, and `Library` drops hits of revisions that are not live.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from orchestrator.knowledge.clause import Clause, Document, Reference

__all__ = [
    "CatalogueEntry",
    "ClauseGraph",
    "GraphHit",
    "Hit",
    "KeywordEntry",
    "KeywordIndex",
    "VectorIndex",
]


@dataclass(frozen=True, slots=True)
class Hit:
    """A clause that a search found. ``score`` is the search's own: a cosine, or a BM25 sum."""

    source_id: str
    document_id: str
    revision: str
    score: float


@dataclass(frozen=True, slots=True)
class KeywordEntry:
    """What the keyword index reads of one clause."""

    source_id: str
    title: str
    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class GraphHit:
    """A clause that the graph leads to from a seed: by a reference in either direction, or as a sibling."""

    source_id: str
    from_source_id: str
    relation: str
    """``references``, ``referenced_by``, ``parent``, ``child``, ``sibling``."""


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """One document's state in the catalogue."""

    document: Document
    revision: str
    live: bool
    clauses: int


class VectorIndex(Protocol):
    """Nearest clauses by cosine."""

    async def upsert(
        self, document_id: str, revision: str, source_ids: Sequence[str], vectors: npt.NDArray[np.float32]
    ) -> None:
        """Write one row per source id; durable when it returns. The same call twice leaves one copy."""

    async def search(
        self, vector: npt.NDArray[np.float32], limit: int, document_ids: Collection[str] | None = None
    ) -> list[Hit]:
        """The ``limit`` nearest, best first; only of these documents where given (empty: finds nothing)."""

    async def delete(self, document_id: str, *, keep_revision: str | None = None) -> None:
        """Remove a document's rows, except those of ``keep_revision``."""

    async def count(self) -> int:
        """Rows held."""

    async def revisions(self) -> Mapping[tuple[str, str], int]:
        """(document_id, revision) → rows held, all of them: what recovery compares with the catalogue."""

    async def close(self) -> None:
        """Flush and give up ownership."""


class KeywordIndex(Protocol):
    """Clauses by BM25 over words and character uni- and bigrams."""

    async def upsert(self, document_id: str, revision: str, entries: Sequence[KeywordEntry]) -> None:
        """Write entries; durable and searchable when it returns. The same call twice leaves one copy."""

    async def search(self, query: str, limit: int, document_ids: Collection[str] | None = None) -> list[Hit]:
        """The ``limit`` best by BM25, best first; an empty or unmatched query finds nothing."""

    async def delete(self, document_id: str, *, keep_revision: str | None = None) -> None:
        """Remove a document's entries, except those of ``keep_revision``."""

    async def count(self) -> int:
        """Entries held."""

    async def revisions(self) -> Mapping[tuple[str, str], int]:
        """(document_id, revision) → entries held, all of them: what recovery compares with the catalogue."""

    async def close(self) -> None:
        """Flush and give up ownership."""


class ClauseGraph(Protocol):
    """The catalogue (documents, revisions, ingest state), the clauses themselves, and the references between them."""

    async def stage(
        self, document: Document, revision: str, clauses: Sequence[Clause], references: Sequence[Reference]
    ) -> None:
        """Write a revision that is not live yet. The same call twice leaves one copy."""

    async def publish(self, document_id: str, revision: str) -> None:
        """Make a staged revision the live one, in one transaction; drop what it replaces; resolve references."""

    async def discard(self, document_id: str, revision: str) -> None:
        """Remove a staged revision; one that is live, or that does not exist, is left as it is."""

    async def delete(self, document_id: str) -> int:
        """Remove a document, live and staged, with its clauses and references; returns how many clauses were live."""

    async def entry(self, document_id: str) -> CatalogueEntry | None:
        """The live revision of a document, else its staged one, else None."""

    async def entries(self, *, after: str = "", limit: int = 100) -> list[CatalogueEntry]:
        """Live documents in order of id, those after ``after``."""

    async def staged(self) -> list[CatalogueEntry]:
        """Revisions that were staged and never published: an apply that was cut short."""

    async def live_revisions(self) -> Mapping[str, str]:
        """document_id → live revision, all of them."""

    async def documents(self, document_ids: Collection[str]) -> dict[str, Document]:
        """Live documents by id; unknown ids are left out."""

    async def clauses(self, source_ids: Collection[str]) -> dict[str, Clause]:
        """Clauses of live documents by id; unknown ids are left out."""

    async def document_clauses(self, document_id: str) -> list[Clause]:
        """A live document's clauses, in order."""

    async def references(self, source_ids: Collection[str]) -> dict[str, tuple[Reference, ...]]:
        """The references that these clauses make."""

    async def neighbours(self, source_ids: Collection[str], limit: int) -> list[GraphHit]:
        """Clauses one step from these, references first."""

    async def ranks(self, source_ids: Collection[str]) -> dict[str, float]:
        """PageRank percentile in [0,1] over the reference graph; 0 for a clause that nothing refers to."""

    async def find_titles(self, text: str, limit: int = 5) -> list[Document]:
        """Live documents whose title equals, contains or is contained in ``text``, best first (《》 ignored)."""

    async def find_label(self, document_id: str, label: str) -> list[Clause]:
        """A live document's clauses under that label (第十二条), in order."""

    async def get_value(self, key: str) -> str | None:
        """A value of the library itself: the embedder's fingerprint, say."""

    async def set_value(self, key: str, value: str) -> None:
        """Set such a value; durable when it returns."""

    async def statistics(self) -> Mapping[str, int]:
        """``documents``, ``clauses``, ``references``, ``resolved_references``: live ones."""

    async def close(self) -> None:
        """Flush and give up ownership."""
