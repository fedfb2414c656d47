"""The comparison of systems over a real library; vectors are hashed bigrams, the reranker takes fines for answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from evaluation.corpus import Query
from evaluation.retrieval import Systems, judge
from orchestrator.errors import ModelNotFoundError, ModelUnavailableError
from orchestrator.knowledge.library import Library
from orchestrator.knowledge.opening import open_library
from orchestrator.settings import Settings
from tests.retriever.test_agent import BigramEmbedder, document
from tests.retriever.test_reranking import QUESTION, TEXTS, TITLE, FineReranker, agent
from trias.v1 import plan_pb2, router_service_pb2

INDEXED = document(TITLE, *TEXTS)
FINE = INDEXED.clauses[1].source_id
QUERY = Query("q1", QUESTION)


class PlainRouter:
    def __init__(self) -> None:
        self.routed = 0

    async def route(self, request: router_service_pb2.RouteRequest) -> router_service_pb2.RouteResponse:
        self.routed += 1
        return router_service_pb2.RouteResponse(
            plan=plan_pb2.Plan(question=request.question, normalized_question=request.question)
        )


@pytest_asyncio.fixture
async def library(tmp_path: Path) -> AsyncIterator[Library]:
    opened = await open_library(Settings(paths={"data": tmp_path}))  # type: ignore[arg-type]
    await opened.apply(INDEXED)
    yield opened
    await opened.close()


def systems(library: Library, reranker: FineReranker | None) -> Systems:
    reranking = agent(library, reranker, mode="required") if reranker else None
    return Systems(library, BigramEmbedder(), PlainRouter(), agent(library, None), "general", reranking)


async def test_with_and_without_the_reranker_are_compared_on_one_plan(library: Library) -> None:
    compared = systems(library, FineReranker())
    lists = await compared.answer(QUERY)
    assert set(lists["hybrid"]) == set(lists["hybrid_reranked"])
    assert lists["hybrid"][0] != lists["hybrid_reranked"][0] == FINE
    assert compared.router.routed == 1  # type: ignore[attr-defined]
    figures = await judge(compared.answer, [QUERY], {"q1": frozenset({FINE})}, lambda: None)
    assert figures["hybrid_reranked"]["R@1"] == 1.0 > figures["hybrid"]["R@1"]


async def test_without_one_there_is_no_row_for_it(library: Library) -> None:
    assert "hybrid_reranked" not in await systems(library, None).answer(QUERY)


async def test_a_reranker_that_fails_is_not_averaged_away(library: Library) -> None:
    with pytest.raises(ModelUnavailableError, match="cannot be compared"):
        await systems(library, FineReranker(ModelNotFoundError("No such model."))).answer(QUERY)
