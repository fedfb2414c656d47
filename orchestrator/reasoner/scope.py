"""The conditions under which a statement holds: region, hospital grade, population, … as the pack names them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.domain.lexicon import SlotMatch, SlotMatcher
from orchestrator.domain.pack import DomainPack

__all__ = ["Scope", "ScopeReader", "merge", "years_of"]

Scope = Mapping[str, frozenset[str]]
"""Dimension → canonical values; a dimension that is missing is general: it limits nothing."""

# What may stand between values that are meant together: 三级、二级医院.
_COORDINATION = re.compile(r"^(?:医院|医疗机构|定点|的)?\s?(?:[、，,和与及或/]|以及|或者)+\s?$")
# Who acts or is addressed (由县级人民政府责令, 向经办机构申请) is not whom the rule is limited to.
_ACTOR = re.compile(r"(?:由|向|经|报请?|会同|提请|抄送)[^，,。；;：:]{0,20}$")
_ACTOR_REACH = 24
_YEAR = re.compile(r"((?:19|20)\d{2})\s?年度")
# The dimension of 2024年度, which every pack has.
YEAR = "year"


def merge(nearer: Scope, wider: Scope) -> Scope:
    """``nearer`` where it says something, else ``wider``."""
    return {**wider, **nearer}


def years_of(text: str) -> Scope:
    """The years that a text is about: 2024年度."""
    years = frozenset(_YEAR.findall(text)) if "年度" in text else frozenset()
    return {YEAR: years} if years else {}


@dataclass(frozen=True, slots=True)
class _Group:
    """Values of one dimension that are meant together, [start, end) in the sentence."""

    dimension: str
    values: frozenset[str]
    start: int
    end: int


class ScopeReader:
    """Reads and compares scopes with one pack's words. Immutable: safe to share between threads."""

    def __init__(self, pack: DomainPack) -> None:
        self._types = {name: pack.slot_types[name] for name in pack.scope_dimensions}
        self._matcher = SlotMatcher(pack)

    def mentions(self, text: str) -> list[SlotMatch]:
        """Values of scope dimensions that a text names, in order."""
        return [match for match in self._matcher.find(text) if match.slot_type in self._types] if self._types else []

    def by_weight(self, mentions: Sequence[SlotMatch]) -> list[SlotMatch]:
        """Mentions in the order of the pack's dimensions: the ones that a reader needs most come first there."""
        order = list(self._types)
        return sorted(mentions, key=lambda match: (order.index(match.slot_type), match.start))

    def of_text(self, text: str) -> Scope:
        """All that a text is limited to: a title, a heading, a lead-in."""
        return self.of_mentions(text, self.mentions(text)) if text else {}

    def of_mentions(self, text: str, mentions: Sequence[SlotMatch]) -> Scope:
        """All that a text is limited to whose mentions are known."""
        found: dict[str, set[str]] = {}
        for match in mentions:
            found.setdefault(match.slot_type, set()).add(match.value)
        scope = {dimension: self._narrowest(dimension, values) for dimension, values in found.items()}
        return {**scope, **years_of(text)}

    def at(self, text: str, mentions: Sequence[SlotMatch], end: int) -> Scope:
        """What limits the words of a sentence that end at ``end``: in each dimension the nearest values before them.

        Where none stand before, those that follow in the same part of the sentence (up to a comma) count.
        """
        if not mentions:
            return years_of(text)
        part_end = min((place for mark in "，,；;。" if (place := text.find(mark, end)) >= 0), default=len(text))
        scope: dict[str, frozenset[str]] = {}
        for group in self._groups(text, mentions):
            if _ACTOR.search(text, max(0, group.start - _ACTOR_REACH), group.start):
                continue
            if group.start < end:
                # Later groups overwrite earlier ones: the nearest before counts.
                scope[group.dimension] = group.values
            elif group.start < part_end:
                scope.setdefault(group.dimension, group.values)
        return {**scope, **years_of(text)}

    def compatible(self, first: Scope, second: Scope) -> bool:
        """Whether something can be within both: no dimension has values that exclude each other."""
        if not first or not second:
            return True
        return all(self._overlap(name, first[name], second[name]) for name in first.keys() & second.keys())

    def one_sided(self, first: Scope, second: Scope) -> set[str]:
        """The dimensions that limit only one of two scopes, or one of them further than the other."""
        names = set(first) ^ set(second)
        return names | {name for name in first.keys() & second.keys() if first[name] != second[name]}

    def _overlap(self, dimension: str, first: Iterable[str], second: Iterable[str]) -> bool:
        slot = self._types.get(dimension)
        if slot is None:
            return bool(set(first) & set(second))
        return any(slot.compatible(one, other) for one in first for other in second)

    def _narrowest(self, dimension: str, values: Iterable[str]) -> frozenset[str]:
        """云川省青岚市 is 青岚市: a value that another one lies within adds nothing."""
        slot = self._types[dimension]
        kept = set(values)
        if len(kept) == 1:
            return frozenset(kept)
        return frozenset(
            value for value in kept if not any(other != value and slot.covers(value, other) for other in kept)
        )

    def _groups(self, text: str, mentions: Sequence[SlotMatch]) -> list[_Group]:
        groups: list[_Group] = []
        for name in {match.slot_type for match in mentions}:
            pending: _Group | None = None
            for match in mentions:
                if match.slot_type != name:
                    continue
                between = text[pending.end : match.start] if pending else ""
                if pending and (len(between) == 0 or _COORDINATION.match(between)):
                    values = self._narrowest(name, {*pending.values, match.value})
                    pending = _Group(name, values, pending.start, match.end)
                    continue
                if pending:
                    groups.append(pending)
                pending = _Group(name, frozenset({match.value}), match.start, match.end)
            if pending:
                groups.append(pending)
        return sorted(groups, key=lambda group: group.start)
