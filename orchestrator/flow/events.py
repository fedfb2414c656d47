"""A question as the flow takes it, and what the flow says while it works: immutable, in order of time."""

from __future__ import annotations

from dataclasses import dataclass

from trias.v1 import answer_service_pb2, common_pb2, plan_pb2

__all__ = ["Event", "Found", "Planned", "Question", "Replied"]


@dataclass(frozen=True, slots=True)
class Question:
    """One question with its options, checked already.

    Attributes:
        text: as asked.
        domain: the domain pack; empty means the configured default.
        as_of_date: YYYY-MM-DD; empty means today, unless the question names a date.
        top_k: passages to reason over; 0 means the configured number.
        max_tier: the last tier wanted, ``TIER_FAST`` or ``TIER_DEEP``.
    """

    text: str
    domain: str = ""
    as_of_date: str = ""
    top_k: int = 0
    skip_rewrite: bool = False
    max_tier: common_pb2.Tier = common_pb2.TIER_DEEP


@dataclass(frozen=True, slots=True)
class Planned:
    """The plan is made; comes again where a follow-up refined it."""

    plan: plan_pb2.Plan


@dataclass(frozen=True, slots=True)
class Found:
    """The passages that the answers are made of; comes again where a follow-up found more."""

    retrieved: answer_service_pb2.Retrieved


@dataclass(frozen=True, slots=True)
class Replied:
    """One tier's answer. The last event of a question is the answer that is not provisional.

    Attributes:
        trace: what happened until then, recoverable faults included.
    """

    answered: answer_service_pb2.Answered
    trace: tuple[answer_service_pb2.TraceEntry, ...]

    @property
    def final(self) -> bool:
        """Whether nothing comes after it."""
        return not self.answered.answer.provisional


Event = Planned | Found | Replied
