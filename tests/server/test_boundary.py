"""Bad input, faults and cancellation, as a client on a socket sees them."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from orchestrator.errors import InvalidFieldError
from orchestrator.server.running import RunningServer
from trias.v1 import (
    answer_service_pb2,
    common_pb2,
    passage_pb2,
    plan_pb2,
    reasoner_service_pb2,
    reasoner_service_pb2_grpc,
    retriever_service_pb2,
    retriever_service_pb2_grpc,
    router_service_pb2,
    router_service_pb2_grpc,
)

TIMEOUT = 60


async def refused(call: Any) -> tuple[grpc.StatusCode, str, dict[str, Any]]:
    """The status code, the message and the details by type of a call that must fail."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await (call.read() if hasattr(call, "__aiter__") else call)
    status = rpc_status.from_call(caught.value)  # type: ignore[arg-type]
    assert status is not None
    details: dict[str, Any] = {}
    for detail in status.details:
        kind = detail.type_url.rpartition(".")[2]
        message = getattr(error_details_pb2, kind)()
        assert detail.Unpack(message)
        details[kind] = message
    assert details["ErrorInfo"].domain == "trias"
    return caught.value.code(), status.message, details


async def violation(call: Any) -> tuple[str, str]:
    code, _, details = await refused(call)
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert details["ErrorInfo"].reason == "FIELD_INVALID"
    (found,) = details["BadRequest"].field_violations
    return found.field, found.description


BAD_QUESTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "empty": ({"question": ""}, "question"),
    "blank": ({"question": " \n\t　"}, "question"),
    "100 kB": ({"question": "问" * 34_000}, "question"),
    "too large a top_k": ({"question": "q", "options": {"top_k": 101}}, "options.top_k"),
    "negative top_k": ({"question": "q", "options": {"top_k": -1}}, "options.top_k"),
    "not a date": ({"question": "q", "options": {"as_of_date": "昨天"}}, "options.as_of_date"),
    "not a day": ({"question": "q", "options": {"as_of_date": "2024-02-30"}}, "options.as_of_date"),
    "not ISO": ({"question": "q", "options": {"as_of_date": "20240201"}}, "options.as_of_date"),
    "unknown tier": ({"question": "q", "options": {"max_tier": 17}}, "options.max_tier"),
    "fallback tier": ({"question": "q", "options": {"max_tier": 3}}, "options.max_tier"),
    "long request id": ({"question": "q", "request_id": "r" * 300}, "request_id"),
    "long domain": ({"question": "q", "options": {"domain": "d" * 300}}, "options.domain"),
}


@pytest.mark.parametrize("name", BAD_QUESTIONS)
async def test_bad_questions_name_their_field(answers: Any, name: str) -> None:
    fields, path = BAD_QUESTIONS[name]
    for call in (
        answers.Ask(answer_service_pb2.AskRequest(**fields), timeout=TIMEOUT),
        answers.AskOnce(answer_service_pb2.AskOnceRequest(**fields), timeout=TIMEOUT),
    ):
        field, description = await violation(call)
        assert field == path
        assert description
    good = await answers.AskOnce(answer_service_pb2.AskOnceRequest(question="q"), timeout=TIMEOUT)
    assert good.answered.answer.text


async def test_the_routers_own_refusal_names_the_callers_field(answers: Any, agents: Any) -> None:
    async def refuse(request: Any) -> Any:
        raise InvalidFieldError("domain", "there is no pack 'x'.", hint="Known are a, b.")

    agents.on_route = refuse
    call = answers.AskOnce(answer_service_pb2.AskOnceRequest(question="q", options={"domain": "x"}), timeout=TIMEOUT)
    assert await violation(call) == ("options.domain", "there is no pack 'x'. Known are a, b.")


def raw(channel: grpc.aio.Channel, method: str) -> Any:
    return channel.unary_unary(method, request_serializer=lambda data: data, response_deserializer=lambda data: data)


async def test_invalid_utf8_names_its_field_however_deep(channel: grpc.aio.Channel, answers: Any) -> None:
    broken = b"\xff\xfe\xfd"
    question = b"\x0a\x03" + broken
    call = raw(channel, "/trias.v1.AnswerService/AskOnce")
    field, description = await violation(call(question, timeout=TIMEOUT))
    assert field == "question"
    assert "UTF-8" in description
    options = b"\x0a\x03" + broken
    nested = b"\x0a\x01q" + b"\x12" + bytes([len(options)]) + options
    assert (await violation(call(nested, timeout=TIMEOUT)))[0] == "options.domain"
    stream = channel.unary_stream(
        "/trias.v1.AnswerService/Ask", request_serializer=lambda data: data, response_deserializer=lambda data: data
    )
    assert (await violation(stream(question, timeout=TIMEOUT)))[0] == "question"


@pytest.mark.parametrize("data", [b"\x0a\xff\xff\xff\x0f", b"\x0b", b"\x00\x01\x02", b"\xff" * 40])
async def test_garbage_is_an_invalid_argument(channel: grpc.aio.Channel, data: bytes) -> None:
    _, description = await violation(raw(channel, "/trias.v1.AnswerService/AskOnce")(data, timeout=TIMEOUT))
    assert "AskOnceRequest" in description


