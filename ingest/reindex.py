"""The vectors of another embedder for every document of a library, beside the old ones; then the switch.

What is done is never done again: the library itself says which documents lack the new vectors. Documents that come in
meanwhile are found lacking on the next look, so the loop ends only where nothing is left to embed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from ingest.embedding import embed_in_parts
from ingest.sinks import DocumentSink
from orchestrator.errors import FingerprintMismatchError
from orchestrator.inference.models import Embedding, TextKind
from orchestrator.inference.taskgroup import all_of
from orchestrator.knowledge.embedded_text import embedded_text
from orchestrator.settings import IngestSettings

__all__ = ["Reindex", "ReindexReport"]

# Documents at a time: one is written while others are at the model.
_CONCURRENT_DOCUMENTS = 3
# Looks at a library that is filled as fast as it is embedded.
_LOOKS = 100


class VersionedEmbedder(Protocol):
    """An embedder that can be asked for one of its versions."""

    async def embed(
        self, texts: list[str], *, kind: TextKind, timeout_s: float | None = None, fingerprint: str | None = None
    ) -> Embedding: ...


@dataclass(frozen=True, slots=True)
class ReindexReport:
    """What a run did.

    Attributes:
        documents: that were embedded by this run.
        clauses: of those.
        switched: whether the new vectors answer now; False where the run was stopped before.
    """

    documents: int
    clauses: int
    switched: bool


class Reindex:
    """One run.

    Args:
        settings: rows sent to the embedder at a time, and how long they may take.
        sink: the library.
        embedder: serves the version of ``fingerprint``, live or not.
        fingerprint: whose vectors shall answer.
        on_total: told how many documents are to be embedded, after each look at the library.
        on_document: told of each document that is done.
    """

    def __init__(
        self,
        settings: IngestSettings,
        sink: DocumentSink,
        embedder: VersionedEmbedder,
        fingerprint: str,
        *,
        on_total: Callable[[int], None] = lambda _documents: None,
        on_document: Callable[[int], None] = lambda _clauses: None,
    ) -> None:
        self._settings = settings
        self._sink = sink
        self._embedder = embedder
        self._fingerprint = fingerprint
        self._on_total = on_total
        self._on_document = on_document
        self._stopping = asyncio.Event()
        self._documents = self._clauses = 0

    def stop(self) -> None:
        """Finish the documents that are under way, take no others, and do not switch."""
        self._stopping.set()

    async def run(self) -> ReindexReport:
        """Embed what is lacking, then switch.

        Raises:
            FingerprintMismatchError: documents come in faster than they are embedded.
            TriasError: model or library fail for good; what is done stays done.
        """
        for _ in range(_LOOKS):
            lacking = await self._sink.lacking_vectors(self._fingerprint)
            if lacking:
                self._on_total(self._documents + len(lacking))
                await self._embed_all(lacking)
            if self._stopping.is_set():
                return ReindexReport(self._documents, self._clauses, switched=False)
            if not lacking and await self._switched():
                return ReindexReport(self._documents, self._clauses, switched=True)
        raise FingerprintMismatchError(
            "Documents came into the library faster than they were embedded.",
            hint="Run `trias ingest reindex` again once the ingest that fills it has ended.",
        )

    async def _embed_all(self, document_ids: list[str]) -> None:
        left = iter(document_ids)

        async def work() -> None:
            for document_id in left:
                if self._stopping.is_set():
                    return
                await self._embed_document(document_id)

        await all_of([work() for _ in range(_CONCURRENT_DOCUMENTS)])

    async def _embed_document(self, document_id: str) -> None:
        found = await self._sink.document(document_id)
        if found is None:
            return
        document, clauses = found
        texts = [embedded_text(document, clause) for clause in clauses]
        embed = partial(
            self._embedder.embed,
            kind="passage",
            timeout_s=self._settings.embed_timeout_s,
            fingerprint=self._fingerprint,
        )
        parts = await embed_in_parts(embed, texts, self._settings.embed_rows)
        vectors = np.concatenate([part.vectors for part in parts])
        source_ids = [clause.source_id for clause in clauses]
        if await self._sink.put_vectors(document_id, source_ids, vectors, self._fingerprint):
            self._documents += 1
            self._clauses += len(clauses)
            self._on_document(len(clauses))

    async def _switched(self) -> bool:
        """Whether the switch was made; False where a document came in between the look and the switch."""
        try:
            await self._sink.switch_embedder(self._fingerprint)
        except FingerprintMismatchError:
            return False
        return True
