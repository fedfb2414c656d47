"""Recall and MRR of each signal alone, of rank fusion, and of the hybrid score, over one labelled corpus.

Where a reranker is compared, the same plans go to two retrievers that differ in it alone.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from evaluation.corpus import Query
from evaluation.metrics import mean_metrics, query_metrics
from orchestrator.errors import ModelUnavailableError
from orchestrator.inference.models import Embedder
from orchestrator.knowledge.library import Library
from trias.v1 import plan_pb2, retriever_service_pb2, router_service_pb2

__all__ = ["SYSTEMS", "RankedLists", "Systems", "fuse", "judge"]

SYSTEMS = ("keyword", "vector", "rank_fusion", "hybrid", "hybrid_reranked")
DEPTH = 100
# Each signal's list for rank fusion, as long as the retriever's own candidate lists.
FUSED_DEPTH = 200
# The constant of reciprocal rank fusion: Cormack, Clarke and Büttcher, SIGIR 2009.
FUSION_K = 60
CONCURRENT_QUERIES = 4

RankedLists = Mapping[str, Sequence[str]]


class _Router(Protocol):
    async def route(self, request: router_service_pb2.RouteRequest) -> router_service_pb2.RouteResponse: ...


class _Retriever(Protocol):
    async def retrieve(
        self, request: retriever_service_pb2.RetrieveRequest
    ) -> retriever_service_pb2.RetrieveResponse: ...


@dataclass(frozen=True, slots=True)
class Systems:
    """What is compared. ``hybrid`` is the product's own way: the router's plan, then the retriever.

    Attributes:
        domain: the pack that the router uses.
        reranking: the same retriever with a reranker, which it must have; None: none is compared.
    """

    library: Library
    embedder: Embedder
    router: _Router
    retriever: _Retriever
    domain: str
    reranking: _Retriever | None = None

    async def answer(self, query: Query) -> dict[str, list[str]]:
        """The source ids that each system finds, best first.

        Raises:
            ModelUnavailableError: the reranker did not answer, so there is nothing to compare.
        """
        keyword, vector, hybrid = await asyncio.gather(
            self._keyword(query.text), self._vector(query.text), self._hybrid(query.text)
        )
        return {
            "keyword": keyword[:DEPTH],
            "vector": vector[:DEPTH],
            "rank_fusion": fuse([keyword, vector])[:DEPTH],
            **hybrid,
        }

    async def _keyword(self, text: str) -> list[str]:
        return [hit.source_id for hit in await self.library.search_keyword(text, FUSED_DEPTH)]

    async def _vector(self, text: str) -> list[str]:
        embedding = await self.embedder.embed([text], kind="query")
        hits = await self.library.search_vector(embedding.vectors[0], FUSED_DEPTH, fingerprint=embedding.fingerprint)
        return [hit.source_id for hit in hits]

    async def _hybrid(self, text: str) -> dict[str, list[str]]:
        routed = await self.router.route(router_service_pb2.RouteRequest(question=text, domain=self.domain))
        found = {"hybrid": await _retrieved(self.retriever, routed.plan)}
        if self.reranking is not None:
            found["hybrid_reranked"] = await _retrieved(self.reranking, routed.plan)
        return found


async def _retrieved(retriever: _Retriever, plan: plan_pb2.Plan) -> list[str]:
    response = await retriever.retrieve(retriever_service_pb2.RetrieveRequest(plan=plan, top_k=DEPTH))
    for fault in response.degradations:
        if fault.component == "reranker":
            # Left in, the question would count for the order without it.
            raise ModelUnavailableError(f"The reranker cannot be compared: {fault.detail}")
    return [passage.source_id for passage in response.passages]


async def judge(
    answer: Callable[[Query], Awaitable[RankedLists]],
    queries: Sequence[Query],
    gold: Mapping[str, frozenset[str]],
    on_progress: Callable[[], None],
) -> dict[str, dict[str, float]]:
    """Ask every judged query and average.

    Args:
        answer: gives each system's list of ids for one query.
        queries: those without judgements are left out.
        gold: query id → the ids that answer it, in the same terms as the lists.
        on_progress: called after each query.

    Returns:
        ``{"hybrid": {"R@5": …, "MRR@10": …}, …}``
    """
    slots = asyncio.Semaphore(CONCURRENT_QUERIES)
    rows: dict[str, list[dict[str, float]]] = defaultdict(list)

    async def one(query: Query) -> None:
        async with slots:
            lists = await answer(query)
        for system, ranked in lists.items():
            rows[system].append(query_metrics(ranked, gold[query.query_id]))
        on_progress()

    await asyncio.gather(*(one(query) for query in queries if query.query_id in gold))
    return {system: mean_metrics(rows[system]) for system in rows}


def fuse(lists: Sequence[Sequence[str]]) -> list[str]:
    """Reciprocal rank fusion: score = Σ 1/(60 + rank); ties in order of id."""
    scores: dict[str, float] = defaultdict(float)
    for ranked in lists:
        for place, source_id in enumerate(ranked, start=1):
            scores[source_id] += 1 / (FUSION_K + place)
    return sorted(scores, key=lambda source_id: (-scores[source_id], source_id))
