"""One tree of errors. Each carries an UPPER_SNAKE reason, a gRPC status and what to do about it.

``str(error)`` is one or two sentences for a person: what is wrong (naming the file, field or flag), then what to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import grpc

__all__ = [
    "AdmissionError",
    "AgentUnavailableError",
    "BackendUnavailableError",
    "BuildError",
    "ConfigurationError",
    "DeadlineExceededError",
    "DocumentError",
    "FingerprintMismatchError",
    "GateError",
    "IndexCorruptError",
    "InvalidFieldError",
    "KnowledgeError",
    "LibraryLockedError",
    "ModelError",
    "ModelNotFoundError",
    "ModelUnavailableError",
    "NotFoundError",
    "PackError",
    "TriasError",
]


class TriasError(Exception):
    """Anything that Trias itself reports.

    Args:
        message: what is wrong, naming the file, field or flag.
        hint: what to do about it; appended to the message.
        metadata: machine-readable details, sent as ``ErrorInfo.metadata``.
    """

    reason: ClassVar[str] = "INTERNAL"
    status: ClassVar[grpc.StatusCode] = grpc.StatusCode.INTERNAL
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, hint: str = "", metadata: Mapping[str, str] | None = None) -> None:
        super().__init__(f"{message} {hint}".strip() if hint else message)
        self.message = message
        self.hint = hint
        self.metadata = dict(metadata or {})


class ConfigurationError(TriasError):
    """A setting, a flag or a file of settings is wrong, or something needed is not installed."""

    reason = "CONFIGURATION_INVALID"
    status = grpc.StatusCode.FAILED_PRECONDITION


class BuildError(TriasError):
    """A model cannot be built: its source is damaged, or a step of the build failed."""

    reason = "MODEL_BUILD_FAILED"
    status = grpc.StatusCode.FAILED_PRECONDITION


class GateError(BuildError):
    """A built model missed a quality gate.

    Args:
        gate: its name in the model's spec.
        figure: what was measured.
        limit: what the spec demands, with its sign: ``>= 0.995``.
    """

    reason = "MODEL_GATE_FAILED"

    def __init__(self, gate: str, figure: float, limit: str, *, hint: str = "") -> None:
        super().__init__(
            f"Gate {gate} failed: measured {figure:.6g}, wanted {limit}.",
            hint=hint,
            metadata={"gate": gate, "figure": f"{figure:.6g}", "limit": limit},
        )
        self.gate = gate
        self.figure = figure


class PackError(ConfigurationError):
    """A domain pack's file is missing or malformed."""

    reason = "DOMAIN_PACK_INVALID"


class InvalidFieldError(TriasError):
    """A field of a request is missing, malformed or out of range.

    Args:
        field: the path of the field in the request: ``options.as_of_date``.
        message: what is wrong with it.
    """

    reason = "FIELD_INVALID"
    status = grpc.StatusCode.INVALID_ARGUMENT

    def __init__(self, field: str, message: str, *, hint: str = "") -> None:
        super().__init__(f"{field}: {message}", hint=hint, metadata={"field": field})
        self.field = field
        self.description = message


class NotFoundError(TriasError):
    """What was asked for by its id does not exist."""

    reason = "NOT_FOUND"
    status = grpc.StatusCode.NOT_FOUND


class AdmissionError(TriasError):
    """Too many requests are in flight; try again after ``retry_after_s`` seconds."""

    reason = "TOO_MANY_REQUESTS"
    status = grpc.StatusCode.RESOURCE_EXHAUSTED
    retryable = True

    def __init__(self, message: str, *, retry_after_s: float) -> None:
        super().__init__(message, hint=f"Try again in {retry_after_s:g} s.")
        self.retry_after_s = retry_after_s


class AgentUnavailableError(TriasError):
    """An agent in another process does not answer at present."""

    reason = "AGENT_UNAVAILABLE"
    status = grpc.StatusCode.UNAVAILABLE
    retryable = True


class DeadlineExceededError(TriasError):
    """A stage did not finish within its budget."""

    reason = "DEADLINE_EXCEEDED"
    status = grpc.StatusCode.DEADLINE_EXCEEDED
    retryable = True


class ModelError(TriasError):
    """A served model answered with an error, or with something that it should not."""

    reason = "MODEL_FAILED"


class ModelUnavailableError(ModelError):
    """Triton, or the model on it, does not answer at present."""

    reason = "MODEL_UNAVAILABLE"
    status = grpc.StatusCode.UNAVAILABLE
    retryable = True


class ModelNotFoundError(ModelError):
    """Triton runs, but does not serve that model or version."""

    reason = "MODEL_NOT_FOUND"
    status = grpc.StatusCode.FAILED_PRECONDITION


class FingerprintMismatchError(ModelError):
    """The served model, its tokenizer and the index do not belong together."""

    reason = "FINGERPRINT_MISMATCH"
    status = grpc.StatusCode.FAILED_PRECONDITION


class DocumentError(TriasError):
    """A source file cannot be read. ``reason`` of the instance says why, for the ingest report.

    Args:
        source: the file, as the user named it.
        message: what is wrong with it.
        kind: UPPER_SNAKE: ``EMPTY_FILE``, ``ENCRYPTED``, ``TRUNCATED``, ``UNKNOWN_FORMAT``, ``MISLABELLED``, …
    """

    reason = "DOCUMENT_UNREADABLE"
    status = grpc.StatusCode.INVALID_ARGUMENT

    def __init__(self, source: str, message: str, *, kind: str, hint: str = "") -> None:
        super().__init__(f"{source}: {message}", hint=hint, metadata={"source": source, "kind": kind})
        self.source = source
        self.kind = kind
        self.description = message

    def __reduce__(self) -> tuple[object, ...]:
        # Parsers run in worker processes: keyword-only arguments need their own way through pickle.
        return (_restore_document_error, (self.source, self.description, self.kind, self.hint))


def _restore_document_error(source: str, message: str, kind: str, hint: str) -> DocumentError:
    return DocumentError(source, message, kind=kind, hint=hint)


class KnowledgeError(TriasError):
    """One of the three indexes failed."""

    reason = "INDEX_FAILED"


class BackendUnavailableError(KnowledgeError):
    """An index server does not answer at present."""

    reason = "INDEX_UNAVAILABLE"
    status = grpc.StatusCode.UNAVAILABLE
    retryable = True


class LibraryLockedError(KnowledgeError):
    """Another process owns the embedded indexes."""

    reason = "LIBRARY_LOCKED"
    status = grpc.StatusCode.FAILED_PRECONDITION


class IndexCorruptError(KnowledgeError):
    """An index on disk cannot be opened or contradicts the catalogue."""

    reason = "INDEX_CORRUPT"
    status = grpc.StatusCode.DATA_LOSS
