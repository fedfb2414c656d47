"""Finds the values of a pack's slot types in a text: longest spelling first, then patterns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.domain.folding import Folding
from orchestrator.domain.pack import DomainPack

__all__ = ["SlotMatch", "SlotMatcher", "fold"]

# Full-width ASCII (！ to ～) and the ideographic space, as half-width.
_half_width = Folding({chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)} | {"\u3000": " "})
_END = ""


@dataclass(frozen=True, slots=True)
class SlotMatch:
    """A value found: characters [start, end) of the text. ``decided_by`` is "lexicon", "pattern" or "model"."""

    slot_type: str
    text: str
    value: str
    start: int
    end: int
    decided_by: str


def fold(text: str) -> str:
    """Full-width to half-width and upper to lower case, keeping the length (offsets hold in both)."""
    halved = _half_width(text)
    lowered = halved.lower()
    if len(lowered) == len(halved):
        return lowered
    return "".join(low if len(low := char.lower()) == 1 else char for char in halved)


class SlotMatcher:
    """The slot lexicon of one pack as one expression, with its patterns.

    Immutable: safe to share between tasks and threads.

    Args:
        pack: with the slot types.
        colloquial: also take colloquial spellings at their word, which only holds where the text is known to fit.
    """

    def __init__(self, pack: DomainPack, *, colloquial: bool = False) -> None:
        # One spelling may name values of several types (上年度: period, …): all are kept.
        self._named: dict[str, list[tuple[str, str]]] = {}
        self._patterns: list[tuple[str, re.Pattern[str], str]] = []
        for slot in pack.slot_types.values():
            for entry in slot.values:
                for spelling in (entry.value, *entry.synonyms, *(entry.colloquial if colloquial else ())):
                    self._named.setdefault(fold(spelling), []).append((slot.slot_type, entry.value))
            self._patterns.extend((slot.slot_type, re.compile(item.pattern), item.value) for item in slot.patterns)
        self._spellings = _longest_of(self._named)

    def find(self, text: str) -> list[SlotMatch]:
        """All values named in ``text``, in order; of overlapping ones the longest, a spelling before a pattern."""
        if not text:
            return []
        folded = fold(text)
        return _without_overlaps([*self._spelled(text, folded), *self._patterned(text, folded)])

    def _spelled(self, text: str, folded: str) -> Iterable[SlotMatch]:
        if self._spellings is None:
            return
        # From every place, not only from where the last one ended: the longer of two that overlap counts.
        match = self._spellings.search(folded)
        while match is not None:
            start, end = match.span()
            for slot_type, value in self._named[match[0]]:
                yield SlotMatch(slot_type, text[start:end], value, start, end, "lexicon")
            match = self._spellings.search(folded, start + 1)

    def _patterned(self, text: str, folded: str) -> Iterable[SlotMatch]:
        for slot_type, pattern, template in self._patterns:
            for match in pattern.finditer(folded):
                written = text[match.start() : match.end()]
                value = match.expand(template) if template else written
                yield SlotMatch(slot_type, written, value, match.start(), match.end(), "pattern")


def _longest_of(spellings: Iterable[str]) -> re.Pattern[str] | None:
    """An expression that matches, wherever one of the spellings begins, the longest one; None where there are none.

    Spellings that begin alike share their beginning in it (三(?:级(?:甲等)?)), so that a place is tried once.
    """
    trie: dict[str, Any] = {}
    for spelling in spellings:
        node = trie
        for character in spelling:
            node = node.setdefault(character, {})
        node[_END] = {}
    trie.pop(_END, None)
    return re.compile(_alternatives(trie)) if trie else None


def _alternatives(node: dict[str, Any]) -> str:
    return "|".join(re.escape(character) + _rest(child) for character, child in node.items() if character != _END)


def _rest(node: dict[str, Any]) -> str:
    if node.keys() == {_END}:
        return ""
    return f"(?:{_alternatives(node)})" + ("?" if _END in node else "")


def _without_overlaps(found: Sequence[SlotMatch]) -> list[SlotMatch]:
    """Longest first; a match is kept where no longer one overlaps it (the same span may hold several types)."""
    if len(found) < 2:
        return list(found)
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
