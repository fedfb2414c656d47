"""Word's automatic numbering: the labels (第一条) that a document shows and its text does not hold.

Word keeps one counter a level for each abstract list. Lists (``w:num``) that share an abstract list go on counting
where the other stopped, unless one says ``startOverride``, which counts anew once, when that list first comes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ingest.parse.docx.names import MC, Element, W, integer, is_on, w, w_child_value
from ingest.parse.docx.styles import ListReference, StyleSheet
from ingest.parse.docx.symbols import unicode_bullet
from ingest.parse.number_formats import format_number

__all__ = ["Label", "Numbering"]

_LEVELS = 9
_PLACEHOLDER = re.compile(r"%([1-9])")
_SUFFIXES = {"tab": " ", "space": " ", "nothing": ""}
_NO_LIST = "0"  # w:numId 0 takes a paragraph out of its style's list


@dataclass(frozen=True, slots=True)
class Label:
    """What Word shows before a paragraph: ``第一条`` and what separates it from the text (a tab counts as a space)."""

    text: str
    separator: str


@dataclass(frozen=True, slots=True)
class _Level:
    number_format: str = "decimal"
    text: str = ""
    start: int = 0
    separator: str = " "
    restart: int | None = None
    legal: bool = False
    hidden: bool = False
    bullet: bool = False
    style: str = ""


@dataclass(frozen=True, slots=True)
class _List:
    abstract_id: str
    levels: tuple[_Level, ...]
    overrides: dict[int, int]


class Numbering:
    """The lists of one document, and how far each has counted.

    Args:
        root: of the numbering part; None where the document has none.
        styles: the document's styles.
    """

    def __init__(self, root: Element | None, styles: StyleSheet) -> None:
        self._styles = styles
        self._abstract: dict[str, Element] = {}
        self._numbers: dict[str, Element] = {}
        if root is not None:
            self._abstract = {item.get(w("abstractNumId"), ""): item for item in root.iterchildren(w("abstractNum"))}
            self._numbers = {item.get(w("numId"), ""): item for item in root.iterchildren(w("num"))}
        self._lists: dict[str, _List | None] = {}
        self._counters: dict[str, list[int | None]] = {}
        self._overridden: set[tuple[str, int]] = set()

    def next_label(self, reference: ListReference, style_ids: tuple[str, ...]) -> Label | None:
        """Count one paragraph, and give its label; None where the paragraph is in no list.

        Args:
            reference: the list and level that the paragraph or its style names.
            style_ids: the paragraph's style and those that it is based on: a list can tie a level to a style.
        """
        if reference.number_id == _NO_LIST:
            return None
        if reference.number_id not in self._lists:
            self._lists[reference.number_id] = self._load(reference.number_id)
        found = self._lists[reference.number_id]
        if found is None:
            return None
        level = _level_of(reference, found, style_ids)
        counters = self._count(reference.number_id, found, level)
        return _label(found.levels, level, counters)

    def _count(self, number_id: str, found: _List, level: int) -> list[int]:
        counters = self._counters.setdefault(found.abstract_id, [None] * _LEVELS)
        for overridden in found.overrides:
            if (number_id, overridden) not in self._overridden:
                self._overridden.add((number_id, overridden))
                counters[overridden] = None
        current = counters[level]
        counters[level] = _start(found, level) if current is None else current + 1
        for deeper in range(level + 1, _LEVELS):
            restart = found.levels[deeper].restart
            if restart is None or level < restart:
                counters[deeper] = None
        # An outer level that no paragraph has used yet shows where it would start.
        return [value if value is not None else _start(found, place) for place, value in enumerate(counters)]

    def _load(self, number_id: str) -> _List | None:
        number = self._numbers.get(number_id)
        if number is None:
            return None
        abstract_id = self._abstract_id(number)
        abstract = self._abstract.get(abstract_id)
        if abstract is None:
            return None
        levels = _read_levels(abstract)
        overrides: dict[int, int] = {}
        for item in number.iterchildren(w("lvlOverride")):
            place = integer(item.get(w("ilvl")))
            if place is None or not 0 <= place < _LEVELS:
                continue
            replacement = item.find(w("lvl"))
            if replacement is not None:
                levels[place] = _read_level(replacement)
            start = integer(w_child_value(item, "startOverride"))
            if start is not None:
                overrides[place] = start
        return _List(abstract_id, tuple(levels), overrides)

    def _abstract_id(self, number: Element) -> str:
        """The abstract list of a ``w:num``, through the numbering styles that stand between."""
        abstract_id = w_child_value(number, "abstractNumId") or ""
        for _ in range(_LEVELS):  # styles that lead to each other end somewhere
            abstract = self._abstract.get(abstract_id)
            link = w_child_value(abstract, "numStyleLink")
            target = self._numbers.get(self._styles.numbering_of(link) or "") if link else None
            if target is None:
                break
            abstract_id = w_child_value(target, "abstractNumId") or ""
        return abstract_id


def _level_of(reference: ListReference, found: _List, style_ids: tuple[str, ...]) -> int:
    if reference.level is not None:
        return min(max(reference.level, 0), _LEVELS - 1)
    for style_id in style_ids:
        for place, level in enumerate(found.levels):
            if level.style == style_id:
                return place
    return 0


def _start(found: _List, level: int) -> int:
    return found.overrides.get(level, found.levels[level].start)


def _label(levels: tuple[_Level, ...], place: int, counters: list[int]) -> Label | None:
    level = levels[place]
    if level.hidden:
        return None
    if level.bullet:
        return Label(level.text, level.separator) if level.text else None

    def number(match: re.Match[str]) -> str:
        shown = int(match.group(1)) - 1
        if shown > place:
            return ""  # a deeper level has no number here
        return format_number(counters[shown], "decimal" if level.legal else levels[shown].number_format)

    text = _PLACEHOLDER.sub(number, level.text)
    return Label(text, level.separator) if text.strip() else None


def _read_levels(abstract: Element) -> list[_Level]:
    levels = [_Level()] * _LEVELS
    for element in abstract.iterchildren(w("lvl")):
        place = integer(element.get(w("ilvl")))
        if place is not None and 0 <= place < _LEVELS:
            levels[place] = _read_level(element)
    return levels


def _read_level(element: Element) -> _Level:
    number_format = _number_format(element)
    bullet = number_format == "bullet"
    text = w_child_value(element, "lvlText") or ""
    properties = element.find(w("rPr"))
    if bullet:
        fonts = None if properties is None else properties.find(w("rFonts"))
        text = unicode_bullet(text, "" if fonts is None else fonts.get(w("ascii"), ""))
        if element.find(w("lvlPicBulletId")) is not None:
            text = "•"
    return _Level(
        number_format=number_format,
        text=text,
        start=integer(w_child_value(element, "start")) or 0,
        separator=_SUFFIXES.get(w_child_value(element, "suff") or "tab", " "),
        restart=integer(w_child_value(element, "lvlRestart")),
        legal=bool(is_on(element, "isLgl")),
        hidden=bool(is_on(properties, "vanish")),
        bullet=bullet,
        style=w_child_value(element, "pStyle") or "",
    )


def _number_format(element: Element) -> str:
    found = element.find(w("numFmt"))
    if found is None:
        # A format that older versions of Word do not know stands in an alternative.
        found = element.find(f"{MC}AlternateContent/{MC}Choice/{W}numFmt")
    if found is None:
        return "decimal"
    value = found.get(w("val"), "decimal")
    first = found.get(w("format"), "").split(",")[0].strip()
    return "decimalZero" if value == "custom" and first == "01" else value
