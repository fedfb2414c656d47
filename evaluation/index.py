"""Put a labelled corpus into a library of its own, the way documents get there: embedded, applied, visible as one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from evaluation.corpus import LabelledDocument
from ingest.embedding import embed_in_parts
from ingest.references import find_references
from orchestrator.inference.models import Embedder
from orchestrator.knowledge.clause import IndexedDocument
from orchestrator.knowledge.embedded_text import embedded_text
from orchestrator.knowledge.library import Library
from orchestrator.settings import IngestSettings

__all__ = ["index_corpus"]

# Documents embedded at a time: one is applied while the next is embedded.
CONCURRENT_DOCUMENTS = 3


async def index_corpus(
    library: Library,
    embedder: Embedder,
    corpus: Sequence[LabelledDocument],
    settings: IngestSettings,
    on_progress: Callable[[int], None],
) -> int:
    """Apply every document that is not live yet; what an interrupted run did is not done again.

    Args:
        library: open, and of this corpus alone.
        embedder: makes the vectors.
        corpus: what to apply.
        settings: rows sent to the embedder at a time, and how long one document may take.
        on_progress: called with the number of clauses that a document brought, live ones included.

    Returns:
        How many documents were written.
    """
    live = await library.check({one.document.document_id: one.document.content_hash for one in corpus})
    slots = asyncio.Semaphore(CONCURRENT_DOCUMENTS)

    async def put(one: LabelledDocument) -> bool:
        written = False
        if one.document.document_id not in live:
            async with slots:
                written = await library.apply(await _indexed(embedder, one, settings))
        on_progress(len(one.clauses))
        return written

    return sum(await asyncio.gather(*(put(one) for one in corpus)))


async def _indexed(embedder: Embedder, one: LabelledDocument, settings: IngestSettings) -> IndexedDocument:
    texts = [embedded_text(one.document, clause) for clause in one.clauses]
    embed = partial(embedder.embed, kind="passage", timeout_s=settings.file_timeout_s)
    parts = await embed_in_parts(embed, texts, settings.embed_rows)
    return IndexedDocument(
        document=one.document,
        clauses=one.clauses,
        references=tuple(find_references(one.document.title, one.clauses)),
        vectors=np.concatenate([part.vectors for part in parts]),
        embedder_fingerprint=parts[-1].fingerprint,
    )
