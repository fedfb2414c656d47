"""Slots of a question, in the coordinates of the normalised text: lexicon and patterns first, a model for the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from orchestrator.domain.lexicon import SlotMatch, SlotMatcher, fold
from orchestrator.domain.pack import DomainPack
from orchestrator.inference.models import SlotSpan
from trias.v1 import plan_pb2

__all__ = ["SlotReader", "missing_slots", "slot_messages"]

# How often such a match is right, as judged on the held-out questions: a listed spelling nearly always, a pattern less,
# a model's span less again.
CONFIDENCE = {"lexicon": 0.97, "pattern": 0.9, "model": 0.8}
# A model's span that it is less sure of than this is dropped; more is asked of one that stands for itself. Chosen with
# the validation wordings and the development questions in tests/router.
LEAST_SURE = 0.6
LEAST_SURE_OF_NEW = 0.85
FEWEST_CHARS_OF_NEW = 2
# Dice's coefficient of a span's characters with those of a known spelling: one slip in four characters is forgiven.
SAME_WORD = 0.75
FEWEST_CHARS_TO_GUESS = 3
# Pieces of the tokenizer do not keep to the borders of slots: words that a span may have caught on its edges.
_LEADING = '在去到是有得了的和跟与及、，,“"（(我他她把给用从就问'
_TRAILING = '的了、，,。？?！!”"）)和跟与及在能报要是'


class SlotReader:
    """Fills the slots of a pack from a text, alone or with what a model saw in it. Immutable: safe to share.

    A model's span counts where the lexicon found nothing. It must mean something: a spelling that the pack knows, also
    one of the colloquial ones that the lexicon alone would not trust, a slip of one, or, for an open type, itself.
    """

    def __init__(self, pack: DomainPack) -> None:
        self.find = SlotMatcher(pack).find
        self._open = frozenset(name for name, slot in pack.slot_types.items() if slot.open)
        self._known: dict[str, dict[str, str]] = {
            name: {
                fold(spelling): entry.value
                for entry in slot.values
                for spelling in (entry.value, *entry.synonyms, *entry.colloquial)
            }
            for name, slot in pack.slot_types.items()
        }

    def complete(self, listed: Sequence[SlotMatch], text: str, spans: Iterable[SlotSpan]) -> list[SlotMatch]:
        """The slots of ``text``, in order.

        Args:
            listed: those of the lexicon, as `find` gives them.
            text: where they stand.
            spans: what a model saw there.
        """
        found = list(listed)
        taken = {place for match in found for place in range(match.start, match.end)}
        for match in self.resolve(text, spans):
            if not taken & set(range(match.start, match.end)):
                taken.update(range(match.start, match.end))
                found.append(match)
        return sorted(found, key=lambda match: (match.start, match.slot_type))

    def resolve(self, text: str, spans: Iterable[SlotSpan]) -> list[SlotMatch]:
        """What the model's spans alone stand for; those that it is unsure of, or that mean nothing, are left out."""
        sure = (span for span in spans if span.confidence >= LEAST_SURE and span.slot_type in self._known)
        return [match for span in sure if (match := self._resolve(text, span)) is not None]

    def _resolve(self, text: str, span: SlotSpan) -> SlotMatch | None:
        """The value that a span stands for, and where exactly; None where it means nothing to the pack."""
        known = self._known[span.slot_type]
        # What the span holds and what stands around it, so that a border that is off by a piece still finds its word.
        inside = self._listed(text, span.start, span.end, span.slot_type, known)
        if inside is not None:
            return inside
        start, end = _trimmed(text, span.start, span.end)
        if start >= end:
            return None
        written = fold(text[start:end])
        value = _alike(written, known)
        if value is None and span.slot_type in self._open and _may_be_new(written, span):
            value = text[start:end]
        return SlotMatch(span.slot_type, text[start:end], value, start, end, "model") if value else None

    @staticmethod
    def _listed(text: str, start: int, end: int, slot_type: str, known: dict[str, str]) -> SlotMatch | None:
        """The longest spelling within [start, end) of the text."""
        folded = fold(text[start:end])
        for length in range(len(folded), 0, -1):
            for place in range(len(folded) - length + 1):
                value = known.get(folded[place : place + length])
                if value is not None:
                    first, last = start + place, start + place + length
                    return SlotMatch(slot_type, text[first:last], value, first, last, "model")
        return None


def _may_be_new(written: str, span: SlotSpan) -> bool:
    """Whether a span may be a value that no list has."""
    return (
        span.confidence >= LEAST_SURE_OF_NEW
        and len(written) >= FEWEST_CHARS_OF_NEW
        and any(char.isalnum() for char in written)
    )


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and (text[start] in _LEADING or text[start].isspace()):
        start += 1
    while start < end and (text[end - 1] in _TRAILING or text[end - 1].isspace()):
        end -= 1
    return start, end


def _alike(written: str, known: dict[str, str]) -> str | None:
    """The value of the spelling that ``written`` is a slip of."""
    if len(written) < FEWEST_CHARS_TO_GUESS:
        return None
    letters = Counter(written)
    best, spelling = max(
        ((2 * (letters & Counter(one)).total() / (len(written) + len(one)), one) for one in known), default=(0.0, "")
    )
    return known[spelling] if best >= SAME_WORD else None


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