async def test_agents_check_their_requests(channel: grpc.aio.Channel) -> None:
    router: Any = router_service_pb2_grpc.RouterServiceStub(channel)
    retriever: Any = retriever_service_pb2_grpc.RetrieverServiceStub(channel)
    reasoner: Any = reasoner_service_pb2_grpc.ReasonerServiceStub(channel)
    plan = plan_pb2.Plan(question="q")
    wrong: Any = plan_pb2
    unknown: Any = passage_pb2
    reason: Any = reasoner_service_pb2.ReasonRequest
    retrieve: Any = retriever_service_pb2.RetrieveRequest
    cases: list[tuple[Any, str]] = [
        (router.Route(router_service_pb2.RouteRequest(question=" ")), "question"),
        (router.Route(router_service_pb2.RouteRequest(question="q", as_of_date="x")), "as_of_date"),
        (retriever.Retrieve(retrieve()), "plan.question"),
        (retriever.Retrieve(retrieve(plan=plan, top_k=1000)), "top_k"),
        (retriever.Retrieve(retrieve(plan=wrong.Plan(question="q", strategy=99))), "plan.strategy"),
        (reasoner.Reason(reason(plan=plan)), "tier"),
        (reasoner.Reason(reason(plan=plan, tier=common_pb2.TIER_FALLBACK)), "tier"),
        (reasoner.Reason(reason(plan=plan, tier=1, follow_up_round=3)), "follow_up_round"),
        (reasoner.Reason(reason(plan=plan, tier=1, retrieval_confidence=float("nan"))), "retrieval_confidence"),
        (
            reasoner.Reason(reason(plan=plan, tier=1, passages=[unknown.Passage(source_id="c", validity=42)])),
            "passages[0].validity",
        ),
        (reasoner.Reason(reason(plan=plan, tier=1, passages=[passage_pb2.Passage()])), "passages[0].source_id"),
    ]
    for call, path in cases:
        assert (await violation(call))[0] == path


async def test_unexpected_exceptions_become_an_incident_and_leak_nothing(
    channel: grpc.aio.Channel, agents: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async def boom(request: Any) -> Any:
        raise ValueError("password=hunter2")

    agents.on_route = boom
    router: Any = router_service_pb2_grpc.RouterServiceStub(channel)
    code, message, details = await refused(router.Route(router_service_pb2.RouteRequest(question="q")))
    assert code is grpc.StatusCode.INTERNAL
    assert "hunter2" not in message
    incident = details["ErrorInfo"].metadata["incident"]
    assert incident in message
    logged = [record for record in caplog.records if incident in record.getMessage()]
    assert logged
    assert logged[0].exc_info


async def test_a_cancellation_from_within_does_not_leave_the_client_hanging(
    channel: grpc.aio.Channel, agents: Any
) -> None:
    async def cancel(request: Any) -> Any:
        raise asyncio.CancelledError

    agents.on_route = cancel
    router: Any = router_service_pb2_grpc.RouterServiceStub(channel)
    call = router.Route(router_service_pb2.RouteRequest(question="q"))
    code, _, _ = await asyncio.wait_for(refused(call), TIMEOUT)
    assert code is grpc.StatusCode.INTERNAL


async def test_a_client_that_leaves_cancels_the_work(answers: Any, agents: Any, server: RunningServer) -> None:
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def hang(request: Any) -> Any:
        started.set()
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    agents.on_retrieve = hang
    call = answers.Ask(answer_service_pb2.AskRequest(question="q"))
    assert (await call.read()).HasField("plan")
    await asyncio.wait_for(started.wait(), TIMEOUT)
    call.cancel()
    await asyncio.wait_for(cancelled.wait(), TIMEOUT)
    while server.admission.in_flight:
        await asyncio.sleep(0.01)


async def test_an_agent_call_keeps_to_the_callers_deadline(channel: grpc.aio.Channel, agents: Any) -> None:
    async def hang(request: Any) -> Any:
        await asyncio.sleep(3600)

    agents.on_route = hang
    router: Any = router_service_pb2_grpc.RouterServiceStub(channel)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await router.Route(router_service_pb2.RouteRequest(question="q"), timeout=0.5)
    assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED


async def test_too_many_requests_are_refused_with_a_time_to_retry(
    answers: Any, agents: Any, server: RunningServer, channel: grpc.aio.Channel
) -> None:
    release = asyncio.Event()

    async def hold(request: Any) -> Any:
        await release.wait()
        return router_service_pb2.RouteResponse(plan=plan_pb2.Plan(plan_id="p", question="q"))

    agents.on_route = hold
    router: Any = router_service_pb2_grpc.RouterServiceStub(channel)
    held = [asyncio.ensure_future(router.Route(router_service_pb2.RouteRequest(question="q"))) for _ in range(8)]
    while server.admission.in_flight < 8:
        await asyncio.sleep(0.01)
    code, _, details = await refused(answers.AskOnce(answer_service_pb2.AskOnceRequest(question="q")))
    assert code is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert details["ErrorInfo"].reason == "TOO_MANY_REQUESTS"
    assert details["RetryInfo"].retry_delay.ToMilliseconds() == 2500
    # What costs nothing is not counted: an old answer can still be asked for.
    code, _, _ = await refused(answers.GetAnswer(answer_service_pb2.GetAnswerRequest(answer_id="x")))
    assert code is grpc.StatusCode.NOT_FOUND
    release.set()
    await asyncio.gather(*held)
    assert (await answers.AskOnce(answer_service_pb2.AskOnceRequest(question="q"))).answer_id
