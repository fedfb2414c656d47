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
# Words that open a new piece: a phrase may be cut before them. Not where they are part of another word (参与, 行为).
_OPENERS = (
    r"应当|可以|不得|必须|不予|禁止|严禁|需要|无需|有权|负责|依照|按照|根据|或者|以及|是指|包括|给予|处以|并处|责令|不超过|超过"
    r"|(?<![参给])与(?!会)|(?<!共)和(?!解)|(?<![行认作成称视])为(?!了)|(?<![自理缘])由|(?<![未已曾])经(?![营济过验办费])|从(?![事业])"
    r"|(?<![各亲])自(?![己然治愿主由行身动])|(?<![应])对(?![象外方口于])|(?<![现存所])在(?![职校])|(?<![方倾])向(?!导)|将(?!来)|(?<!合)并(?![购联且])"
)
# Words after which a phrase may be cut.
_CLOSERS = "的|之日起|以上|以下|以内|等|[时后前内](?=[，,；;。：:]|$)"
_CUTS = re.compile(rf"(?P<stop>[{re.escape(_PUNCTUATION)}]+)|(?P<opens>{_OPENERS})|(?:{_CLOSERS})")
# An item's number, and words that join a phrase to what is left out.
_LEADING = re.compile(
    r"^(?:[（(]?[一二三四五六七八九十\d]{1,3}[)）、.．]\s?|或者|以及|并且|并|和|与|但是|但|且|而|其中)+"
)
_MODALS = re.compile(r"不得|应当|可以|必须|不予|禁止|严禁|无需|无须|有权|不纳入|不享受|不适用|是指|负责|给予|责令|予以")
_SUBJECT_END = re.compile(r"应当|可以|必须|不得|需要|有权|负责|不予")


def pieces(text: str, start: int = 0) -> list[list[tuple[int, int]]]:
    """Where a sentence can be taken apart: for each run between punctuation, the spans of its pieces."""
    segments: list[list[tuple[int, int]]] = [[]]
    for match in _CUTS.finditer(text, start):
        cut = match.start() if match["stop"] or match["opens"] else match.end()
        if start < cut:
            segments[-1].append((start, cut))
            start = cut
        if match["stop"]:
            segments.append([])
            start = match.end()
    if start < len(text):
        segments[-1].append((start, len(text)))
    return [segment for segment in segments if segment]


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
    spans = [span for segment in pieces(text) for span in segment]
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
    """A claim of a sentence without a number: the run of pieces that says most, at most ``limit`` characters.

    Args:
        text: the sentence.
        grams: bigrams of the question, which make a run worth more.
        limit: characters at most.

    Returns:
        The phrase, and the span of the sentence that it was taken from.
    """
    opening = _LEADING.match(text)
    first = opening.end() if opening else 0
    best: tuple[float, int, int, int] | None = None
    for spans in pieces(text, first):
        for left, (start, _) in enumerate(spans):
            for _, end in spans[left:]:
                if end - start > limit:
                    break
                run = text[start:end]
                known = sum(1 for index in range(len(run) - 1) if run[index : index + 2] in grams)
                worth = known + (2.0 if _MODALS.search(run) else 0.0) - (1.0 if _LEADING.match(run) else 0.0)
                # Of two runs that say as much, the longer one is the more complete.
                key = (worth, end - start, -start, end)
                if best is None or key > best:
                    best = key
    # Where not one piece is short enough: the start of the sentence, cut to length.
    span = (first, min(len(text), first + limit)) if best is None else (-best[2], best[3])
    phrase = text[span[0] : span[1]]
    joint = _LEADING.match(phrase)
    if joint and joint.end() < len(phrase):
        span = (span[0] + joint.end(), span[1])
    return text[span[0] : span[1]], span


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
