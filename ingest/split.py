"""Cutting a text that is too long for one clause: at 款 and 项 borders, sentence ends, turning words."""

from __future__ import annotations

import math
import re

from ingest.labels import read_item

__all__ = ["split_text"]

_TURN = r"(?:但是|但书|但|然而|不过|除[^，。；]{1,40}外|其中|同时|此外|另外|否则|因此)"
_SENTENCE_END = re.compile(r"[。！？][”’」』）)]*")
_SEMICOLON = re.compile(r"[；;]")
_TURN_AHEAD = re.compile(_TURN)
_TURN_INSIDE = re.compile(rf"(?<=[，,]){_TURN}")
_COMMA = re.compile(r"[，,、：:]")
# A part is at least this share of the size that equal parts would have.
_SMALLEST_SHARE = 0.6

# Ranks of borders: a better one wins over a nearer one.
_PARAGRAPH, _ITEM, _TURNING, _SENTENCE, _TURN_IN_SENTENCE, _HALF, _WORD = range(7, 0, -1)


def split_text(text: str, limit: int) -> list[tuple[int, int]]:
    """Cut a text into parts of at most ``limit`` characters; together they are the whole text.

    Returns:
        Offsets [start, end) of the parts, in order and without gaps. One part where the text is short enough.
    """
    if len(text) <= limit:
        return [(0, len(text))]
    borders = _borders(text)
    parts: list[tuple[int, int]] = []
    start = 0
    while len(text) - start > limit:
        rest = len(text) - start
        wanted = rest / math.ceil(rest / limit)
        first, last = start + int(wanted * _SMALLEST_SHARE), start + limit
        target = start + wanted
        inside = [place for place in borders if first <= place <= last]
        end = max(inside, key=lambda place: (borders[place], -abs(place - target)), default=last)
        parts.append((start, end))
        start = end
    parts.append((start, len(text)))
    return parts


def _borders(text: str) -> dict[int, int]:
    """Where a part may end, and how good a place that is."""
    borders: dict[int, int] = {}

    def add(place: int, rank: int) -> None:
        if 0 < place < len(text):
            borders[place] = max(rank, borders.get(place, 0))

    for match in _COMMA.finditer(text):
        add(match.end(), _WORD)
    for match in _SEMICOLON.finditer(text):
        add(match.end(), _HALF)
    for match in _TURN_INSIDE.finditer(text):
        add(match.start(), _TURN_IN_SENTENCE)
    for match in _SENTENCE_END.finditer(text):
        add(match.end(), _TURNING if _TURN_AHEAD.match(text, match.end()) else _SENTENCE)
    for match in re.finditer("\n", text):
        add(match.end(), _ITEM if read_item(text[match.end() : match.end() + 20]) else _PARAGRAPH)
    return borders
