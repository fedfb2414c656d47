"""What the reranker changes of a retrieval over a real library, and what its absence or failure does not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
import pytest_asyncio

from orchestrator.errors import ModelNotFoundError, ModelUnavailableError
from orchestrator.inference.launcher import TritonServer
from orchestrator.inference.models import Reranker, Reranking
from orchestrator.inference.reranker import TritonReranker
from orchestrator.knowledge.library import Library
from orchestrator.knowledge.opening import open_library
from orchestrator.retriever.agent import RetrieverAgent
from orchestrator.settings import InferenceSettings, LauncherSettings, RetrieverSettings, ScoringSettings, Settings
from tests.inference.test_real_reranker import publish
from tests.retriever.test_agent import BigramEmbedder, document, request
from trias.v1 import common_pb2, retriever_service_pb2

TITLE = "云川省药店管理办法"
QUESTION = "药店公示药品价格"
TEXTS = (
    "第一条 定点药店应当公示药品价格。",
    "第二条 药店不公示药品价格的，处以罚款。",
    "第三条 药店应当公示营业时间。",
)


class FineReranker:
    """Holds that only what is fined answers."""

    def __init__(self, fault: Exception | None = None, pause_s: float = 0.0) -> None:
        self.fault = fault
        self.pause_s = pause_s
        self.asked: list[tuple[str, tuple[str, ...]]] = []

    async def rerank(self, question: str, passages: Sequence[str], *, timeout_s: float | None = None) -> Reranking:
        self.asked.append((question, tuple(passages)))
        await asyncio.sleep(self.pause_s)
        if self.fault:
            raise self.fault
        return Reranking(np.array([9.0 if "罚款" in passage else -9.0 for passage in passages]), "fine", 7.0)


@pytest_asyncio.fixture
async def library(tmp_path: Path) -> AsyncIterator[Library]:
    opened = await open_library(Settings(paths={"data": tmp_path}))  # type: ignore[arg-type]
    await opened.apply(document(TITLE, *TEXTS))
    yield opened
    await opened.close()


def agent(
    library: Library,
    reranker: Reranker | None,
    *,
    mode: str = "auto",
    scoring: Mapping[str, float] = MappingProxyType({}),
    **settings: Any,
) -> RetrieverAgent:
    return RetrieverAgent(
        RetrieverSettings(reranker=mode, **settings),  # type: ignore[arg-type]
        ScoringSettings(cosine_low=0.1, cosine_high=0.9, **scoring),
        library,
        BigramEmbedder(),
        reranker,
    )


async def ask(
    library: Library, reranker: FineReranker | None, *, times: int = 1, mode: str = "auto", **settings: Any
) -> retriever_service_pb2.RetrieveResponse:
    asked = agent(library, reranker, mode=mode, **settings)
    for _ in range(times):
        response = await asked.retrieve(request(QUESTION))
    return response


def order(response: retriever_service_pb2.RetrieveResponse) -> list[str]:
    return [passage.clause.label for passage in response.passages]


async def test_the_clause_that_answers_comes_first_and_its_score_says_why(library: Library) -> None:
    reranker = FineReranker()
    without, response = await ask(library, None), await ask(library, reranker)
    assert order(without)[0] == "第一条"
    assert order(response)[0] == "第二条"
    semantic = response.passages[0].scores.semantic
    assert (semantic.origin, semantic.raw) == ("reranker", 9.0)
    for passage in response.passages:
        scores = passage.scores
        terms = (scores.semantic, scores.bm25, scores.graph, scores.position, scores.consistency)
        assert scores.final == pytest.approx(sum(term.contribution for term in terms))
    question, passages = reranker.asked[0]
    assert question == QUESTION
    # It reads what the embedder has read: the title too.
    assert all(passage.startswith(TITLE) for passage in passages)
    stage = next(stage for stage in response.timing.stages if stage.stage == "rerank")
    assert stage.model_ms == 7.0
    assert not response.degradations


async def test_only_the_best_are_read_and_only_so_much_of_each(library: Library) -> None:
    reranker = FineReranker()
    response = await ask(library, reranker, rerank_candidates=1, rerank_chars=50)
    ((_, passages),) = reranker.asked
    assert len(passages) == 1
    assert len(passages[0]) <= 50
    assert [passage.scores.semantic.origin for passage in response.passages].count("reranker") == 1


async def test_switched_off_it_is_not_asked(library: Library) -> None:
    reranker = FineReranker()
    response = await ask(library, reranker, mode="off")
    assert not reranker.asked
    assert order(response) == order(await ask(library, None))
    assert "rerank" not in {stage.stage for stage in response.timing.stages}


async def test_one_that_is_not_served_is_left_alone_for_a_while(library: Library) -> None:
    reranker = FineReranker(ModelNotFoundError("No such model."))
    response = await ask(library, reranker, times=3)
    assert len(reranker.asked) == 1
    assert not response.degradations
    assert order(response)[0] == "第一条"


async def test_one_that_is_demanded_and_not_served_is_a_degradation(library: Library) -> None:
    reranker = FineReranker(ModelNotFoundError("No such model."))
    response = await ask(library, reranker, times=2, mode="required")
    assert len(reranker.asked) == 2
    (fault,) = response.degradations
    assert (fault.component, fault.level) == ("reranker", common_pb2.FAULT_LEVEL_DEGRADED)


FAILING = [
    (FineReranker(ModelUnavailableError("It is down.")), ModelUnavailableError.reason),
    (FineReranker(pause_s=30.0), "DEADLINE_EXCEEDED"),
]


@pytest.mark.parametrize(("reranker", "reason"), FAILING)
@pytest.mark.parametrize("mode", ["auto", "required"])
async def test_a_failure_or_a_late_answer_leaves_the_order(
    library: Library, reranker: FineReranker, reason: str, mode: str
) -> None:
    response = await ask(library, reranker, mode=mode, rerank_timeout_s=0.05)
    assert order(response) == order(await ask(library, None))
    assert {passage.scores.semantic.origin for passage in response.passages} == {"vector"}
    # Only who demands the model is told that it was missing.
    faults = [(fault.component, fault.reason) for fault in response.degradations]
    assert faults == ([("reranker", reason)] if mode == "required" else [])


async def test_what_was_waited_in_vain_is_not_our_own_time(library: Library) -> None:
    response = await ask(library, FineReranker(pause_s=30.0), rerank_timeout_s=0.2)
    stage = next(stage for stage in response.timing.stages if stage.stage == "rerank")
    assert stage.model_ms == stage.wall_ms >= 200
    assert response.timing.model_ms >= 200
    assert response.timing.overhead_ms <= response.timing.total_ms - 200


async def test_of_many_sub_questions_the_whole_is_read_once(library: Library) -> None:
    reranker = FineReranker()
    asked = request(QUESTION)
    asked.plan.sub_questions.add(sub_question_id="s1", text="药店公示什么")
    asked.plan.sub_questions.add(sub_question_id="s2", text="不公示如何处罚")
    response = await agent(library, reranker).retrieve(asked)
    ((question, passages),) = reranker.asked
    assert question == QUESTION
    assert len(passages) == len(set(passages)) == len(TEXTS)
    assert order(response)[0] == "第二条"


@pytest.mark.parametrize("weights", [{"rerank_share": 0.0}, {"semantic": 0.0, "bm25": 0.7}])
async def test_what_would_not_count_is_not_asked_for(library: Library, weights: dict[str, float]) -> None:
    reranker = FineReranker()
    response = await agent(library, reranker, scoring=weights).retrieve(request(QUESTION))
    assert not reranker.asked
    assert "rerank" not in {stage.stage for stage in response.timing.stages}


async def test_it_is_warm_before_the_first_question_and_may_be_missing(library: Library) -> None:
    reranker = FineReranker(ModelNotFoundError("No such model."))
    await agent(library, reranker).warm_up()
    assert len(reranker.asked) == 1
    await agent(library, reranker, mode="off").warm_up()
    assert len(reranker.asked) == 1
    await agent(library, None).warm_up()


@pytest.mark.triton
async def test_a_real_triton_decides_on_the_order(
    library: Library, tmp_path: Path, launcher_settings: LauncherSettings
) -> None:
    await library.apply(document("云川省 办法", "第一条 报销 比例 多少 罚款 罚款", "第二条 报销 报销 报销"))
    repository = tmp_path / "model_repository"
    publish(repository / "reranker" / "1", max_length=32, fingerprint="adder-0001")
    async with TritonServer(launcher_settings, repository=repository, data=tmp_path / "triton") as server:
        inference = InferenceSettings(endpoints={"*": server.grpc_address}, deadline_s=60)
        async with TritonReranker(inference, repository) as served, TritonReranker(inference, repository, "no") as none:
            asked = request("报销 比例 多少")
            scoring = {"rerank_share": 0.5, "rerank_scale": 1.0}
            with_it = await agent(library, served, mode="required", scoring=scoring, rerank_timeout_s=60).retrieve(
                asked
            )
            without = await agent(library, none, rerank_timeout_s=60).retrieve(asked)
    assert not [*with_it.degradations, *without.degradations]
    assert (order(without)[0], order(with_it)[0]) == ("第一条", "第二条")
    # Three times 2 of the clause, 2 of the question, and what frames the pair.
    assert with_it.passages[0].scores.semantic.raw == pytest.approx(3 * 2 + 2 + 0.75)
