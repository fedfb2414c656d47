"""Errors on the wire: our tree to ``google.rpc.Status`` and back.

A status carries ``ErrorInfo`` (reason, domain ``trias``, metadata), ``BadRequest`` for a field, ``RetryInfo`` where
trying again makes sense.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import grpc
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status

from orchestrator.errors import (
    AdmissionError,
    AgentUnavailableError,
    DeadlineExceededError,
    InvalidFieldError,
    TriasError,
)

__all__ = ["DOMAIN", "error_from", "status_of"]

DOMAIN = "trias"
# Metadata of one call is limited to 8 KiB by default; a Chinese character takes nine bytes in the status message.
MESSAGE_CHARS = 300
# Until a busy or failed part may have recovered, where the error itself does not say.
RETRY_AFTER_S = 1.0


def status_of(error: TriasError) -> status_pb2.Status:
    """The status that tells a caller what is wrong, machine-readable and in words."""
    details: list[Message] = [
        error_details_pb2.ErrorInfo(
            reason=error.reason,
            domain=DOMAIN,
            metadata={key: _clip(value) for key, value in error.metadata.items()},
        )
    ]
    if isinstance(error, InvalidFieldError):
        violation = error_details_pb2.BadRequest.FieldViolation(
            field=_clip(error.field),
            description=_clip(f"{error.description} {error.hint}".strip()),
            reason=error.reason,
        )
        details.append(error_details_pb2.BadRequest(field_violations=[violation]))
    if error.retryable:
        delay = Duration()
        delay.FromNanoseconds(int(1e9 * (error.retry_after_s if isinstance(error, AdmissionError) else RETRY_AFTER_S)))
        details.append(error_details_pb2.RetryInfo(retry_delay=delay))
    status = status_pb2.Status(code=error.status.value[0], message=_clip(str(error)))
    for detail in details:
        status.details.add().Pack(detail)
    return status


def error_from(call: Any, target: str) -> TriasError:
    """The error that a remote agent raised, as if it had been raised here.

    Args:
        call: the ``grpc.RpcError`` that ended it, of either of grpc's APIs.
        target: the agent and its address, for the words of an error that the agent itself could not send.
    """
    try:
        status = rpc_status.from_call(call)
    except ValueError:  # the status and its details disagree: what made them is not ours
        status = None
    if status is not None:
        info = error_details_pb2.ErrorInfo()
        for detail in status.details:
            if detail.Unpack(info) and info.domain == DOMAIN:
                return _rebuilt(status, info)
    if call.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
        return DeadlineExceededError(f"The {target} did not answer in time.")
    if call.code() in {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED}:
        return AgentUnavailableError(f"The {target} does not answer: {call.details()}.")
    return TriasError(f"The {target} failed with {call.code().name}: {call.details()}.")


def _rebuilt(status: status_pb2.Status, info: error_details_pb2.ErrorInfo) -> TriasError:
    metadata = dict(info.metadata)
    bad_request, retry = error_details_pb2.BadRequest(), error_details_pb2.RetryInfo()
    for detail in status.details:
        if detail.Unpack(bad_request) and bad_request.field_violations:
            violation = bad_request.field_violations[0]
            return InvalidFieldError(violation.field, violation.description)
        detail.Unpack(retry)
    kind = next((kind for kind in _tree(TriasError) if kind.reason == info.reason), TriasError)
    error = kind.__new__(kind)
    # Every class of the tree is a TriasError with more words; the base holds all that a status carries.
    TriasError.__init__(error, status.message, metadata=metadata)
    if isinstance(error, AdmissionError):
        error.retry_after_s = retry.retry_delay.ToNanoseconds() / 1e9
    return error


def _tree(root: type[TriasError]) -> Iterator[type[TriasError]]:
    yield root
    for kind in root.__subclasses__():
        yield from _tree(kind)


def _clip(text: str) -> str:
    return text if len(text) <= MESSAGE_CHARS else text[: MESSAGE_CHARS - 1] + "…"
