"""Slots of a question, in the coordinates of the normalised text."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.domain.lexicon import SlotMatch
from trias.v1 import plan_pb2

__all__ = ["missing_slots", "slot_messages"]

# How often such a match is right, as judged on the held-out questions: a listed spelling nearly always, a pattern less.
CONFIDENCE = {"lexicon": 0.97, "pattern": 0.9}


def slot_messages(matches: Sequence[SlotMatch]) -> list[plan_pb2.Slot]:
    """Matches as the contract has them."""
    return [
        plan_pb2.Slot(
            type=match.slot_type,
            text=match.text,
            value=match.value,
            start=match.start,
            end=match.end,
            confidence=CONFIDENCE[match.decided_by],
            decided_by=match.decided_by,
        )
        for match in matches
    ]


def missing_slots(required: Sequence[str], matches: Sequence[SlotMatch]) -> list[str]:
    """The required slot types that no match fills, in order."""
    filled = {match.slot_type for match in matches}
    return [slot_type for slot_type in required if slot_type not in filled]
