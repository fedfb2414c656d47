"""`trias ask`: one question to a running server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any

import grpc
import typer
from google.protobuf import json_format
from google.protobuf.message import Message
from rich.console import Console
from rich.live import Live

from orchestrator.commands import answer_view
from orchestrator.errors import AgentUnavailableError, TriasError
from orchestrator.server.status import error_from
from orchestrator.settings import Settings
from trias.v1 import answer_service_pb2, answer_service_pb2_grpc, common_pb2, plan_pb2, reasoning_pb2

__all__ = ["ask"]

# The exit code of a question that got an honest "no": refused, stopped, or a clarification is wanted.
NOT_ANSWERED = 4

_UNANSWERED = frozenset(
    {
        reasoning_pb2.ANSWER_STATUS_REFUSED,
        reasoning_pb2.ANSWER_STATUS_NEEDS_CLARIFICATION,
        reasoning_pb2.ANSWER_STATUS_STOPPED,
    }
)


def ask(
    context: typer.Context,
    question: Annotated[str, typer.Argument(help="The question, in your own words")],
    server: Annotated[str, typer.Option(metavar="HOST:PORT", help="Default: server.host and server.port")] = "",
    domain: Annotated[str, typer.Option(help="The domain pack; default: the server's")] = "",
    as_of: Annotated[str, typer.Option(metavar="YYYY-MM-DD", help="What held on that day; default: today")] = "",
    top_k: Annotated[int, typer.Option(help="Passages to reason over; 0: the server's number")] = 0,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the passages with every term of their score")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document: plan, every tier, timing")] = False,
    fast: Annotated[bool, typer.Option("--fast", help="The fast answer is enough")] = False,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds to wait for the last answer")] = 30.0,
) -> None:
    """Ask a running server (`trias serve`); the fast answer shows first and the deep one replaces it.

    Exit codes: 0 answered, 4 not answered (refused, stopped at a repealed source, or a clarification is wanted),
    1 error, 2 wrong usage.
    """
    settings: Settings = context.obj
    address = server or f"{settings.server.host}:{settings.server.port}"
    request = answer_service_pb2.AskRequest(
        question=question,
        options=answer_service_pb2.AskOptions(
            domain=domain,
            as_of_date=as_of,
            top_k=top_k,
            explain=explain,
            max_tier=common_pb2.TIER_FAST if fast else common_pb2.TIER_DEEP,
        ),
    )
    responses = _responses(address, request, timeout, settings.server.max_message_mb)
    asked = _Asked(question)
    if as_json:
        for response in responses:
            asked.take(response)
        typer.echo(json.dumps(asked.as_dict(), ensure_ascii=False, indent=2))
    else:
        _show(Console(highlight=False), responses, asked)
    raise typer.Exit(0 if asked.answered else NOT_ANSWERED)


def _responses(
    address: str, request: answer_service_pb2.AskRequest, timeout_s: float, max_message_mb: int
) -> Iterator[answer_service_pb2.AskResponse]:
    options = [("grpc.max_receive_message_length", max_message_mb * 1024 * 1024)]
    with grpc.insecure_channel(address, options=options) as channel:
        try:
            yield from answer_service_pb2_grpc.AnswerServiceStub(channel).Ask(request, timeout=timeout_s)
        except grpc.RpcError as failure:
            raise _explained(failure, address, timeout_s) from None


def _explained(failure: Any, address: str, timeout_s: float) -> TriasError:
    error = error_from(failure, f"server at {address}")
    if isinstance(error, AgentUnavailableError):
        return AgentUnavailableError(
            f"No server answers at {address}.", hint="Start one with `trias serve`, or name another with --server."
        )
    if failure.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
        error.args = (f"{error} Waited {timeout_s:g} s; give it longer with --timeout.",)
    return error


class _Asked:
    """What came back so far."""

    def __init__(self, question: str) -> None:
        self.question = question
        self.answer_id = ""
        self.plan = plan_pb2.Plan()
        self.retrieved: answer_service_pb2.Retrieved | None = None
        self.tiers: list[answer_service_pb2.Answered] = []

    def take(self, response: answer_service_pb2.AskResponse) -> None:
        """Keep one message of the stream."""
        self.answer_id = response.answer_id
        event = response.WhichOneof("event")
        if event == "plan":
            self.plan = response.plan
        elif event == "retrieved":
            self.retrieved = response.retrieved
        elif event == "answered":
            self.tiers.append(response.answered)

    @property
    def answered(self) -> bool:
        """Whether the last tier answers the question."""
        return bool(self.tiers) and self.tiers[-1].answer.status not in _UNANSWERED

    def as_dict(self) -> dict[str, Any]:
        """Everything, for machines; names and enum values are the contract's."""
        return {
            "answer_id": self.answer_id,
            "question": self.question,
            "plan": _as_dict(self.plan),
            "retrieved": _as_dict(self.retrieved) if self.retrieved is not None else None,
            "answers": [_as_dict(tier) for tier in self.tiers],
        }


def _as_dict(message: Message) -> dict[str, Any]:
    # Fields at their default are written too: a reader finds the same keys every time.
    return json_format.MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )


def _show(console: Console, responses: Iterator[answer_service_pb2.AskResponse], asked: _Asked) -> None:
    """A terminal shows each tier in the place of the one before; a file gets them one after another."""
    if console.is_terminal:
        with Live(console=console, transient=True, auto_refresh=False) as live:
            for response in responses:
                asked.take(response)
                live.update(answer_view.progress(asked.plan, asked.tiers), refresh=True)
    else:
        for response in responses:
            asked.take(response)
            if response.WhichOneof("event") == "answered" and response.answered.answer.provisional:
                console.print(answer_view.provisional(response.answered))
    if asked.tiers:
        console.print(answer_view.final(asked.plan, asked.tiers, asked.retrieved))
