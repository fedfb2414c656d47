"""How alike two sentences are, and which number of one stands where which number of the other does."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from operator import add

from orchestrator.domain.quantity import Quantity

__all__ = ["aligned_quantities", "coverage", "dice", "grams_of", "plain"]

_NOISE = re.compile(r"[\s，,。；;：:、！？!?（）()《》“”\"'|　\x00]+")
# Numbers stand as one sign each in what is aligned; the sign is of no text.
_SLOT = "\ue000"


def plain(text: str) -> str:
    """The text without spaces and punctuation."""
    return _NOISE.sub("", text)


def grams_of(text: str) -> frozenset[str]:
    """The character bigrams of a text, punctuation apart."""
    letters = plain(text)
    return frozenset(map(add, letters, letters[1:])) or frozenset(letters)


def dice(first: frozenset[str], second: frozenset[str]) -> float:
    """2·|A∩B| / (|A|+|B|), in [0,1]."""
    total = len(first) + len(second)
    return 2 * len(first & second) / total if total else 0.0


def coverage(part: str, whole: str) -> float:
    """The share of a text's bigrams that another text holds, in [0,1]; 1 for a text without any."""
    letters = plain(part)
    container = plain(whole)
    grams = [letters[index : index + 2] for index in range(len(letters) - 1)]
    if not grams:
        return 1.0 if letters in container else 0.0
    return sum(1 for gram in grams if gram in container) / len(grams)


def aligned_quantities(
    first: str, quantities: Sequence[Quantity], second: str, others: Sequence[Quantity]
) -> set[tuple[int, int]]:
    """Which numbers stand at the same place of two sentences.

    Returns:
        Pairs of indexes into ``quantities`` and ``others``. With one number of a kind in each, it is that pair
        where the words beside them agree; else the sentences are aligned as wholes.
    """
    one, other = _with_slots(first, quantities), _with_slots(second, others)
    pairs: set[tuple[int, int]] = set()
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    ranks = (_slot_ranks(one), _slot_ranks(other))
    for block in matcher.get_matching_blocks():
        for offset in range(block.size):
            if one[block.a + offset] == _SLOT:
                pairs.add((ranks[0][block.a + offset], ranks[1][block.b + offset]))
    return pairs


def _with_slots(text: str, quantities: Sequence[Quantity]) -> str:
    parts, position = [], 0
    for quantity in quantities:
        parts += [text[position : quantity.phrase_start], _SLOT]
        position = quantity.phrase_end
    return "".join([*parts, text[position:]])


def _slot_ranks(text: str) -> dict[int, int]:
    ranks: dict[int, int] = {}
    for index, character in enumerate(text):
        if character == _SLOT:
            ranks[index] = len(ranks)
    return ranks
