"""What a library's indexes hold, compared: with the catalogue, and with another library."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Mapping

from orchestrator.errors import IndexCorruptError
from orchestrator.knowledge.ports import CatalogueEntry, ClauseGraph

__all__ = ["all_entries", "check_complete", "digest_of"]

Revisions = Mapping[tuple[str, str], int]

# Catalogue entries read at a time.
_PAGE = 1000


async def all_entries(graph: ClauseGraph) -> AsyncIterator[CatalogueEntry]:
    """Every live document's entry, in order of id."""
    after = ""
    while page := await graph.entries(after=after, limit=_PAGE):
        for entry in page:
            yield entry
        after = page[-1].document.document_id


async def check_complete(graph: ClauseGraph, *, vector: Revisions, keyword: Revisions) -> None:
    """Compare the two indexes with the catalogue.

    Raises:
        IndexCorruptError: an index lacks clauses that the catalogue says are live.
    """
    async for entry in all_entries(graph):
        key = (entry.document.document_id, entry.revision)
        for name, index in (("vector", vector), ("keyword", keyword)):
            if index.get(key, 0) != entry.clauses:
                raise IndexCorruptError(
                    f"The {name} index holds {index.get(key, 0)} of the {entry.clauses} clauses of"
                    f" {entry.document.doc_source}.",
                    hint="Delete the library's folder and ingest the documents again.",
                )


async def digest_of(
    graph: ClauseGraph, fingerprint: str, live: Mapping[str, str], vectors: Revisions, entries: Revisions
) -> str:
    """A hash of everything that can be observed of a library; `Library.digest` says what that is."""
    counts = await graph.statistics()
    summary = (sorted(live.items()), sorted(vectors.items()), sorted(entries.items()), sorted(counts.items()))
    seen = hashlib.sha256(repr((fingerprint, summary)).encode())
    for document_id in sorted(live):
        clauses = await graph.document_clauses(document_id)
        references = await graph.references([clause.source_id for clause in clauses])
        documents = await graph.documents([document_id])
        seen.update(repr((documents, clauses, sorted(references.items()))).encode())
    return seen.hexdigest()
