"""`AnswerService`: the flow's events as responses, and answers given before."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from orchestrator.errors import InvalidFieldError
from orchestrator.flow import Event, Flow, Found, Planned, Question, Replied
from orchestrator.server.answers import AnswerStore
from orchestrator.server.deadline import caller_seconds
from orchestrator.server.evidence import trace_evidence
from orchestrator.server.validation import check_feedback, check_id, question_of
from trias.v1 import answer_service_pb2, answer_service_pb2_grpc

__all__ = ["AnswerServicer"]

# Where the router's fields stand in a question's options.
_FIELD_PATHS = {"domain": "options.domain", "as_of_date": "options.as_of_date"}


class AnswerServicer(answer_service_pb2_grpc.AnswerServiceServicer):
    """Answers questions and remembers the answers.

    Args:
        flow: does the work.
        store: keeps what was answered.
        max_question_chars: a longer question is refused.
    """

    def __init__(self, flow: Flow, store: AnswerStore, *, max_question_chars: int) -> None:
        self._flow = flow
        self._store = store
        self._max_question_chars = max_question_chars

    async def Ask(  # noqa: N802 (the names are the contract's)
        self, request: answer_service_pb2.AskRequest, context: Any
    ) -> AsyncIterator[answer_service_pb2.AskResponse]:
        """Stream the plan, the passages where they are to be explained, and each tier's answer."""
        question = question_of(request, self._max_question_chars)
        record = self._record(request.question)
        async with aclosing(self._events(question, record, context)) as events:  # type: ignore[type-var]
            async for event in events:
                response = answer_service_pb2.AskResponse(answer_id=record.answer_id)
                if _write(event, response, explain=request.options.explain):
                    yield response

    async def AskOnce(  # noqa: N802
        self, request: answer_service_pb2.AskOnceRequest, context: Any
    ) -> answer_service_pb2.AskOnceResponse:
        """The last answer alone."""
        question = question_of(request, self._max_question_chars)
        record = self._record(request.question)
        response = answer_service_pb2.AskOnceResponse(answer_id=record.answer_id)
        async with aclosing(self._events(question, record, context)) as events:  # type: ignore[type-var]
            async for event in events:
                _write(event, response, explain=request.options.explain)
        return response

    async def GetAnswer(  # noqa: N802
        self,
        request: answer_service_pb2.GetAnswerRequest,
        context: Any,  # noqa: ARG002
    ) -> answer_service_pb2.GetAnswerResponse:
        """An answer given before."""
        return await self._store.get(check_id("answer_id", request.answer_id))

    async def TraceEvidence(  # noqa: N802
        self,
        request: answer_service_pb2.TraceEvidenceRequest,
        context: Any,  # noqa: ARG002
    ) -> answer_service_pb2.TraceEvidenceResponse:
        """What an answer's sentences rest on."""
        answer_id = check_id("answer_id", request.answer_id)
        record = await self._store.get(answer_id)
        retrieved = await self._store.passages(answer_id)
        index = request.sentence_index if request.HasField("sentence_index") else None
        return trace_evidence(record, retrieved, index)

    async def SubmitFeedback(  # noqa: N802
        self,
        request: answer_service_pb2.SubmitFeedbackRequest,
        context: Any,  # noqa: ARG002
    ) -> answer_service_pb2.SubmitFeedbackResponse:
        """Keep what a reader thinks of an answer."""
        check_feedback(request)
        feedback = answer_service_pb2.Feedback(
            verdict=request.verdict, comment=request.comment, expected_source_id=request.expected_source_id
        )
        count = await self._store.add_feedback(request.answer_id, feedback)
        return answer_service_pb2.SubmitFeedbackResponse(answer_id=request.answer_id, feedback_count=count)

    def _record(self, question: str) -> answer_service_pb2.GetAnswerResponse:
        now = Timestamp()
        now.GetCurrentTime()
        return answer_service_pb2.GetAnswerResponse(answer_id=uuid.uuid4().hex, question=question, asked_at=now)

    async def _events(
        self, question: Question, record: answer_service_pb2.GetAnswerResponse, context: Any
    ) -> AsyncIterator[Event]:
        """The flow's events, put into the record on their way; the record is saved before the last one goes out."""
        retrieved = answer_service_pb2.Retrieved()
        saved = False
        try:
            async with aclosing(self._flow.ask(question, time_left_s=caller_seconds(context))) as events:  # type: ignore[type-var]
                async for event in events:
                    match event:
                        case Planned(plan):
                            record.plan.CopyFrom(plan)
                        case Found(found):
                            retrieved = found
                        case Replied(answered, trace):
                            record.answers.append(answered)
                            del record.trace[:]
                            record.trace.extend(trace)
                            if event.final:  # before the caller can ask for it
                                self._store.save(record, retrieved)
                                saved = True
                    yield event
        except InvalidFieldError as error:
            path = _FIELD_PATHS.get(error.field)
            if path is None:
                raise
            raise InvalidFieldError(path, error.description, hint=error.hint) from None
        finally:
            if record.answers and not saved:  # the caller left after the first answer
                self._store.save(record, retrieved)


def _write(
    event: Event, response: answer_service_pb2.AskResponse | answer_service_pb2.AskOnceResponse, *, explain: bool
) -> bool:
    """Put an event into the field of its name; tells whether the caller is to see it."""
    match event:
        case Planned(plan):
            response.plan.CopyFrom(plan)
        case Found(retrieved) if explain:
            response.retrieved.CopyFrom(retrieved)
        case Replied(answered):
            response.answered.CopyFrom(answered)
        case _:
            return False
    return True
