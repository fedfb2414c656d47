"""Finds the values of a pack's slot types in a text: longest spelling first, then patterns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.domain.pack import DomainPack

__all__ = ["SlotMatch", "SlotMatcher", "fold"]

# Full-width ASCII (！ to ～) and the ideographic space, as half-width: one character for one, so offsets stay.
_HALF_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20}
_END = ""


@dataclass(frozen=True, slots=True)
class SlotMatch:
    """A value found: characters [start, end) of the text. ``decided_by`` is "lexicon" or "pattern"."""

    slot_type: str
    text: str
    value: str
    start: int
    end: int
    decided_by: str


def fold(text: str) -> str:
    """Full-width to half-width and upper to lower case, keeping the length (offsets hold in both)."""
    halved = text.translate(_HALF_WIDTH)
    lowered = halved.lower()
    if len(lowered) == len(halved):
        return lowered
    return "".join(low if len(low := char.lower()) == 1 else char for char in halved)


class SlotMatcher:
    """The slot lexicon of one pack as a trie, with its patterns. Immutable: safe to share between tasks and threads."""

    def __init__(self, pack: DomainPack) -> None:
        self._trie: dict[str, Any] = {}
        self._patterns: list[tuple[str, re.Pattern[str], str]] = []
        for slot in pack.slot_types.values():
            for entry in slot.values:
                for spelling in (entry.value, *entry.synonyms):
                    self._add(fold(spelling), slot.slot_type, entry.value)
            self._patterns.extend((slot.slot_type, re.compile(item.pattern), item.value) for item in slot.patterns)

    def _add(self, spelling: str, slot_type: str, value: str) -> None:
        node = self._trie
        for char in spelling:
            node = node.setdefault(char, {})
        # One spelling may name values of several types (上年度: period, …): all are kept.
        node.setdefault(_END, []).append((slot_type, value))

    def find(self, text: str) -> list[SlotMatch]:
        """All values named in ``text``, in order; of overlapping ones the longest, a spelling before a pattern."""
        folded = fold(text)
        found = [*self._spelled(text, folded), *self._patterned(text, folded)]
        return _without_overlaps(found)

    def _spelled(self, text: str, folded: str) -> Iterable[SlotMatch]:
        for start in range(len(folded)):
            node = self._trie
            end = start
            best: tuple[int, Sequence[tuple[str, str]]] | None = None
            while end < len(folded) and folded[end] in node:
                node = node[folded[end]]
                end += 1
                if _END in node:
                    best = (end, node[_END])
            if best is not None:
                for slot_type, value in best[1]:
                    yield SlotMatch(slot_type, text[start : best[0]], value, start, best[0], "lexicon")

    def _patterned(self, text: str, folded: str) -> Iterable[SlotMatch]:
        for slot_type, pattern, template in self._patterns:
            for match in pattern.finditer(folded):
                written = text[match.start() : match.end()]
                value = match.expand(template) if template else written
                yield SlotMatch(slot_type, written, value, match.start(), match.end(), "pattern")


def _without_overlaps(found: Sequence[SlotMatch]) -> list[SlotMatch]:
    """Longest first; a match is kept where no longer one overlaps it (the same span may hold several types)."""
    ranked = sorted(found, key=lambda match: (match.start - match.end, match.decided_by != "lexicon", match.start))
    kept: list[SlotMatch] = []
    taken: set[int] = set()
    types_at: dict[tuple[int, int], set[str]] = {}
    for match in ranked:
        span = (match.start, match.end)
        if span in types_at:
            if match.slot_type in types_at[span]:
                continue
        elif any(place in taken for place in range(*span)):
            continue
        types_at.setdefault(span, set()).add(match.slot_type)
        taken.update(range(*span))
        kept.append(match)
    return sorted(kept, key=lambda match: (match.start, match.slot_type))
