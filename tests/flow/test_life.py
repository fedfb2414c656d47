"""The flow over fake agents: what comes out, in which order, when agents are slow, broken or want more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import pytest

from orchestrator.errors import InvalidFieldError, ModelUnavailableError
from orchestrator.flow import Event, Flow, Found, Planned, Question, Replied, life
from orchestrator.flow.deadlines import time_left
from orchestrator.settings import BudgetSettings
from trias.v1 import (
    answer_service_pb2,
    common_pb2,
    passage_pb2,
    plan_pb2,
    reasoner_service_pb2,
    reasoning_pb2,
    retriever_service_pb2,
    router_service_pb2,
)

# Long enough that a slow test machine does not reach it by accident, short enough to wait for.
SHORT = BudgetSettings(route_s=0.3, retrieve_s=0.3, fast_s=0.3, deep_s=0.3, total_s=30, fallback_s=0.3)
AMPLE = BudgetSettings(route_s=60, retrieve_s=60, fast_s=60, deep_s=60, total_s=600, fallback_s=60)
QUESTION = Question("住院报销比例是多少？")


def passage(number: int, final: float = 0.5, text: str = "") -> passage_pb2.Passage:
    made = passage_pb2.Passage(source_id=f"c{number}", confidence=final, rank=number)
    made.scores.final = final
    made.clause.text = text or f"第{number}条 报销比例为百分之{number}十。"
    made.clause.label = f"第{number}条"
    made.document.document_id = "d1"
    made.document.title = "某省基本医疗保险办法"
    made.validity = passage_pb2.VALIDITY_IN_FORCE
    return made


class Agents:
    """Three fake agents; each call is recorded and answered by a function that a test may replace."""

    def __init__(self) -> None:
        self.routed: list[router_service_pb2.RouteRequest] = []
        self.retrieved: list[retriever_service_pb2.RetrieveRequest] = []
        self.reasoned: list[reasoner_service_pb2.ReasonRequest] = []
        self.on_route: Callable[..., Any] = lambda request: plan_pb2.Plan(
            plan_id="p", question=request.question, strategy=plan_pb2.STRATEGY_FULL
        )
        self.on_retrieve: Callable[..., Any] = lambda request: [passage(1), passage(2)]
        self.on_reason: Callable[..., Any] = answer

    async def route(self, request: router_service_pb2.RouteRequest) -> router_service_pb2.RouteResponse:
        self.routed.append(request)
        result = await settled(self.on_route(request))
        if isinstance(result, router_service_pb2.RouteResponse):
            return result
        return router_service_pb2.RouteResponse(plan=result)

    async def retrieve(self, request: retriever_service_pb2.RetrieveRequest) -> retriever_service_pb2.RetrieveResponse:
        self.retrieved.append(request)
        result = await settled(self.on_retrieve(request))
        if isinstance(result, retriever_service_pb2.RetrieveResponse):
            return result
        timing = common_pb2.Timing(total_ms=9, model_ms=0.25, index_ms=0.5)
        timing.stages.add(stage="search", wall_ms=1)
        return retriever_service_pb2.RetrieveResponse(passages=result, confidence=0.8, timing=timing)

    async def reason(self, request: reasoner_service_pb2.ReasonRequest) -> reasoner_service_pb2.ReasonResponse:
        self.reasoned.append(request)
        result = await settled(self.on_reason(request))
        if isinstance(result, reasoner_service_pb2.ReasonResponse):
            return result
        return reasoner_service_pb2.ReasonResponse(answer=result)

    def flow(self, budget: BudgetSettings = AMPLE, fallback: Any = None) -> Flow:
        return Flow(
            router=self,
            retriever=self,
            reasoner=self,
            budget=budget,
            default_domain="medical",
            fallback_retriever=fallback,
        )


async def settled(result: Any) -> Any:
    return await result if asyncio.iscoroutine(result) else result


def answer(request: reasoner_service_pb2.ReasonRequest) -> reasoning_pb2.Answer:
    name = common_pb2.Tier.Name(request.tier)
    return reasoning_pb2.Answer(tier=request.tier, status=reasoning_pb2.ANSWER_STATUS_ANSWERED, text=name)


def fails(error: Exception) -> Callable[[Any], Any]:
    def raising(request: Any) -> Any:
        raise error

    return raising


async def sleeps(request: Any) -> Any:
    await asyncio.sleep(3600)


async def events_of(flow: Flow, question: Question = QUESTION, time_left_s: float | None = None) -> list[Event]:
    return [event async for event in flow.ask(question, time_left_s=time_left_s)]


def answers_of(events: list[Event]) -> list[reasoning_pb2.Answer]:
    return [event.answered.answer for event in events if isinstance(event, Replied)]


def trace_of(events: list[Event]) -> tuple[answer_service_pb2.TraceEntry, ...]:
    assert isinstance(events[-1], Replied)
    assert events[-1].final
    return events[-1].trace


def components(answered: reasoning_pb2.Answer) -> set[tuple[str, str]]:
    return {(entry.component, entry.reason) for entry in answered.degradations}


async def test_the_fast_answer_comes_before_the_deep_one() -> None:
    deep = asyncio.Event()
    agents = Agents()

    async def reason(request: reasoner_service_pb2.ReasonRequest) -> reasoning_pb2.Answer:
        if request.tier == common_pb2.TIER_DEEP:
            await deep.wait()
        return answer(request)

    agents.on_reason = reason
    seen: list[Event] = []
    async for event in agents.flow().ask(QUESTION):
        seen.append(event)
        if isinstance(event, Replied):
            deep.set()  # only now may the deep answer be made: the fast one did not wait for it
    assert [type(event) for event in seen] == [Planned, Found, Replied, Replied]
    fast, final = answers_of(seen)
    assert (fast.tier, fast.provisional) == (common_pb2.TIER_FAST, True)
    assert (final.tier, final.provisional) == (common_pb2.TIER_DEEP, False)
    assert not final.degraded


async def test_max_tier_fast_stops_there() -> None:
    agents = Agents()
    events = await events_of(agents.flow(), Question("q", max_tier=common_pb2.TIER_FAST))
    (only,) = answers_of(events)
    assert only.tier == common_pb2.TIER_FAST
    assert not only.provisional
    assert len(agents.reasoned) == 1


async def test_options_reach_the_agents() -> None:
    agents = Agents()
    question = Question("q", domain="bank", as_of_date="2024-01-01", top_k=7, skip_rewrite=True)
    await events_of(agents.flow(), question)
    (routed,) = agents.routed
    assert (routed.question, routed.domain, routed.as_of_date, routed.skip_rewrite) == ("q", "bank", "2024-01-01", True)
    assert agents.retrieved[0].top_k == 7
    assert agents.reasoned[0].retrieval_confidence == 0.8
    assert [item.source_id for item in agents.reasoned[0].passages] == ["c1", "c2"]


async def test_slow_router_gives_the_default_plan_and_a_degradation() -> None:
    agents = Agents()
    agents.on_route = sleeps
    events = await events_of(agents.flow(SHORT))
    planned = events[0]
    assert isinstance(planned, Planned)
    assert planned.plan.is_default
    assert planned.plan.normalized_question == QUESTION.text
    assert planned.plan.domain == "medical"
    final = answers_of(events)[-1]
    assert final.tier == common_pb2.TIER_DEEP
    assert final.degraded
    assert components(final) == {("router", "DEADLINE_EXCEEDED")}


async def test_the_router_may_refuse_a_question() -> None:
    agents = Agents()
    agents.on_route = fails(InvalidFieldError("domain", "is not known."))
    with pytest.raises(InvalidFieldError):
        await events_of(agents.flow())


async def test_slow_reasoner_gives_quoted_passages() -> None:
    agents = Agents()
    agents.on_reason = sleeps
    events = await events_of(agents.flow(SHORT))
    first, final = answers_of(events)
    assert first.provisional
    assert not final.provisional
    assert final.tier == common_pb2.TIER_FALLBACK
    assert final.degraded
    assert components(final) == {("reasoner", "DEADLINE_EXCEEDED")}
    assert [citation.source_id for citation in final.citations] == ["c1", "c2"]
    assert final.citations[0].sentence in passage(1).clause.text
    assert "#1" in final.text
    assert [chain.citation_number for chain in final.evidence] == [1, 2]
    assert any(entry.level == common_pb2.FAULT_LEVEL_DEGRADED for entry in trace_of(events))


async def test_a_missed_fast_answer_does_not_mark_the_deep_one() -> None:
    agents = Agents()

    async def reason(request: reasoner_service_pb2.ReasonRequest) -> reasoning_pb2.Answer:
        if request.tier == common_pb2.TIER_FAST:
            raise ModelUnavailableError("down")
        return answer(request)

    agents.on_reason = reason
    first, final = answers_of(await events_of(agents.flow()))
    assert (first.tier, first.degraded) == (common_pb2.TIER_FALLBACK, True)
    assert (final.tier, final.degraded) == (common_pb2.TIER_DEEP, False)


async def test_a_missed_deep_answer_leaves_the_fast_one_marked() -> None:
    agents = Agents()

    async def reason(request: reasoner_service_pb2.ReasonRequest) -> reasoning_pb2.Answer:
        if request.tier == common_pb2.TIER_DEEP:
            raise ModelUnavailableError("down")
        return answer(request)

    agents.on_reason = reason
    first, final = answers_of(await events_of(agents.flow()))
    assert not first.degraded
    assert (final.tier, final.provisional, final.degraded) == (common_pb2.TIER_FAST, False, True)
    assert components(final) == {("reasoner", "MODEL_UNAVAILABLE")}


async def test_dead_retriever_without_a_fallback_is_said_honestly() -> None:
    agents = Agents()
    agents.on_retrieve = fails(RuntimeError("secret path /etc"))
    events = await events_of(agents.flow())
    final = answers_of(events)[-1]
    assert final.status == reasoning_pb2.ANSWER_STATUS_REFUSED
    assert final.degraded
    assert components(final) == {("retriever", "INTERNAL")}
    assert "secret" not in str(events)
    assert not agents.reasoned


async def test_dead_retriever_with_a_fallback_still_answers() -> None:
    agents = Agents()
    agents.on_retrieve = sleeps
    fallback = Agents()
    final = answers_of(await events_of(agents.flow(SHORT, fallback)))[-1]
    assert final.tier == common_pb2.TIER_DEEP
    assert final.degraded
    assert components(final) == {("retriever", "DEADLINE_EXCEEDED")}
    assert fallback.retrieved[0].plan.question == QUESTION.text


async def test_an_agent_that_cancels_itself_is_a_fault_not_a_cancellation() -> None:
    agents = Agents()
    agents.on_retrieve = fails(asyncio.CancelledError())  # type: ignore[arg-type]
    final = answers_of(await events_of(agents.flow()))[-1]
    assert final.degraded


async def test_degradations_of_agents_are_passed_on_and_recovered_faults_stay_in_the_trace() -> None:
    agents = Agents()
    agents.on_retrieve = lambda request: retriever_service_pb2.RetrieveResponse(
        passages=[passage(1)],
        suggestions=["换一种说法"],
        searches=[retriever_service_pb2.SearchReport(search="vector", error="down")],
        degradations=[
            common_pb2.Degradation(
                level=common_pb2.FAULT_LEVEL_DEGRADED, component="embedder", reason="MODEL_UNAVAILABLE"
            ),
            common_pb2.Degradation(level=common_pb2.FAULT_LEVEL_RECOVERABLE, component="clause_graph", reason="SLOW"),
        ],
    )
    events = await events_of(agents.flow())
    final = answers_of(events)[-1]
    assert components(final) == {("embedder", "MODEL_UNAVAILABLE")}
    assert final.degraded
    assert [event.answered.suggestions[0] for event in events if isinstance(event, Replied)] == ["换一种说法"] * 2
    assert any("clause_graph" in entry.message for entry in trace_of(events))


def requery(request: reasoner_service_pb2.ReasonRequest) -> Any:
    wanted = reasoner_service_pb2.ReasonResponse(answer=answer(request))
    if request.tier == common_pb2.TIER_DEEP:
        wanted.follow_up.requery.query = f"round {request.follow_up_round}"
    return wanted


async def test_follow_ups_are_carried_out_at_most_twice() -> None:
    agents = Agents()
    agents.on_reason = requery
    agents.on_retrieve = lambda request: [passage(len(agents.retrieved), 0.1 * len(agents.retrieved))]
    events = await events_of(agents.flow())
    assert [request.query for request in agents.retrieved] == ["", "round 0", "round 1"]
    deep = [request for request in agents.reasoned if request.tier == common_pb2.TIER_DEEP]
    assert [request.follow_up_round for request in deep] == [0, 1, 2]
    assert [item.source_id for item in deep[-1].passages] == ["c3", "c2", "c1"]
    assert [item.rank for item in deep[-1].passages] == [1, 2, 3]
    assert isinstance(events[-2], Found)
    assert len(events[-2].retrieved.passages) == 3


async def test_a_requery_that_finds_nothing_new_ends_the_follow_ups() -> None:
    agents = Agents()
    agents.on_reason = requery
    events = await events_of(agents.flow())
    assert len(agents.retrieved) == 2
    assert answers_of(events)[-1].tier == common_pb2.TIER_DEEP


async def test_refine_intent_routes_again_with_the_hint() -> None:
    agents = Agents()

    def reason(request: reasoner_service_pb2.ReasonRequest) -> Any:
        wanted = reasoner_service_pb2.ReasonResponse(answer=answer(request))
        if request.tier == common_pb2.TIER_DEEP and request.follow_up_round == 0:
            wanted.follow_up.refine_intent.hint = "门诊"
        return wanted

    agents.on_reason = reason
    agents.on_route = lambda request: plan_pb2.Plan(plan_id=request.hint or "first", question=request.question)
    events = await events_of(agents.flow())
    assert [request.hint for request in agents.routed] == ["", "门诊"]
    assert agents.reasoned[-1].plan.plan_id == "门诊"
    assert [event.plan.plan_id for event in events if isinstance(event, Planned)] == ["first", "门诊"]


async def test_a_failing_follow_up_leaves_the_answer_whole() -> None:
    agents = Agents()
    agents.on_reason = requery

    def retrieve(request: retriever_service_pb2.RetrieveRequest) -> Any:
        if request.query:
            raise ModelUnavailableError("down")
        return [passage(1)]

    agents.on_retrieve = retrieve
    events = await events_of(agents.flow())
    final = answers_of(events)[-1]
    assert (final.tier, final.degraded) == (common_pb2.TIER_DEEP, False)
    assert any(entry.level == common_pb2.FAULT_LEVEL_RECOVERABLE for entry in trace_of(events))


async def test_required_clarification_asks_instead_of_answering() -> None:
    agents = Agents()
    agents.on_route = lambda request: plan_pb2.Plan(
        clarifications=[plan_pb2.Clarification(about="intent", question="住院还是门诊？", required=True)]
    )
    events = await events_of(agents.flow())
    (replied,) = [event for event in events if isinstance(event, Replied)]
    assert replied.answered.answer.status == reasoning_pb2.ANSWER_STATUS_NEEDS_CLARIFICATION
    assert replied.answered.clarifications[0].question == "住院还是门诊？"
    assert not agents.retrieved


async def test_small_talk_is_not_looked_up() -> None:
    agents = Agents()
    agents.on_route = lambda request: plan_pb2.Plan(domain="medical", strategy=plan_pb2.STRATEGY_NO_RETRIEVAL)
    flow = agents.flow()
    (plain,) = answers_of(await events_of(flow))
    assert plain.notice
    flow.greetings = {"medical": "您好！"}
    (only,) = answers_of(await events_of(flow))
    assert only.notice == "您好！"
    assert only.sentences[0].status == reasoning_pb2.SENTENCE_STATUS_NOTICE
    assert not agents.retrieved


async def test_the_callers_deadline_limits_every_stage() -> None:
    seen: dict[str, float | None] = {}
    agents = Agents()

    async def route(request: router_service_pb2.RouteRequest) -> plan_pb2.Plan:
        seen["route"] = time_left()
        return plan_pb2.Plan(plan_id="p")

    async def retrieve(request: retriever_service_pb2.RetrieveRequest) -> list[passage_pb2.Passage]:
        seen["retrieve"] = time_left()
        return [passage(1)]

    async def reason(request: reasoner_service_pb2.ReasonRequest) -> reasoning_pb2.Answer:
        seen[common_pb2.Tier.Name(request.tier)] = time_left()
        return answer(request)

    agents.on_route, agents.on_retrieve, agents.on_reason = route, retrieve, reason
    await events_of(agents.flow(), time_left_s=20.0)
    assert set(seen) == {"route", "retrieve", "TIER_FAST", "TIER_DEEP"}
    assert all(left is not None and 0 < left < 20 for left in seen.values())
    route_s, retrieve_s = seen["route"], seen["retrieve"]
    assert route_s is not None
    assert retrieve_s is not None
    assert route_s <= 5
    assert retrieve_s <= 16  # a fifth is kept back for the fallback search


async def test_no_time_at_all_still_gives_an_answer() -> None:
    agents = Agents()
    final = answers_of(await events_of(agents.flow(), time_left_s=0.0))[-1]
    assert final.status == reasoning_pb2.ANSWER_STATUS_REFUSED
    assert final.degraded


async def test_cancelling_the_caller_cancels_the_agent() -> None:
    agents = Agents()
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def reason(request: reasoner_service_pb2.ReasonRequest) -> reasoning_pb2.Answer:
        started.set()
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return answer(request)

    agents.on_reason = reason
    task = asyncio.create_task(events_of(agents.flow()))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(cancelled.wait(), 10)


async def test_the_work_goes_on_while_an_event_is_on_its_way_to_the_caller() -> None:
    agents = Agents()
    searched = asyncio.Event()

    def retrieve(request: retriever_service_pb2.RetrieveRequest) -> list[passage_pb2.Passage]:
        searched.set()
        return [passage(1)]

    agents.on_retrieve = retrieve
    told = agents.flow().ask(QUESTION)
    assert isinstance(await anext(told), Planned)
    # The caller still takes the plan in; were the work to wait for the caller, this would not end.
    await asyncio.wait_for(searched.wait(), 10)
    rest = [event async for event in told]
    assert [type(event) for event in rest] == [Found, Replied, Replied]


async def test_a_caller_that_leaves_early_cancels_the_agent() -> None:
    agents = Agents()
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def retrieve(request: retriever_service_pb2.RetrieveRequest) -> list[passage_pb2.Passage]:
        started.set()
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return []

    agents.on_retrieve = retrieve
    async with aclosing(agents.flow(AMPLE).ask(QUESTION)) as told:  # type: ignore[type-var]
        await anext(told)
        await asyncio.wait_for(started.wait(), 10)
    await asyncio.wait_for(cancelled.wait(), 10)


async def test_an_agent_deaf_to_cancellation_does_not_hold_up_the_answer() -> None:
    agents = Agents()
    release = asyncio.Event()

    async def reason(request: reasoner_service_pb2.ReasonRequest) -> reasoning_pb2.Answer:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        return answer(request)

    agents.on_reason = reason
    try:
        events = await asyncio.wait_for(events_of(agents.flow(SHORT)), 30)
    finally:
        release.set()
    assert answers_of(events)[-1].tier == common_pb2.TIER_FALLBACK


async def test_timing_adds_up() -> None:
    events = await events_of(Agents().flow())
    replied = [event.answered for event in events if isinstance(event, Replied)]
    timing = replied[-1].timing
    assert [stage.stage for stage in timing.stages] == [
        "route",
        "retrieve",
        "retrieve/search",
        "reason_fast",
        "reason_deep",
    ]
    assert (timing.model_ms, timing.index_ms) == (0.25, 0.5)
    assert timing.overhead_ms == pytest.approx(max(0.0, timing.total_ms - 0.75))
    assert replied[0].elapsed_ms <= replied[-1].elapsed_ms


async def test_the_search_is_under_way_when_the_plan_is_told() -> None:
    agents = Agents()
    agents.on_retrieve = sleeps
    async with aclosing(agents.flow().ask(QUESTION)) as told:  # type: ignore[type-var]
        assert isinstance(await anext(told), Planned)
        assert len(agents.retrieved) == 1


async def test_a_caller_who_leaves_before_the_plan_is_told_stops_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(life, "HEAD_START_S", 3600.0)
    started, stopped = asyncio.Event(), asyncio.Event()

    async def searching(request: Any) -> Any:
        started.set()
        try:
            await asyncio.sleep(3600)
        finally:
            stopped.set()

    agents = Agents()
    agents.on_retrieve = searching
    asking = asyncio.create_task(events_of(agents.flow()))
    await started.wait()
    asking.cancel()
    await asyncio.wait_for(stopped.wait(), 30)
    with pytest.raises(asyncio.CancelledError):
        await asking
