"""What a request may hold: each violation names the field by its path. Nothing here touches the library or a model."""

from __future__ import annotations

import math
import re
from datetime import date
from functools import cache

import numpy as np
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message

from orchestrator.errors import InvalidFieldError
from orchestrator.flow import Question
from trias.v1 import (
    answer_service_pb2,
    common_pb2,
    knowledge_service_pb2,
    reasoner_service_pb2,
    retriever_service_pb2,
    router_service_pb2,
)

__all__ = [
    "check_apply",
    "check_feedback",
    "check_id",
    "check_reason",
    "check_retrieve",
    "check_route",
    "page_size_of",
    "question_of",
]

MAX_TOP_K = 100
MAX_FOLLOW_UP_ROUND = 2
# An id is looked up and logged, never parsed; longer ones are not ours.
MAX_ID_CHARS = 200
MAX_COMMENT_CHARS = 10_000
DEFAULT_PAGE_SIZE = 100
MAX_PAGE_SIZE = 1000
# float32 rows of a unit vector are off by less than this.
NORM_TOLERANCE = 0.01

_ISO_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def question_of(
    request: answer_service_pb2.AskRequest | answer_service_pb2.AskOnceRequest, max_question_chars: int
) -> Question:
    """The question of a request, checked.

    Raises:
        InvalidFieldError: names the first field that is wrong.
    """
    options = request.options
    _check_question("question", request.question, max_question_chars)
    _check_length("request_id", request.request_id, MAX_ID_CHARS)
    _check_length("options.domain", options.domain, MAX_ID_CHARS)
    _check_date("options.as_of_date", options.as_of_date)
    _check_range("options.top_k", options.top_k, 0, MAX_TOP_K)
    tiers = (common_pb2.TIER_UNSPECIFIED, common_pb2.TIER_FAST, common_pb2.TIER_DEEP)
    if options.max_tier not in tiers:
        raise InvalidFieldError("options.max_tier", f"{options.max_tier} is neither TIER_FAST (1) nor TIER_DEEP (2).")
    return Question(
        text=request.question,
        domain=options.domain,
        as_of_date=options.as_of_date,
        top_k=options.top_k,
        skip_rewrite=options.skip_rewrite,
        max_tier=options.max_tier or common_pb2.TIER_DEEP,
    )


def check_route(request: router_service_pb2.RouteRequest, max_question_chars: int) -> None:
    """Raises `InvalidFieldError` naming the first field that is wrong."""
    _check_question("question", request.question, max_question_chars)
    _check_length("domain", request.domain, MAX_ID_CHARS)
    _check_date("as_of_date", request.as_of_date)
    _check_length("hint", request.hint, max_question_chars)


def check_retrieve(request: retriever_service_pb2.RetrieveRequest, max_question_chars: int) -> None:
    """Raises `InvalidFieldError` naming the first field that is wrong."""
    _check_values(request)
    if not (request.query.strip() or request.plan.normalized_question.strip() or request.plan.question.strip()):
        raise InvalidFieldError("plan.question", "is empty.", hint="Send a plan with a question, or a query.")
    _check_length("query", request.query, max_question_chars)
    _check_length("plan.question", request.plan.question, max_question_chars)
    _check_date("plan.as_of_date", request.plan.as_of_date)
    _check_range("top_k", request.top_k, 0, MAX_TOP_K)


def check_reason(request: reasoner_service_pb2.ReasonRequest, max_question_chars: int) -> None:
    """Raises `InvalidFieldError` naming the first field that is wrong."""
    _check_values(request)
    _check_question("plan.question", request.plan.question, max_question_chars)
    _check_date("plan.as_of_date", request.plan.as_of_date)
    if request.tier not in {common_pb2.TIER_FAST, common_pb2.TIER_DEEP}:
        raise InvalidFieldError("tier", f"{request.tier} is neither TIER_FAST (1) nor TIER_DEEP (2).")
    _check_range("follow_up_round", request.follow_up_round, 0, MAX_FOLLOW_UP_ROUND)
    _check_range("retrieval_confidence", request.retrieval_confidence, 0, 1)
    _check_range("passages", len(request.passages), 0, MAX_TOP_K, what="passages")
    for place, passage in enumerate(request.passages):
        if not passage.source_id:
            raise InvalidFieldError(f"passages[{place}].source_id", "is empty.")


def check_id(field: str, value: str) -> str:
    """An id that must be there; returned as it is."""
    if not value:
        raise InvalidFieldError(field, "is empty.")
    _check_length(field, value, MAX_ID_CHARS)
    return value


def check_feedback(request: answer_service_pb2.SubmitFeedbackRequest) -> None:
    """Raises `InvalidFieldError` naming the first field that is wrong."""
    check_id("answer_id", request.answer_id)
    _check_values(request)
    if request.verdict == answer_service_pb2.VERDICT_UNSPECIFIED:
        raise InvalidFieldError("verdict", "is not set.", hint="Say VERDICT_CORRECT, _INCOMPLETE or _WRONG.")
    _check_length("comment", request.comment, MAX_COMMENT_CHARS)
    _check_length("expected_source_id", request.expected_source_id, MAX_ID_CHARS)


