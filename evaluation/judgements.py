"""Candidates of labelled questions, as rows to fit the score to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from evaluation.corpus import Query
from evaluation.fit import Judgements
from evaluation.retrieval import CONCURRENT_QUERIES, FUSED_DEPTH, Systems
from orchestrator.knowledge.text import distinct_grams

__all__ = ["collect_judgements"]


async def collect_judgements(
    systems: Systems, queries: Sequence[Query], gold: Mapping[str, frozenset[str]], on_progress: Callable[[], None]
) -> Judgements:
    """Ask both searches every judged query; one row a candidate of either.

    Args:
        systems: the library and its embedder.
        queries: those without judgements are left out.
        gold: query id → the source ids that answer it.
        on_progress: called after each query.
    """
    slots = asyncio.Semaphore(CONCURRENT_QUERIES)

    async def one(query: Query) -> list[tuple[float, float, float]]:
        async with slots:
            embedding = await systems.embedder.embed([query.text], kind="query")
            vector, keyword = await asyncio.gather(
                systems.library.search_vector(embedding.vectors[0], FUSED_DEPTH, fingerprint=embedding.fingerprint),
                systems.library.search_keyword(query.text, FUSED_DEPTH),
            )
        cosines = {hit.source_id: hit.score for hit in vector}
        tokens = max(1, distinct_grams(query.text))
        sums = {hit.source_id: hit.score / tokens for hit in keyword}
        on_progress()
        return [
            (cosines.get(found, float("nan")), sums.get(found, 0.0), float(found in gold[query.query_id]))
            for found in sorted({*cosines, *sums})
        ]

    asked = await asyncio.gather(*(one(query) for query in queries if query.query_id in gold))
    table = np.array([row for rows in asked for row in rows], dtype=np.float64).reshape(-1, 3)
    numbers = np.repeat(np.arange(len(asked)), [len(rows) for rows in asked])
    return Judgements(query=numbers, cosine=table[:, 0], bm25=table[:, 1], relevant=table[:, 2])
