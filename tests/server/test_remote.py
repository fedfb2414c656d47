"""Agents in another process behave as agents in this one: same answers, same errors, deadlines passed on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
import pytest_asyncio

from orchestrator.errors import (
    AdmissionError,
    AgentUnavailableError,
    DeadlineExceededError,
    FingerprintMismatchError,
    InvalidFieldError,
)
from orchestrator.flow import Event, Flow, Found, Planned, Question, Replied
from orchestrator.flow.deadlines import within
from orchestrator.server.remote import RemoteReasoner, RemoteRetriever, RemoteRouter, channel_to
from orchestrator.server.running import RunningServer
from orchestrator.settings import BudgetSettings
from trias.v1 import common_pb2, router_service_pb2

QUESTION = router_service_pb2.RouteRequest(question="q")


@pytest_asyncio.fixture
async def remote_channel(server: RunningServer) -> AsyncIterator[grpc.aio.Channel]:
    async with channel_to(server.address, 64) as channel:
        yield channel


@pytest.fixture
def remote_router(remote_channel: grpc.aio.Channel, server: RunningServer) -> RemoteRouter:
    return RemoteRouter(remote_channel, server.address)


def without_times(events: list[Event]) -> list[Any]:
    told: list[Any] = []
    for event in events:
        match event:
            case Planned(plan):
                told.append(plan)
            case Found(retrieved):
                told.append(retrieved)
            case Replied(answered, trace):
                answered.ClearField("timing")
                answered.ClearField("elapsed_ms")
                told += [answered, [(entry.stage, entry.message, entry.level) for entry in trace]]
    return told


async def events_of(flow: Flow, question: Question) -> list[Event]:
    return [event async for event in flow.ask(question)]


def fails(error: Exception) -> Any:
    async def raising(request: Any) -> Any:
        raise error

    return raising


FAULTS = {
    "none": {},
    "the router fails": {"on_route": fails(ValueError("secret"))},
    "the retriever's model is another one": {"on_retrieve": fails(FingerprintMismatchError("other", hint="Reindex."))},
    "the reasoner is full": {"on_reason": fails(AdmissionError("full", retry_after_s=2))},
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_the_same_events_both_ways(
    fault: str, agents: Any, remote_channel: grpc.aio.Channel, server: RunningServer
) -> None:
    for name, behaviour in FAULTS[fault].items():
        setattr(agents, name, behaviour)
    budget = BudgetSettings(route_s=60, retrieve_s=60, fast_s=60, deep_s=60, total_s=600)
    address = server.address
    here = Flow(router=agents, retriever=agents, reasoner=agents, budget=budget, default_domain="d")
    there = Flow(
        router=RemoteRouter(remote_channel, address),
        retriever=RemoteRetriever(remote_channel, address),
        reasoner=RemoteReasoner(remote_channel, address),
        budget=budget,
        default_domain="d",
    )
    question = Question("住院报销比例？", max_tier=common_pb2.TIER_DEEP)
    told = [without_times(await events_of(flow, question)) for flow in (here, there)]
    for events in told:
        if fault == "the router fails":
            # Plans of one's own have ids of their own, and an incident has a number.
            events[0].ClearField("plan_id")
            for answered in (events[2], events[4]):
                for entry in answered.answer.degradations:
                    entry.detail = ""
            events[3::2] = [[entry[:1] + entry[2:] for entry in trace] for trace in events[3::2]]
    assert told[0] == told[1]


@pytest.mark.parametrize(
    "error",
    [
        InvalidFieldError("domain", "there is no pack 'x'.", hint="Known are a, b."),
        FingerprintMismatchError("other", hint="Reindex.", metadata={"a": "b"}),
        AdmissionError("full", retry_after_s=2),
    ],
)
async def test_the_agents_error_is_raised_here(agents: Any, remote_router: RemoteRouter, error: Any) -> None:
    agents.on_route = fails(error)
    with pytest.raises(type(error)) as caught:
        await remote_router.route(QUESTION)
    assert str(caught.value) == str(error)


async def test_the_deadline_reaches_the_agent(agents: Any, remote_router: RemoteRouter) -> None:
    cancelled = asyncio.Event()

    async def hang(request: Any) -> Any:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    agents.on_route = hang
    with pytest.raises(DeadlineExceededError):
        await within(remote_router.route(QUESTION), 0.5, "routing")
    await asyncio.wait_for(cancelled.wait(), 60)


async def test_nobody_there() -> None:
    async with channel_to("127.0.0.1:1", 64) as channel:
        with pytest.raises(AgentUnavailableError, match=r"router at 127\.0\.0\.1:1"):
            await RemoteRouter(channel, "127.0.0.1:1").route(QUESTION)
