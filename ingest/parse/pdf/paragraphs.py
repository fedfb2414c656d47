"""Rows into paragraphs: which row goes on in the next one, within a column and across columns and pages."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from ingest.parse.joining import join_lines
from ingest.parse.pdf.columns import Region
from ingest.parse.pdf.lines import Line

__all__ = ["Edges", "Paragraph", "ParagraphBuilder", "Row", "rows_of"]

_FULL_EM = 2.2  # a row that leaves more room than this could have taken another character: it ends its paragraph
_LATIN_EM = 0.5  # the mean width of a Latin character
_TABULAR_PIECES = 3
_INDENT_EM = 1.2
_HANGING_EM = 0.8
_SIZE_STEP = 1.12
_LOOSE_PITCH = 1.55  # times the usual distance from row to row
_CENTRE_EM = 1.0

_LABEL = re.compile(
    r"^\s*(?:第\s*[一二三四五六七八九十百千零〇○０-９\d]+\s*[编章节条款]"
    r"|[一二三四五六七八九十]{1,3}\s*[、．.]"
    r"|[（(]\s*(?:[一二三四五六七八九十]{1,3}|\d{1,2})\s*[）)]"
    r"|\d{1,2}(?:\.\d{1,2})*\s*[、．.\s]"
    r"|[①-⑳]|附\s*[件录则表]|[•●■◆▪-]\s)"
)
_ENDED = re.compile(r"[。！？；：.!?;:…][”’」』）)]?\s*$")


@dataclass(frozen=True, slots=True)
class Edges:
    """The left and right edge of the column in which a row stands."""

    left: float
    right: float


@dataclass(frozen=True, slots=True)
class Row:
    """A row with its page and column; ``region`` numbers the columns of the document in reading order."""

    line: Line
    page: int
    region: int
    edges: Edges
    pitch: float

    @property
    def em(self) -> float:
        """One em, in points."""
        return max(self.line.size, 1.0)

    @property
    def is_full(self) -> bool:
        """Whether the row fills its column."""
        return self.edges.right - self.line.x1 < _FULL_EM * self.em

    @property
    def is_tabular(self) -> bool:
        """Whether the row has gaps as rows of tables have."""
        return self.line.pieces >= _TABULAR_PIECES

    @property
    def is_indented(self) -> bool:
        """Whether the row begins right of its column's edge."""
        return self.line.x0 - self.edges.left > _INDENT_EM * self.em

    @property
    def is_centered(self) -> bool:
        """Whether the row leaves about the same room on both sides."""
        before, after = self.line.x0 - self.edges.left, self.edges.right - self.line.x1
        return min(before, after) > 2 * self.em and abs(before - after) < _CENTRE_EM * 2 * self.em

    @property
    def has_ended(self) -> bool:
        """Whether the row ends as sentences do."""
        return bool(_ENDED.search(self.line.text))

    @property
    def has_label(self) -> bool:
        """Whether the row begins as clauses and items do."""
        return bool(_LABEL.match(self.line.text))


@dataclass(slots=True)
class Paragraph:
    """Rows that belong together."""

    rows: list[Row] = field(default_factory=list)
    runs_on: bool = False

    @property
    def text(self) -> str:
        """The rows as one text."""
        return join_lines([row.line.text for row in self.rows])

    @property
    def first_part(self) -> list[Row]:
        """The rows in the column where it begins."""
        return [row for row in self.rows if row.region == self.rows[0].region]


class ParagraphBuilder:
    """Takes rows in reading order and gives paragraphs.

    Args:
        indents: whether the document's paragraphs begin indented: then a row at the edge goes on.
    """

    def __init__(self, *, indents: bool) -> None:
        self._indents = indents
        self._open: Paragraph | None = None

    def add(self, row: Row) -> Paragraph | None:
        """Take a row; gives the paragraph that ended before it, if one did."""
        if self._open is None:
            self._open = Paragraph([row])
            return None
        if self._goes_on(self._open, row):
            self._open.rows.append(row)
            return None
        ended, self._open = self._open, Paragraph([row])
        return ended

    def close(self) -> Paragraph | None:
        """Give what is open: something other than text follows."""
        ended, self._open = self._open, None
        if ended is not None:
            last = ended.rows[-1]
            ended.runs_on = last.is_full and not last.has_ended and not last.is_centered and len(ended.rows) > 1
        return ended

    def _goes_on(self, paragraph: Paragraph, row: Row) -> bool:
        last = paragraph.rows[-1]
        if row.is_tabular or last.is_tabular or not _is_filled(last, row):
            return False
        sizes = sorted((last.line.size, row.line.size))
        if sizes[1] > sizes[0] * _SIZE_STEP or row.is_centered or last.is_centered:
            return False
        if row.has_label and (last.has_ended or row.is_indented):
            return False
        if row.region != last.region:
            return not row.is_indented and (not last.has_ended or self._indents)
        if row.line.y0 - last.line.y0 > _LOOSE_PITCH * max(row.pitch, row.em):
            return False
        return not row.is_indented or _hangs(paragraph, row)


def _is_filled(last: Row, row: Row) -> bool:
    """Whether the first word of ``row`` would not have fitted at the end of the row before it."""
    word = row.line.text.split(maxsplit=1)[0] if row.line.text else ""
    room = last.edges.right - last.line.x1
    if not word.isascii() or not last.line.text[-1:].isascii():
        return last.is_full
    return room < max(_FULL_EM, (len(word) + 1) * _LATIN_EM) * last.em


def _hangs(paragraph: Paragraph, row: Row) -> bool:
    """Whether an indented row stands under the text of an item whose label stands out to the left."""
    first, last = paragraph.rows[0], paragraph.rows[-1]
    if len(paragraph.rows) > 1:
        return abs(row.line.x0 - last.line.x0) < _HANGING_EM * row.em
    return first.has_label and row.line.x0 - first.line.x0 > _HANGING_EM * row.em


def rows_of(region: Region, number: int, page: int, edges: Edges) -> list[Row]:
    """A region's lines with their surroundings."""
    tops = [line.y0 for line in region.rows]
    steps = [after - before for before, after in pairwise(tops) if after > before]
    pitch = median(steps) if steps else 0.0
    return [Row(line, page, number, edges, pitch) for line in region.rows]
