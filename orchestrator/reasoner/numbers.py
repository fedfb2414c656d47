"""What a sentence states with each of its numbers: of which matter, under which conditions, in which words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from orchestrator.domain.lexicon import SlotMatch
from orchestrator.domain.quantity import Quantity
from orchestrator.domain.schema import Matter
from orchestrator.reasoner.matters import MatterHit, MatterReader
from orchestrator.reasoner.negation import is_negated
from orchestrator.reasoner.phrases import CLAIM_CHARACTERS, number_phrase, pieces

__all__ = ["StatedNumber", "stated_numbers"]

_INCREMENT = re.compile(
    r"(?:提高|增加|上浮|上调|增长|追加|降低|减少|下调|下浮|减|加|再|延长|缩短|高出|多)\s?(?:至多|最多|不超过|了)?$"
)
_INCREMENT_TO = re.compile(r"(?:提高|增加|上调|降低|下调|调整|延长|缩短)(?:到|至|为)$")
_INCREMENT_REACH = 8
_CONDITION_TAIL = re.compile(r"(?:的?部分|的(?=[，,；;]|$)|之?间|的人员|的职工|的参保)")
_PART_ENDS = "，,；;。"


class StatedNumber(NamedTuple):
    """A number that a sentence states.

    Attributes:
        place: of the quantity among the sentence's, from 0.
        text: the claim, at most `CLAIM_CHARACTERS` long.
        matter: what it states, where the pack knows.
        negated: whether the statement forbids or denies.
        conditions: other numbers of the sentence under which it holds (超过5000元的部分).
        increment: whether it adds to another number (提高5个百分点), or states the value itself.
        span: where the statement stands in the sentence.
    """

    place: int
    quantity: Quantity
    text: str
    matter: Matter | None
    negated: bool
    conditions: tuple[Quantity, ...]
    increment: bool
    span: tuple[int, int]


def stated_numbers(
    text: str,
    quantities: Sequence[Quantity],
    hits: Sequence[MatterHit],
    wider: Sequence[Sequence[MatterHit]],
    mentions: Sequence[SlotMatch],
) -> tuple[StatedNumber, ...]:
    """What a sentence states, conditions apart, in order.

    Args:
        text: the sentence.
        quantities: its own.
        hits: the matters that it names.
        wider: those of its lead-in and of the headings above it.
        mentions: the scope values that it names, those of the weightiest dimension first.
    """
    conditional = [_is_condition(text, quantity) for quantity in quantities]
    spans = [span for segment in pieces(text) for span in segment]
    stated = []
    for index, quantity in enumerate(quantities):
        if conditional[index]:
            continue
        hit = MatterReader.of_quantity(quantity, hits, wider)
        start, end = _statement(text, quantity, quantities[index - 1] if index else None)
        before = zip(quantities[:index], conditional, strict=False)
        stated.append(
            StatedNumber(
                place=index,
                quantity=quantity,
                text=number_phrase(text, quantity, hit, mentions, CLAIM_CHARACTERS, spans=spans),
                matter=hit.matter if hit else None,
                negated=is_negated(text[start:end]),
                conditions=tuple(other for other, when in before if when and other.end <= quantity.start),
                increment=_is_increment(text, quantity),
                span=(start, end),
            )
        )
    return tuple(stated)


def _is_condition(text: str, quantity: Quantity) -> bool:
    """超过5000元的部分, 连续缴费满10年的: a number that says when, not what."""
    return _CONDITION_TAIL.match(text, quantity.phrase_end) is not None


def _is_increment(text: str, quantity: Quantity) -> bool:
    before = text[max(0, quantity.phrase_start - _INCREMENT_REACH) : quantity.phrase_start]
    return bool(_INCREMENT.search(before)) and not _INCREMENT_TO.search(before)


def _statement(text: str, quantity: Quantity, previous: Quantity | None) -> tuple[int, int]:
    """The part of the sentence that states a quantity: from the comma (or the number) before it to the next."""
    start = max(text.rfind(mark, 0, quantity.phrase_start) for mark in _PART_ENDS) + 1
    if previous is not None:
        start = max(start, previous.phrase_end)
    ends = [place for mark in _PART_ENDS if (place := text.find(mark, quantity.phrase_end)) >= 0]
    return start, min(ends, default=len(text))
