"""The pieces of text on a page, upright whatever way the page or its text is turned."""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

from ingest.parse.joining import is_wide
from ingest.parse.pdf.mupdf import CHARACTER_FLAGS, mupdf
from orchestrator.knowledge.clause import Box

__all__ = ["Line", "PageText", "merge_rows", "read_page_text"]

_BOLD = 16  # span flag
# Pieces in one row, drawn twice a fraction of a point apart, imitate bold type.
_OVERPRINT_POINTS = 1.0
_SAME_ROW = 0.6  # of the lower piece's height
_WIDE_GAP = 1.5  # em
_CJK_GAP, _LATIN_GAP = 0.8, 0.2  # em between pieces of one row that count as a space
_SKEW = 0.05  # a direction further from upright than this is slanted: a watermark


@dataclass(frozen=True, slots=True)
class Line:
    """A piece of text in one row, in points, origin top left of the upright page.

    Attributes:
        pieces: how many parts, wide gaps between them, a merged row consists of: many are a row of a table.
    """

    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    size: float
    bold: bool = False
    pieces: int = 1

    @property
    def box(self) -> Box:
        """The place on the upright page."""
        return Box(self.x0, self.y0, self.x1, self.y1)


@dataclass(slots=True)
class PageText:
    """One page's text.

    Attributes:
        page: the page turned so that its text stands upright.
        to_display: turns a rectangle of that page into one of the page as readers see it.
        slanted: how many pieces were left out as watermarks.
    """

    number: int
    page: Any
    width: float
    height: float
    lines: list[Line]
    to_display: Any
    slanted: int = 0
    sideways: list[Line] = field(default_factory=list)

    def display_box(self, box: Box) -> Box:
        """A box of the upright page on the page as readers see it."""
        rectangle = mupdf.Rect(box.x0, box.y0, box.x1, box.y1) * self.to_display
        return Box(*(round(value, 1) for value in (rectangle.x0, rectangle.y0, rectangle.x1, rectangle.y1)))


def read_page_text(page: Any, number: int) -> PageText:
    """Read a page's text; the page itself is turned upright."""
    if page.rotation:
        page.remove_rotation()
    to_display = mupdf.Identity
    pieces = _pieces(page)
    turn = _dominant_turn(pieces)
    if turn:
        page.set_rotation(turn)
        to_display = ~page.rotation_matrix
        page.remove_rotation()
        pieces = _pieces(page)
    upright = [line for direction, line in pieces if _is_upright(direction)]
    sideways = [line for direction, line in pieces if not _is_upright(direction) and _is_square(direction)]
    return PageText(
        number=number,
        page=page,
        width=page.rect.width,
        height=page.rect.height,
        lines=_without_overprint(upright),
        to_display=to_display,
        slanted=len(pieces) - len(upright) - len(sideways),
        sideways=_without_overprint(sideways),
    )


def _pieces(page: Any) -> list[tuple[tuple[float, float], Line]]:
    found = []
    for block in page.get_text("dict", flags=CHARACTER_FLAGS)["blocks"]:
        for line in block.get("lines", ()):
            spans = [span for span in line["spans"] if span["text"]]
            text = "".join(span["text"] for span in spans)
            if not text.strip():
                continue
            weight = Counter[float]()
            bold = 0
            for span in spans:
                weight[round(span["size"], 1)] += len(span["text"])
                bold += len(span["text"]) if span["flags"] & _BOLD else 0
            x0, y0, x1, y1 = line["bbox"]
            shown = _clean(text)
            found.append((line["dir"], Line(shown, x0, y0, x1, y1, weight.most_common(1)[0][0], bold * 2 > len(text))))
    return found


def _clean(text: str) -> str:
    # Compatibility ideographs and radicals (⼀ for 一) come from fonts, not from authors.
    return "".join(
        unicodedata.normalize("NFKC", char) if "\u2e80" <= char <= "\u2fdf" or "\uf900" <= char <= "\ufaff" else char
        for char in text.replace("\u00ad", "").replace("\x00", "")
    )


def _is_upright(direction: tuple[float, float]) -> bool:
    return direction[0] > 0 and abs(direction[1]) <= _SKEW


def _is_square(direction: tuple[float, float]) -> bool:
    return min(abs(direction[0]), abs(direction[1])) <= _SKEW


def _dominant_turn(pieces: list[tuple[tuple[float, float], Line]]) -> int:
    """By how many degrees, clockwise, the page has to be turned for most of its text to stand upright."""
    weight: Counter[int] = Counter()
    for direction, line in pieces:
        if _is_square(direction):
            angle = math.degrees(math.atan2(-direction[1], direction[0]))  # counterclockwise, y pointing up
            weight[round(angle / 90) * 90 % 360] += len(line.text)
    return weight.most_common(1)[0][0] if weight else 0


def _without_overprint(lines: list[Line]) -> list[Line]:
    kept: list[Line] = []
    seen: dict[str, list[Line]] = {}
    for line in lines:
        twins = seen.setdefault(line.text, [])
        if any(abs(twin.x0 - line.x0) + abs(twin.y0 - line.y0) < _OVERPRINT_POINTS for twin in twins):
            continue
        twins.append(line)
        kept.append(line)
    return kept


def merge_rows(lines: list[Line]) -> list[Line]:
    """Join the pieces that stand in one row, left to right; rows from top to bottom."""
    rows: list[list[Line]] = []
    for line in sorted(lines, key=lambda item: ((item.y0 + item.y1) / 2, item.x0)):
        if rows and _share_row(rows[-1], line):
            rows[-1].append(line)
        else:
            rows.append([line])
    return [_merge(sorted(row, key=lambda item: item.x0)) for row in rows]


def _share_row(row: list[Line], line: Line) -> bool:
    tallest = max(row, key=lambda item: item.y1 - item.y0)
    overlap = min(tallest.y1, line.y1) - max(tallest.y0, line.y0)
    return overlap >= _SAME_ROW * min(tallest.y1 - tallest.y0, line.y1 - line.y0)


def _merge(row: list[Line]) -> Line:
    merged = row[0]
    for line in row[1:]:
        gap = (line.x0 - merged.x1) / max(merged.size, 1)
        cjk = is_wide(merged.text[-1:]) or is_wide(line.text[:1])
        blank = " " if gap > (_CJK_GAP if cjk else _LATIN_GAP) and not merged.text[-1:].isspace() else ""
        longer = merged if len(merged.text) >= len(line.text) else line
        merged = replace(
            merged,
            text=merged.text + blank + line.text,
            x1=max(merged.x1, line.x1),
            y0=min(merged.y0, line.y0),
            y1=max(merged.y1, line.y1),
            size=longer.size,
            bold=longer.bold,
            pieces=merged.pieces + (gap > _WIDE_GAP),
        )
    return replace(merged, text=merged.text.strip())
