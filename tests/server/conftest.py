"""A real server on a real socket over agents that a test controls, and clients for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
import pytest_asyncio

from orchestrator.flow import Flow
from orchestrator.server.answers import AnswerStore
from orchestrator.server.composition import Service
from orchestrator.server.database import Database
from orchestrator.server.labelling import LabellingQueue
from orchestrator.server.running import RunningServer, serving
from orchestrator.settings import AdmissionSettings, PathSettings, ServerSettings, Settings
from trias.v1 import (
    answer_service_pb2_grpc,
    common_pb2,
    passage_pb2,
    plan_pb2,
    reasoner_service_pb2,
    reasoning_pb2,
    retriever_service_pb2,
    router_service_pb2,
)


class ScriptedAgents:
    """Three agents in one; a test replaces what each call does."""

    def __init__(self) -> None:
        self.on_route: Callable[[Any], Any] = lambda request: router_service_pb2.RouteResponse(
            plan=plan_pb2.Plan(plan_id="p1", question=request.question, strategy=plan_pb2.STRATEGY_FULL)
        )
        self.on_retrieve: Callable[[Any], Any] = lambda request: retriever_service_pb2.RetrieveResponse(
            passages=[_passage("c1"), _passage("c2")], confidence=0.9
        )
        self.on_reason: Callable[[Any], Any] = lambda request: reasoner_service_pb2.ReasonResponse(
            answer=_answer(request.tier)
        )

    async def route(self, request: router_service_pb2.RouteRequest) -> Any:
        return await _settled(self.on_route(request))

    async def retrieve(self, request: retriever_service_pb2.RetrieveRequest) -> Any:
        return await _settled(self.on_retrieve(request))

    async def reason(self, request: reasoner_service_pb2.ReasonRequest) -> Any:
        return await _settled(self.on_reason(request))


async def _settled(result: Any) -> Any:
    return await result if asyncio.iscoroutine(result) else result


def _passage(source_id: str) -> passage_pb2.Passage:
    passage = passage_pb2.Passage(source_id=source_id, snippet_hash="h", confidence=0.9)
    passage.clause.text = "三级医院报销百分之七十。"
    passage.document.title = "某省办法"
    return passage


def _answer(tier: common_pb2.Tier) -> reasoning_pb2.Answer:
    answer = reasoning_pb2.Answer(tier=tier, status=reasoning_pb2.ANSWER_STATUS_ANSWERED, text="70% #1")
    answer.sentences.add(text="70%", citation_numbers=[1], ruling_id="r1")
    answer.sentences.add(text="80%", citation_numbers=[2], ruling_id="r2")
    for place, (claim, source) in enumerate((("k1", "c1"), ("k2", "c2"))):
        answer.claims.add(claim_id=claim, source_id=source)
        answer.evidence.add(sentence_index=place, ruling_id=f"r{place + 1}", claim_id=claim, source_id=source)
    answer.claims.add(claim_id="k3", source_id="c2")
    answer.rulings.add(ruling_id="r1", claim_id="k1", beaten_claim_ids=["k3"])
    answer.rulings.add(ruling_id="r2", claim_id="k2")
    return answer


@pytest.fixture
def agents() -> ScriptedAgents:
    return ScriptedAgents()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(
        paths=PathSettings(data=tmp_path),
        server=ServerSettings(port=0, grace_s=20, answers_kept=3),
        admission=AdmissionSettings(max_in_flight=8, max_waiting=0, max_wait_s=0, retry_after_s=2.5),
    )


@asynccontextmanager
async def scripted_service(settings: Settings, agents: ScriptedAgents) -> AsyncIterator[Service]:
    database = Database(settings.paths.data / "answers.sqlite3")

    async def warm_up() -> None:
        pass

    try:
        yield Service(
            settings=settings,
            flow=Flow(
                router=agents, retriever=agents, reasoner=agents, budget=settings.budget, default_domain="medical"
            ),
            answers=AnswerStore(database, settings.server.answers_kept),
            labelling=LabellingQueue(database),
            router=agents,
            retriever=agents,
            reasoner=agents,
            library=None,
            warm_up=warm_up,
        )
    finally:
        await database.close()


@pytest_asyncio.fixture
async def service(settings: Settings, agents: ScriptedAgents) -> AsyncIterator[Service]:
    async with scripted_service(settings, agents) as built:
        yield built


@pytest_asyncio.fixture
async def server(service: Service) -> AsyncIterator[RunningServer]:
    async with serving(service) as running:
        yield running


@pytest_asyncio.fixture
async def channel(server: RunningServer) -> AsyncIterator[grpc.aio.Channel]:
    async with grpc.aio.insecure_channel(server.address) as opened:
        yield opened


@pytest.fixture
def answers(channel: grpc.aio.Channel) -> answer_service_pb2_grpc.AnswerServiceAsyncStub:
    return answer_service_pb2_grpc.AnswerServiceStub(channel)
