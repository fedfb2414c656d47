"""Short phrases cut out of sentences: pieces of the sentence, in its order, each cut where a word ends.

Nothing is added: a claim's text holds only characters of its sentence, in the sentence's order.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Container, Sequence
from itertools import accumulate
from operator import add

from orchestrator.domain.lexicon import SlotMatch
from orchestrator.domain.quantity import Quantity
from orchestrator.reasoner.matters import MatterHit

__all__ = ["CLAIM_CHARACTERS", "Run", "key_phrase", "number_phrase", "pieces", "runs_of"]

# A claim is no longer than this.
CLAIM_CHARACTERS = 15
Run = tuple[int, int, float]
"""Characters [start, end) of a sentence, and what they are worth whatever the question."""

_PUNCTUATION = "，,；;。：:、！？!?（）()《》“”\"' \t\n　|"
# Words that open a new piece: a phrase may be cut before them. Not where they are part of another word (参与, 行为).
_OPENERS = (
    r"应当|可以|不得|必须|不予|禁止|严禁|需要|无需|有权|负责|依照|按照|根据|或者|以及|是指|包括|给予|处以|并处|责令|不超过|超过"
    r"|(?<![参给])与(?!会)|(?<!共)和(?!解)|(?<![行认作成称视])为(?!了)|(?<![自理缘])由|(?<![未已曾])经(?![营济过验办费])|从(?![事业])"
    r"|(?<![各亲])自(?![己然治愿主由行身动])|(?<![应])对(?![象外方口于])|(?<![现存所])在(?![职校])|(?<![方倾])向(?!导)|将(?!来)|(?<!合)并(?![购联且])"
)
# Words after which a phrase may be cut.
_CLOSERS = "的|之日起|以上|以下|以内|等|[时后前内](?=[，,；;。：:]|$)"
# What one of these begins with: nothing else is tried elsewhere in the sentence.
_CUT_STARTS = "应可不必禁严需无有负依按根或以是包给处并责超与和为由经从自对在向将的之等时后前内"
_CUTS = re.compile(
    rf"(?=[{re.escape(_PUNCTUATION)}{_CUT_STARTS}])(?:(?P<stop>[{re.escape(_PUNCTUATION)}]+)|(?P<opens>{_OPENERS})|(?:{_CLOSERS}))"
)
# An item's number, and words that join a phrase to what is left out.
_LEADING = re.compile(
    r"(?:[（(]?[一二三四五六七八九十\d]{1,3}[)）、.．]\s?|或者|以及|并且|并|和|与|但是|但|且|而|其中)+"
)
_MODALS = re.compile(r"不得|应当|可以|必须|不予|禁止|严禁|无需|无须|有权|不纳入|不享受|不适用|是指|负责|给予|责令|予以")
# A shorter term than this says too little on its own.
_LEAST_TERM = 4
# What a modal (应当, 不得) is worth, in bigrams of the question.
_MODAL_WORTH = 2.0
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
    text: str,
    quantity: Quantity,
    matter: MatterHit | None,
    mentions: Sequence[SlotMatch],
    limit: int,
    *,
    spans: Sequence[tuple[int, int]],
) -> str:
    """A claim about a number: the number with its bound, then what it is about and for whom, as far as they fit.

    Args:
        text: the sentence.
        quantity: the number.
        matter: what it states, where the pack knows.
        mentions: scope values in the sentence, those of the weightiest dimension first.
        limit: characters at most; a number with its bound that is longer is cut to the number.
        spans: the pieces of the sentence, in order.
    """
    start, end = quantity.phrase_start, quantity.phrase_end
    if end - start > limit:
        start, end = quantity.start, min(quantity.end, quantity.start + limit)
    chosen = [(start, end)]
    if matter is not None and matter.start >= 0:
        _add(chosen, _shortest_term(text, matter), limit)
        for mention in _nearest(mentions, quantity):
            _add(chosen, (mention.start, mention.end), limit)
    # The last piece that begins before the end, or at it, and the last one that begins before the number.
    last, before = (bisect_right(spans, (place, sys.maxsize)) - 1 for place in (end, start - 1))
    if last >= 0 and end < spans[last][1] and text[end] not in _PUNCTUATION:
        _add(chosen, (end, spans[last][1]), limit)
    if before >= 0 and matter is None:
        _add(chosen, (spans[before][0], min(spans[before][1], start)), limit)
        _add(chosen, _subject(text, start), limit)
    return "".join(text[a:b] for a, b in sorted(chosen))


def key_phrase(
    text: str,
    grams: Container[str],
    limit: int,
    required: tuple[int, int] | None = None,
    runs: Sequence[Run] | None = None,
) -> tuple[str, tuple[int, int]]:
    """A claim of a sentence without a number: the run of pieces that says most, at most ``limit`` characters.

    Args:
        text: the sentence.
        grams: bigrams of the question, which make a run worth more.
        limit: characters at most.
        required: words that may not be dropped: what forbids or denies.
        runs: what `runs_of` says of the sentence, where it is known already.

    Returns:
        The phrase, and the span of the sentence that it was taken from.
    """
    span = _best_run(text, grams, limit, required, runs_of(text, limit, required) if runs is None else runs)
    joint = _LEADING.match(text, *span)
    if joint and joint.end() < span[1]:
        span = (joint.end(), span[1])
    if required is None or _holds(span, required):
        return text[span[0] : span[1]], span
    if span[0] < required[1] and required[0] < span[1]:
        span = (required[0], min(len(text), required[0] + limit))
        return text[span[0] : span[1]], span
    ends = sorted((required, span))
    return "".join(text[start:end] for start, end in ends), (ends[0][0], ends[-1][1])


def runs_of(text: str, limit: int, required: tuple[int, int] | None = None) -> tuple[Run, ...]:
    """The runs of neighbouring pieces of a sentence that a claim can be made of, whatever the question.

    Args:
        text: the sentence.
        limit: characters at most.
        required: words that a claim may not drop: a run without them must leave room for them.
    """
    first = _first(text)
    room = _room(limit, required)
    has_modal = _MODALS.search(text, first) is not None
    runs: list[Run] = []
    for spans in pieces(text, first):
        for left, (start, _) in enumerate(spans):
            has_leading = _LEADING.match(text, start, spans[-1][1]) is not None
            for _, end in spans[left:]:
                if end - start > limit:
                    break
                complete = required is None or _holds((start, end), required)
                if not complete and end - start > room:
                    continue
                worth = _MODAL_WORTH if has_modal and complete and _MODALS.search(text, start, end) else 0.0
                runs.append((start, end, worth - (has_leading and _LEADING.match(text, start, end) is not None)))
    return tuple(runs)


def _best_run(
    text: str, grams: Container[str], limit: int, required: tuple[int, int] | None, runs: Sequence[Run]
) -> tuple[int, int]:
    """The run that holds most of the question's bigrams; the longer one of equals, then the earlier one."""
    if not runs:
        # Not one piece is short enough: the start of the sentence, cut to length.
        first = _first(text)
        return first, min(len(text), first + _room(limit, required))
    # known[i]: how many of the question's bigrams begin before i.
    known = list(accumulate(map(grams.__contains__, map(add, text, text[1:])), initial=0))
    best = max(runs, key=lambda run: (known[run[1] - 1] - known[run[0]] + run[2], run[1] - run[0], -run[0]))
    return best[0], best[1]


