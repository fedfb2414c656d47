"""`AnswerService` on a socket: the stream, the answer kept, the evidence, the feedback."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import pytest

from orchestrator.server.answers import AnswerStore
from orchestrator.server.database import Database
from orchestrator.server.running import RunningServer
from orchestrator.settings import Settings
from trias.v1 import answer_service_pb2, common_pb2, reasoner_service_pb2


async def ask(answers: Any, **options: Any) -> list[answer_service_pb2.AskResponse]:
    request = answer_service_pb2.AskRequest(question="住院报销比例？", options=options)
    return [response async for response in answers.Ask(request)]


def kinds(responses: list[answer_service_pb2.AskResponse]) -> list[str | None]:
    return [response.WhichOneof("event") for response in responses]


async def test_the_stream_brings_the_plan_then_the_fast_then_the_deep_answer(answers: Any) -> None:
    responses = await ask(answers)
    assert kinds(responses) == ["plan", "answered", "answered"]
    assert len({response.answer_id for response in responses}) == 1
    fast, deep = (response.answered for response in responses[1:])
    assert (fast.answer.tier, fast.answer.provisional) == (common_pb2.TIER_FAST, True)
    assert (deep.answer.tier, deep.answer.provisional) == (common_pb2.TIER_DEEP, False)
    assert deep.timing.total_ms > 0


async def test_explain_brings_the_passages_and_max_tier_fast_stops(answers: Any) -> None:
    assert kinds(await ask(answers, explain=True)) == ["plan", "retrieved", "answered", "answered"]
    assert kinds(await ask(answers, max_tier=common_pb2.TIER_FAST)) == ["plan", "answered"]


async def test_ask_once_is_the_last_answer(answers: Any) -> None:
    once = await answers.AskOnce(answer_service_pb2.AskOnceRequest(question="q", options={"explain": True}))
    assert once.plan.plan_id == "p1"
    assert once.answered.answer.tier == common_pb2.TIER_DEEP
    assert len(once.retrieved.passages) == 2
    plain = await answers.AskOnce(answer_service_pb2.AskOnceRequest(question="q"))
    assert not plain.HasField("retrieved")


async def test_the_fast_answer_is_sent_before_the_deep_one_exists(answers: Any, agents: Any) -> None:
    deep_allowed = asyncio.Event()
    scripted = agents.on_reason

    async def reason(request: reasoner_service_pb2.ReasonRequest) -> Any:
        if request.tier == common_pb2.TIER_DEEP:
            await deep_allowed.wait()
        return scripted(request)

    agents.on_reason = reason
    call = answers.Ask(answer_service_pb2.AskRequest(question="q"))
    assert (await call.read()).HasField("plan")
    assert (await call.read()).answered.answer.tier == common_pb2.TIER_FAST
    deep_allowed.set()
    assert (await call.read()).answered.answer.tier == common_pb2.TIER_DEEP


async def test_an_answer_can_be_had_again_as_soon_as_it_was_sent(answers: Any) -> None:
    call = answers.Ask(answer_service_pb2.AskRequest(question="住院报销比例？"))
    responses = [await call.read() for _ in range(3)]  # the stream itself is still open
    kept = await answers.GetAnswer(answer_service_pb2.GetAnswerRequest(answer_id=responses[0].answer_id))
    assert kept.question == "住院报销比例？"
    assert kept.plan == responses[0].plan
    assert list(kept.answers) == [responses[1].answered, responses[2].answered]
    assert kept.asked_at.seconds > 0
    assert not kept.feedback


async def test_a_caller_who_leaves_after_the_fast_answer_can_still_get_it(
    answers: Any, agents: Any, server: RunningServer
) -> None:
    scripted = agents.on_reason

    async def reason(request: reasoner_service_pb2.ReasonRequest) -> Any:
        if request.tier == common_pb2.TIER_DEEP:
            await asyncio.sleep(3600)
        return scripted(request)

    agents.on_reason = reason
    call = answers.Ask(answer_service_pb2.AskRequest(question="q"))
    answer_id = (await call.read()).answer_id
    await call.read()
    call.cancel()
    while server.admission.in_flight:
        await asyncio.sleep(0.01)
    kept = await answers.GetAnswer(answer_service_pb2.GetAnswerRequest(answer_id=answer_id))
    assert [entry.answer.tier for entry in kept.answers] == [common_pb2.TIER_FAST]


async def test_evidence_of_one_sentence_and_of_all(answers: Any) -> None:
    answer_id = (await ask(answers))[0].answer_id
    whole = await answers.TraceEvidence(answer_service_pb2.TraceEvidenceRequest(answer_id=answer_id))
    assert [chain.claim_id for chain in whole.chains] == ["k1", "k2"]
    one = await answers.TraceEvidence(answer_service_pb2.TraceEvidenceRequest(answer_id=answer_id, sentence_index=0))
    assert [chain.claim_id for chain in one.chains] == ["k1"]
    assert [claim.claim_id for claim in one.claims] == ["k1", "k3"]  # the beaten claim too
    assert [ruling.ruling_id for ruling in one.rulings] == ["r1"]
    assert [passage.source_id for passage in one.passages] == ["c1", "c2"]
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await answers.TraceEvidence(answer_service_pb2.TraceEvidenceRequest(answer_id=answer_id, sentence_index=9))
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_feedback_is_kept_with_the_answer(answers: Any) -> None:
    answer_id = (await ask(answers))[0].answer_id
    for count in (1, 2):
        given = await answers.SubmitFeedback(
            answer_service_pb2.SubmitFeedbackRequest(
                answer_id=answer_id, verdict=answer_service_pb2.VERDICT_WRONG, comment=f"错了 {count}"
            )
        )
        assert given.feedback_count == count
    kept = await answers.GetAnswer(answer_service_pb2.GetAnswerRequest(answer_id=answer_id))
    assert [entry.comment for entry in kept.feedback] == ["错了 1", "错了 2"]
    assert kept.feedback[0].submitted_at.seconds > 0


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"answer_id": "nobody", "verdict": 1}, grpc.StatusCode.NOT_FOUND),
        ({"answer_id": "", "verdict": 1}, grpc.StatusCode.INVALID_ARGUMENT),
        ({"answer_id": "x"}, grpc.StatusCode.INVALID_ARGUMENT),
        ({"answer_id": "x", "verdict": 77}, grpc.StatusCode.INVALID_ARGUMENT),
        ({"answer_id": "x", "verdict": 1, "comment": "c" * 20_000}, grpc.StatusCode.INVALID_ARGUMENT),
    ],
)
async def test_bad_feedback(answers: Any, fields: Any, code: grpc.StatusCode) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await answers.SubmitFeedback(answer_service_pb2.SubmitFeedbackRequest(**fields))
    assert caught.value.code() is code


async def test_only_the_last_answers_are_kept(answers: Any) -> None:
    ids = [(await ask(answers))[0].answer_id for _ in range(5)]
    for answer_id in ids[-3:]:
        await answers.GetAnswer(answer_service_pb2.GetAnswerRequest(answer_id=answer_id))
    for answer_id in ids[:-3]:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await answers.GetAnswer(answer_service_pb2.GetAnswerRequest(answer_id=answer_id))
        assert caught.value.code() is grpc.StatusCode.NOT_FOUND


async def test_answers_survive_a_restart(answers: Any, settings: Settings) -> None:
    answer_id = (await ask(answers))[0].answer_id
    await answers.GetAnswer(answer_service_pb2.GetAnswerRequest(answer_id=answer_id))
    second = Database(settings.paths.data / "answers.sqlite3")
    try:
        assert (await AnswerStore(second, 3).get(answer_id)).question == "住院报销比例？"
    finally:
        await second.close()


async def test_a_hanging_reasoner_still_gives_the_caller_quoted_passages(answers: Any, agents: Any) -> None:
    async def hang(request: Any) -> Any:
        await asyncio.sleep(3600)

    agents.on_reason = hang
    response = await answers.AskOnce(answer_service_pb2.AskOnceRequest(question="q"), timeout=60)
    answer = response.answered.answer
    assert (answer.tier, answer.degraded) == (common_pb2.TIER_FALLBACK, True)
    assert answer.citations[0].sentence == "三级医院报销百分之七十。"
    kept = await answers.GetAnswer(answer_service_pb2.GetAnswerRequest(answer_id=response.answer_id))
    assert any(entry.level == common_pb2.FAULT_LEVEL_DEGRADED for entry in kept.trace)
