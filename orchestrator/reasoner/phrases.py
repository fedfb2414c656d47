"""Short phrases cut out of sentences: pieces of the sentence, in its order, each cut where a word ends.

Nothing is added: a claim's text holds only characters of its sentence, in the sentence's order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from orchestrator.domain.lexicon import SlotMatch
from orchestrator.domain.quantity import Quantity
from orchestrator.reasoner.matters import MatterHit

__all__ = ["key_phrase", "number_phrase", "pieces"]

_PUNCTUATION = "，,；;。：:、！？!?（）()《》“”\"' \t\n　|"
# Words that open a new piece: a phrase may be cut before them.
_OPENERS = (
    "应当|可以|不得|必须|不予|禁止|严禁|需要|无需|有权|负责|依照|按照|根据|由|向|在|自|对|经|将|并|或者|以及|和|与|为|是指|包括|从"
    "|给予|处以|并处|责令|超过|不超过"
)
# Words after which a phrase may be cut.
_CLOSERS = "的|时|后|前|内|之日起|以上|以下|以内|等"
_PIECE = re.compile(
    rf"(?:{_OPENERS})?(?:(?!{_OPENERS})[^{re.escape(_PUNCTUATION)}])*?(?:(?:{_CLOSERS})(?!{_CLOSERS})|(?={_OPENERS}|[{re.escape(_PUNCTUATION)}]|$))"
)
_MODALS = re.compile(r"不得|应当|可以|必须|不予|禁止|严禁|无需|无须|有权|不纳入|不享受|不适用|是指|负责|给予|责令|予以")
_SUBJECT_END = re.compile(r"应当|可以|必须|不得|需要|有权|负责|不予")


def pieces(text: str) -> list[tuple[int, int]]:
    """Where a sentence can be taken apart: runs between punctuation, cut at words that open or close a phrase."""
    spans: list[tuple[int, int]] = []
    position = 0
    while position < len(text):
        if text[position] in _PUNCTUATION:
            position += 1
            continue
        match = _PIECE.match(text, position)
        end = match.end() if match and match.end() > position else position + 1
        spans.append((position, end))
        position = end
    return spans


def number_phrase(
    text: str, quantity: Quantity, matter: MatterHit | None, mentions: Sequence[SlotMatch], limit: int
) -> str:
    """A claim about a number: the number with its bound, then what it is about and for whom, as far as they fit.

    Args:
        text: the sentence.
        quantity: the number.
        matter: what it states, where the pack knows.
        mentions: scope values in the sentence.
        limit: characters at most; a number with its bound that is longer is cut to the number.
    """
    start, end = quantity.phrase_start, quantity.phrase_end
    if end - start > limit:
        start, end = quantity.start, min(quantity.end, quantity.start + limit)
    chosen = [(start, end)]
    if matter is not None and matter.start >= 0:
        _add(chosen, (matter.start, matter.end), limit)
        for mention in sorted(_nearest(mentions, quantity), key=lambda item: item.start, reverse=True):
            _add(chosen, (mention.start, mention.end), limit)
    spans = pieces(text)
    after = next((span for span in spans if span[0] <= end < span[1] or span[0] == end), None)
    if after is not None and text[end : end + 1] not in _PUNCTUATION:
        _add(chosen, (end, after[1]), limit)
    before = [span for span in spans if span[1] <= start or span[0] < start < span[1]]
    if before and matter is None:
        nearest = (before[-1][0], min(before[-1][1], start))
        _add(chosen, nearest, limit)
        _add(chosen, _subject(text, start), limit)
    return "".join(text[a:b] for a, b in sorted(chosen))


def key_phrase(text: str, grams: set[str], limit: int) -> tuple[str, tuple[int, int]]:
    """A claim of a sentence without a number: the pieces that say most, at most ``limit`` characters.

    Returns:
        The phrase, and the span of the sentence that it was taken from.
    """
    spans = pieces(text)
    if not spans:
        return text[:limit], (0, min(limit, len(text)))

    def worth(span: tuple[int, int]) -> float:
        piece = text[span[0] : span[1]]
        found = sum(1 for index in range(len(piece) - 1) if piece[index : index + 2] in grams)
        return found + (1.5 if _MODALS.search(piece) else 0.0)

    chosen: list[tuple[int, int]] = []
    for span in sorted(spans, key=lambda item: (-worth(item), item[0])):
        _add(chosen, span, limit)
    if not chosen:
        best = max(spans, key=lambda item: (worth(item), -item[0]))
        chosen = [(best[0], best[0] + limit)]
    chosen.sort()
    return "".join(text[a:b] for a, b in chosen), (chosen[0][0], chosen[-1][1])


def _add(chosen: list[tuple[int, int]], span: tuple[int, int], limit: int) -> None:
    """Add a span where it fits; characters that are chosen already are not chosen twice."""
    start, end = span
    if start >= end or any(start < b and a < end for a, b in chosen):
        return
    if sum(b - a for a, b in chosen) + end - start <= limit:
        chosen.append(span)


def _nearest(mentions: Iterable[SlotMatch], quantity: Quantity) -> list[SlotMatch]:
    """The last value before the number in each dimension."""
    nearest: dict[str, SlotMatch] = {}
    for mention in mentions:
        if mention.end <= quantity.start:
            nearest[mention.slot_type] = mention
    return list(nearest.values())


def _subject(text: str, before: int) -> tuple[int, int]:
    """Who the sentence is about: what stands before its first modal."""
    match = _SUBJECT_END.search(text, 0, before)
    if match is None:
        return (0, 0)
    start = max((text.rfind(mark, 0, match.start()) + 1 for mark in _PUNCTUATION), default=0)
    return (start, match.start())