def _first(text: str) -> int:
    """Where a sentence begins behind its item's number and the words that join it to what is left out."""
    opening = _LEADING.match(text)
    return opening.end() if opening else 0


def _room(limit: int, required: tuple[int, int] | None) -> int:
    return limit - (required[1] - required[0] if required else 0)


def _holds(span: tuple[int, int], inner: tuple[int, int]) -> bool:
    return span[0] <= inner[0] and inner[1] <= span[1]


def _add(chosen: list[tuple[int, int]], span: tuple[int, int], limit: int) -> None:
    """Add a span where it fits; characters that are chosen already are not chosen twice."""
    start, end = span
    if start >= end or any(start < b and a < end for a, b in chosen):
        return
    if sum(b - a for a, b in chosen) + end - start <= limit:
        chosen.append(span)


def _shortest_term(text: str, matter: MatterHit) -> tuple[int, int]:
    """The matter in the fewest of the sentence's own words: 支付比例 of 统筹基金支付比例."""
    found = text[matter.start : matter.end]
    terms = [term for term in matter.matter.all_terms if len(term) >= _LEAST_TERM and found.endswith(term)]
    return (matter.end - min(map(len, terms)), matter.end) if terms else (matter.start, matter.end)


def _nearest(mentions: Sequence[SlotMatch], quantity: Quantity) -> list[SlotMatch]:
    """The last value before the number in each dimension, in the order of ``mentions``' dimensions."""
    nearest: dict[str, SlotMatch] = {}
    for mention in sorted(mentions, key=lambda item: item.start):
        if mention.end <= quantity.start:
            nearest[mention.slot_type] = mention
    order = list(dict.fromkeys(mention.slot_type for mention in mentions))
    return [nearest[dimension] for dimension in order if dimension in nearest]


def _subject(text: str, before: int) -> tuple[int, int]:
    """Who the sentence is about: what stands before its first modal."""
    match = _SUBJECT_END.search(text, 0, before)
    if match is None:
        return (0, 0)
    start = max((text.rfind(mark, 0, match.start()) + 1 for mark in _PUNCTUATION), default=0)
    return (start, match.start())
