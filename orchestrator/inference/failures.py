"""Triton's errors in terms of ours, and why a model does not answer."""

from __future__ import annotations

from typing import Final

import grpc
import grpc.aio

from orchestrator.errors import (
    DeadlineExceededError,
    ModelError,
    ModelNotFoundError,
    ModelUnavailableError,
    TriasError,
)

__all__ = ["BETWEEN_LOADS", "BUSY", "CRASHED", "REJECTED", "UNREACHABLE", "as_trias_error", "cause_of"]

# Causes, as `cause_of` gives them.
CRASHED: Final = "crashed"
"""The model's Python stub is dead; Triton never restarts it."""
BUSY: Final = "busy"
"""Its queue is full, or the request waited in it too long."""
BETWEEN_LOADS: Final = "between_loads"
"""The name is known, but no version answers: unloaded, unloading, loading."""
UNREACHABLE: Final = "unreachable"
"""Nothing answers at the address, or it went away during the call."""
REJECTED: Final = "rejected"
"""The model answered that it cannot take this input."""

# Triton tells these cases apart by words only.
CRASHED_WORDS = ("Stub process",)
BUSY_WORDS = ("Exceeds maximum queue size", "Request timeout expired")
BETWEEN_LOADS_WORDS = ("no available versions", "not ready", "unloading", "is not at ready state")

# What to say of those that may pass by themselves: state, what to do.
UNAVAILABLE: Final = {
    CRASHED: ("has crashed", "The watchdog reloads it."),
    BUSY: ("is overloaded", "Try again."),
    BETWEEN_LOADS: ("is not loaded at present", ""),
    UNREACHABLE: ("is unavailable", "Is Triton running there? `trias triton status` tells."),
}


def cause_of(error: TriasError) -> str:
    """One of the causes above, or empty."""
    return error.metadata.get("cause", "")


def as_trias_error(error: grpc.aio.AioRpcError, *, model: str, address: str) -> TriasError:
    """The error of our tree for a failed call to Triton; `cause_of` tells more.

    Args:
        error: what grpc.aio raised.
        model: the model called; empty for calls about the server.
        address: of the Triton called.
    """
    code, details = error.code(), (error.details() or "").strip().rstrip(".;")
    subject = f"Model '{model}' on {address}" if model else f"Triton on {address}"
    cause = _cause(code, details)
    metadata = {"model": model, "address": address, "cause": cause}
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return DeadlineExceededError(f"{subject} did not answer in time.", metadata=metadata)
    if cause in UNAVAILABLE:
        state, hint = UNAVAILABLE[cause]
        return ModelUnavailableError(f"{subject} {state}: {details}.", hint=hint, metadata=metadata)
    if code is grpc.StatusCode.NOT_FOUND:
        return ModelNotFoundError(
            f"{subject} is not served: {details}.",
            hint="`trias triton status` lists what is; `trias models build` makes the embedder.",
            metadata=metadata,
        )
    return ModelError(f"{subject} answered {code.name}: {details}.", metadata=metadata)


def _cause(code: grpc.StatusCode, details: str) -> str:
    if code is grpc.StatusCode.INTERNAL and _says(details, CRASHED_WORDS):
        return CRASHED
    if code is grpc.StatusCode.UNAVAILABLE and _says(details, BUSY_WORDS):
        return BUSY
    if code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.NOT_FOUND) and _says(details, BETWEEN_LOADS_WORDS):
        return BETWEEN_LOADS
    # CANCELLED is not ours (that is asyncio.CancelledError): Triton shuts down, or the connection was closed.
    if code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED):
        return UNREACHABLE
    if code is grpc.StatusCode.INVALID_ARGUMENT:
        return REJECTED
    return ""


def _says(details: str, words: tuple[str, ...]) -> bool:
    return any(phrase in details for phrase in words)
