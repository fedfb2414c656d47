"""Page furniture: headers, footers and page numbers, which are no part of the document's text."""

from __future__ import annotations

import re
from collections import Counter, defaultdict

from ingest.parse.pdf.lines import Line, PageText

__all__ = ["drop_furniture"]

_ZONE = 0.12  # of the page's height, at the top and at the bottom
_SAME_HEIGHT_POINTS = 4.0
# A header of a chapter stands on a few pages only; in a short file two pages are enough to tell.
_LEAST_PAGES, _SHORT_FILE_PAGES = 3, 4

_DIGITS = re.compile(r"\d+")
_BARE_NUMBER = re.compile(r"^\d{1,4}$")
_PAGE_NUMBER = re.compile(
    r"^(?:[-—–－·•]+\s*(?:\d{1,4}|[ivxlc]{1,6})\s*[-—–－·•]+"
    r"|第?\s*\d{1,4}\s*页\s*[,，/／]?\s*(?:共\s*\d{1,4}\s*页)?"
    r"|第\s*[一二三四五六七八九十百]{1,5}\s*页"
    r"|\d{1,4}\s*[/／]\s*\d{1,4}"
    r"|page\s*\d{1,4}(?:\s*of\s*\d{1,4})?)$",
    re.IGNORECASE,
)


def drop_furniture(pages: list[PageText]) -> None:
    """Take repeated headers and footers, and page numbers, out of the pages' lines."""
    places: dict[tuple[str, str], list[tuple[int, float]]] = defaultdict(list)
    for place, page in enumerate(pages):
        for line in page.lines:
            zone = _zone(line, page)
            if zone:
                places[zone, _pattern(line)].append((place, line.y0))
    offsets = _number_offsets(pages)
    least = 2 if len(pages) <= _SHORT_FILE_PAGES else _LEAST_PAGES

    def is_furniture(line: Line, page: PageText) -> bool:
        zone = _zone(line, page)
        if not zone:
            return False
        text = line.text.strip()
        if _PAGE_NUMBER.match(text):
            return True
        if _BARE_NUMBER.match(text):
            return (int(text) - page.number) in offsets
        same = {place for place, y0 in places[zone, _pattern(line)] if abs(y0 - line.y0) <= _SAME_HEIGHT_POINTS}
        return len(same) >= least

    for page in pages:
        page.lines = [line for line in page.lines if not is_furniture(line, page)]


def _zone(line: Line, page: PageText) -> str:
    if line.y1 <= page.height * _ZONE:
        return "top"
    return "bottom" if line.y0 >= page.height * (1 - _ZONE) else ""


def _pattern(line: Line) -> str:
    return _DIGITS.sub("#", re.sub(r"\s+", "", line.text))


def _number_offsets(pages: list[PageText]) -> set[int]:
    """How far the numbers printed on the pages are from the pages' own numbers."""
    counts: Counter[int] = Counter()
    for page in pages:
        numbers = {
            int(text) for line in page.lines if _zone(line, page) and _BARE_NUMBER.match(text := line.text.strip())
        }
        counts.update(number - page.number for number in numbers)
    return {offset for offset, count in counts.items() if count >= 2 or offset == 0}
