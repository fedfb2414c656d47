"""How far a passage can be trusted: whether its document holds on the as-of date, and that it bears on the question."""

from __future__ import annotations

import math
from datetime import date

from orchestrator.knowledge.clause import Document, DocumentStatus
from orchestrator.settings import RetrieverSettings
from trias.v1 import passage_pb2

__all__ = ["INVALID", "as_of", "confidence_of", "contradiction_of", "validity_of"]

INVALID = frozenset({passage_pb2.VALIDITY_EXPIRED, passage_pb2.VALIDITY_REPEALED})

# An amended document still holds where the amendment is silent; a repealed one does not hold at all.
_CONTRADICTED = {
    passage_pb2.VALIDITY_REPEALED: 1.0,
    passage_pb2.VALIDITY_EXPIRED: 1.0,
    passage_pb2.VALIDITY_AMENDED: 0.5,
    passage_pb2.VALIDITY_NOT_YET_EFFECTIVE: 0.5,
}


def as_of(plan_date: str) -> str:
    """The date that validity is checked against, YYYY-MM-DD: the plan's, else today."""
    return plan_date or date.today().isoformat()


def validity_of(document: Document, on: str, superseded_from: str = "") -> passage_pb2.Validity:
    """Whether a document holds on a date. ISO dates compare as strings; an empty one is unknown.

    Args:
        document: the document, with the status that the library gives it.
        on: YYYY-MM-DD.
        superseded_from: when the document that repeals or amends this one takes effect; empty where unknown.
    """
    superseded = not superseded_from or superseded_from <= on
    if document.status is DocumentStatus.REPEALED and superseded:
        return passage_pb2.VALIDITY_REPEALED
    if document.expiry_date and document.expiry_date < on:
        return passage_pb2.VALIDITY_EXPIRED
    starts = document.effective_date or document.publish_date
    if starts and starts > on:
        return passage_pb2.VALIDITY_NOT_YET_EFFECTIVE
    if document.status is DocumentStatus.AMENDED and superseded:
        return passage_pb2.VALIDITY_AMENDED
    if not starts and document.status is DocumentStatus.UNKNOWN:
        return passage_pb2.VALIDITY_UNKNOWN
    return passage_pb2.VALIDITY_IN_FORCE


def contradiction_of(validity: passage_pb2.Validity) -> float:
    """How far the rest of the library contradicts a document of that validity, in [0,1]."""
    return _CONTRADICTED.get(validity, 0.0)


def confidence_of(final: float, settings: RetrieverSettings) -> float:
    """How far a passage with that final score can be trusted to bear on the question, in [0,1].

    A logistic curve, 1/(1 + exp(−slope·(final − midpoint))), fitted to labelled questions (`trias eval fit`) so that
    the best passage's value is the probability that the ten best hold an answer.
    """
    return 1.0 / (1.0 + math.exp(-settings.confidence_slope * (final - settings.confidence_midpoint)))