def page_size_of(page_size: int) -> int:
    """The page size wanted, with its default."""
    _check_range("page_size", page_size, 0, MAX_PAGE_SIZE)
    return page_size or DEFAULT_PAGE_SIZE


def check_apply(request: knowledge_service_pb2.ApplyDocumentRequest) -> None:
    """Check a document of any size; takes a while for a large one, so call it off the event loop.

    Raises:
        InvalidFieldError: names the first field that is wrong.
    """
    _check_values(request)
    document_id = check_id("document.document_id", request.document.document_id)
    check_id("document.content_hash", request.document.content_hash)
    if not request.document.doc_source:
        raise InvalidFieldError("document.doc_source", "is empty.")
    for field in ("publish_date", "effective_date", "expiry_date"):
        _check_date(f"document.{field}", getattr(request.document, field))
    check_id("embedder_fingerprint", request.embedder_fingerprint)
    known: set[str] = set()
    for place, clause in enumerate(request.clauses):
        path = f"clauses[{place}]"
        check_id(f"{path}.source_id", clause.source_id)
        if clause.source_id in known:
            raise InvalidFieldError(f"{path}.source_id", f"{clause.source_id} comes twice.")
        if clause.document_id != document_id:
            raise InvalidFieldError(f"{path}.document_id", f"{clause.document_id!r} is not {document_id}.")
        if not clause.text.strip():
            raise InvalidFieldError(f"{path}.text", "is empty.")
        known.add(clause.source_id)
    for place, reference in enumerate(request.references):
        if reference.source_id not in known:
            raise InvalidFieldError(f"references[{place}].source_id", f"{reference.source_id!r} is no clause of these.")
    _check_vectors(request)


def _check_vectors(request: knowledge_service_pb2.ApplyDocumentRequest) -> None:
    if not request.clauses and not request.vectors:
        return
    if request.dimension <= 0:
        raise InvalidFieldError("dimension", f"{request.dimension} is not a dimension.")
    wanted = len(request.clauses) * request.dimension * np.dtype("<f4").itemsize
    if len(request.vectors) != wanted:
        raise InvalidFieldError(
            "vectors",
            f"{len(request.vectors)} bytes; {len(request.clauses)} clauses of dimension {request.dimension} take "
            f"{wanted}.",
        )
    rows = np.frombuffer(request.vectors, dtype="<f4").reshape(len(request.clauses), request.dimension)
    norms = np.linalg.norm(rows.astype(np.float64), axis=1)
    wrong = np.flatnonzero(~(np.abs(norms - 1) <= NORM_TOLERANCE))
    if wrong.size:
        raise InvalidFieldError("vectors", f"row {wrong[0]} is no unit vector: its length is {norms[wrong[0]]:g}.")


def _check_question(field: str, text: str, most: int) -> None:
    if not text.strip():
        raise InvalidFieldError(field, "is empty.")
    _check_length(field, text, most)


def _check_length(field: str, text: str, most: int) -> None:
    if len(text) > most:
        raise InvalidFieldError(field, f"has {len(text)} characters; at most {most} are taken.")


def _check_date(field: str, text: str) -> None:
    if not text:
        return
    if _ISO_DATE.fullmatch(text):
        try:
            date.fromisoformat(text)
        except ValueError:
            pass
        else:
            return
    raise InvalidFieldError(field, f"{text[:40]!r} is not a date.", hint="Write YYYY-MM-DD.")


def _check_range(field: str, value: float, least: float, most: float, *, what: str = "") -> None:
    if not least <= value <= most:
        raise InvalidFieldError(field, f"{value:g}{' ' + what if what else ''} is not between {least:g} and {most:g}.")


# --- values that protobuf lets through: enum numbers without a name, numbers that are none ------------------------


def _check_values(message: Message, path: str = "") -> None:
    for field, name, enum, nested in _looked_at(message.DESCRIPTOR):
        value = getattr(message, name)
        if field.is_repeated:
            for place, item in enumerate(value):
                _check_value(item, f"{path}{name}[{place}]", enum, nested)
        elif not nested or message.HasField(name):
            _check_value(value, f"{path}{name}", enum, nested)


def _check_value(value: object, path: str, enum: EnumDescriptor | None, nested: bool) -> None:
    if nested:
        assert isinstance(value, Message)
        _check_values(value, f"{path}.")
    elif enum is not None:
        if value not in enum.values_by_number:
            raise InvalidFieldError(path, f"{value} is no value of {enum.name}.")
    elif isinstance(value, float) and not math.isfinite(value):
        raise InvalidFieldError(path, f"{value} is not a number.")


@cache
def _looked_at(descriptor: Descriptor) -> tuple[tuple[FieldDescriptor, str, EnumDescriptor | None, bool], ...]:
    """The fields of a message that hold enums, floating-point numbers, or messages."""
    return tuple(
        (field, field.name, field.enum_type, field.type == FieldDescriptor.TYPE_MESSAGE)
        for field in descriptor.fields
        if field.type
        in {
            FieldDescriptor.TYPE_ENUM,
            FieldDescriptor.TYPE_DOUBLE,
            FieldDescriptor.TYPE_FLOAT,
            FieldDescriptor.TYPE_MESSAGE,
        }
    )
