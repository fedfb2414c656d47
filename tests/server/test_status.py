"""Every error of the tree, over the wire and back."""

from __future__ import annotations

from collections.abc import Iterator

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from orchestrator.errors import (
    AdmissionError,
    AgentUnavailableError,
    DeadlineExceededError,
    DocumentError,
    InvalidFieldError,
    ModelUnavailableError,
    TriasError,
)
from orchestrator.server.status import error_from, status_of


def tree(root: type[TriasError]) -> Iterator[type[TriasError]]:
    yield root
    for kind in root.__subclasses__():
        yield from tree(kind)


def example(kind: type[TriasError]) -> TriasError:
    if issubclass(kind, InvalidFieldError):
        return kind("options.top_k", "is wrong.", hint="Say 1.")
    if issubclass(kind, AdmissionError):
        return kind("Full.", retry_after_s=1.5)
    if issubclass(kind, DocumentError):
        return kind("a.pdf", "is cut.", kind="TRUNCATED")
    error = kind.__new__(kind)
    TriasError.__init__(error, "模型不可用。", hint="Start it.", metadata={"model": "embedder"})
    return error


def sent(error: TriasError) -> grpc.aio.AioRpcError:
    wire = rpc_status.to_status(status_of(error))
    return grpc.aio.AioRpcError(
        wire.code,
        grpc.aio.Metadata(),
        grpc.aio.Metadata(*wire.trailing_metadata),
        details=wire.details,
        debug_error_string="",
    )


@pytest.mark.parametrize("kind", tuple(tree(TriasError)), ids=lambda kind: kind.__name__)
def test_an_error_survives_the_wire(kind: type[TriasError]) -> None:
    error = example(kind)
    back = error_from(sent(error), "router at a:1")
    assert type(back) is kind
    assert str(back) == str(error)
    assert back.metadata == error.metadata
    assert getattr(back, "field", None) == getattr(error, "field", None)
    assert getattr(back, "retry_after_s", None) == getattr(error, "retry_after_s", None)


def test_a_long_message_does_not_break_the_metadata_limit() -> None:
    error = InvalidFieldError("question", "长" * 50_000)
    assert len(status_of(error).SerializeToString()) < 4096


def test_retryable_errors_say_when() -> None:
    for error in (ModelUnavailableError("down"), AdmissionError("full", retry_after_s=1.5)):
        retry = error_details_pb2.RetryInfo()
        assert any(detail.Unpack(retry) for detail in status_of(error).details)
        assert retry.retry_delay.ToMilliseconds() > 0


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (grpc.StatusCode.UNAVAILABLE, AgentUnavailableError),
        (grpc.StatusCode.CANCELLED, AgentUnavailableError),
        (grpc.StatusCode.DEADLINE_EXCEEDED, DeadlineExceededError),
        (grpc.StatusCode.UNKNOWN, TriasError),
    ],
)
def test_a_failure_without_details_is_read_by_its_code(code: grpc.StatusCode, kind: type[TriasError]) -> None:
    call = grpc.aio.AioRpcError(
        code, grpc.aio.Metadata(), grpc.aio.Metadata(), details="connection refused", debug_error_string=""
    )
    error = error_from(call, "router at a:1")
    assert type(error) is kind
    assert "router at a:1" in str(error)
