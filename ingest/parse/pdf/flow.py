"""A document's pieces in reading order: the columns of each page, the tables and notes in their places."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from statistics import quantiles

from ingest.parse.pdf.columns import Region, regions
from ingest.parse.pdf.lines import Line, PageText
from ingest.parse.pdf.notes import split_notes
from ingest.parse.pdf.paragraphs import Edges, Paragraph, ParagraphBuilder, Row, rows_of
from ingest.parse.pdf.roles import body_size_of
from ingest.parse.pdf.tables import FoundTable

__all__ = ["Piece", "pieces_of"]

_WIDE_SHARE = 0.6  # of the text's width: such a table parts what stands above it from what stands below
_SAME_COLUMN_POINTS = 8.0
_FEW_ROWS = 20  # below this, percentiles say nothing


@dataclass(slots=True)
class Piece:
    """A paragraph, a table or a footnote; exactly one is set."""

    page: int
    paragraph: Paragraph | None = None
    table: FoundTable | None = None
    note: list[Line] | None = None


@dataclass(frozen=True, slots=True)
class _Column:
    """A region, or a table by itself, on a page."""

    page: int
    region: Region | None = None
    table: FoundTable | None = None


def pieces_of(pages: list[PageText], tables: dict[int, list[FoundTable]]) -> Iterator[Piece]:
    """Walk through the pages.

    Args:
        pages: without furniture and without the text of the tables.
        tables: by page number.
    """
    columns = [column for page in pages for column in _columns(page, tables.get(page.number, []))]
    body = body_size_of((line.size, len(line.text)) for page in pages for line in page.lines)
    found = [column.region for column in columns if column.region is not None]
    whole = _whole_edges(found)
    builder = ParagraphBuilder(indents=_indents(found, whole))
    notes: list[Piece] = []
    for number, column in enumerate(columns):
        if column.table is not None:
            yield from _closing(builder.close(), notes)
            yield Piece(column.page, table=column.table)
        elif column.region is not None:
            text, small = split_notes(column.region, body)
            region = Region(tuple(text), column.region.left, column.region.right, column.region.whole_width)
            for row in rows_of(region, number, column.page, _edges(column.region, found, whole)):
                yield from _closing(builder.add(row), notes)
            notes += [Piece(column.page, note=lines) for lines in small]
    yield from _closing(builder.close(), notes)
    yield from notes
    for page in pages:
        for line in page.sideways:
            row = Row(line, page.number, -1, Edges(line.x0, line.x1), 0.0)
            yield Piece(page.number, paragraph=Paragraph([row]))


def _closing(paragraph: Paragraph | None, notes: list[Piece]) -> Iterator[Piece]:
    """A paragraph that ended, then the notes that came up while it was open."""
    if paragraph is None:
        return
    yield Piece(paragraph.rows[0].page, paragraph=paragraph)
    yield from notes
    notes.clear()


def _columns(page: PageText, tables: list[FoundTable]) -> Iterator[_Column]:
    width = max((line.x1 for line in page.lines), default=0) - min((line.x0 for line in page.lines), default=0)
    wide = [table for table in tables if table.box.x1 - table.box.x0 >= _WIDE_SHARE * width]
    narrow = [table for table in tables if table not in wide]
    lines = page.lines
    for table in wide:
        above = [line for line in lines if (line.y0 + line.y1) / 2 < table.box.y0]
        yield from _band(page.number, above, [item for item in narrow if item.box.y0 < table.box.y0])
        narrow = [item for item in narrow if item.box.y0 >= table.box.y0]
        lines = [line for line in lines if (line.y0 + line.y1) / 2 >= table.box.y0]
        yield _Column(page.number, table=table)
    yield from _band(page.number, lines, narrow)


def _band(page: int, lines: list[Line], tables: list[FoundTable]) -> Iterator[_Column]:
    waiting = list(tables)
    for region in regions(lines):
        rows = list(region.rows)
        for table in [item for item in waiting if region.left <= (item.box.x0 + item.box.x1) / 2 <= region.right]:
            if rows and rows[-1].y1 < table.box.y0:
                continue  # below this region: a later one, or the band's end
            above = [row for row in rows if row.y0 < table.box.y0]
            if above:
                yield _Column(page, region=Region(tuple(above), region.left, region.right, region.whole_width))
            yield _Column(page, table=table)
            waiting.remove(table)
            rows = rows[len(above) :]
        if rows:
            yield _Column(page, region=Region(tuple(rows), region.left, region.right, region.whole_width))
    for table in waiting:
        yield _Column(page, table=table)


def _whole_edges(found: list[Region]) -> Edges:
    """The edges of the text on all pages; a few rows that stick out do not count."""
    lefts = [row.x0 for region in found for row in region.rows]
    rights = [row.x1 for region in found for row in region.rows]
    if len(lefts) < _FEW_ROWS:
        return Edges(min(lefts, default=0.0), max(rights, default=0.0))
    return Edges(quantiles(lefts, n=40)[0], quantiles(rights, n=40)[-1])


def _edges(region: Region, found: list[Region], whole: Edges) -> Edges:
    if region.whole_width:
        return Edges(min(whole.left, region.left), max(whole.right, region.right))
    same = [other for other in found if not other.whole_width and abs(other.left - region.left) < _SAME_COLUMN_POINTS]
    return Edges(min(other.left for other in same), max(other.right for other in same))


def _indents(found: list[Region], whole: Edges) -> bool:
    """Whether most paragraphs begin indented."""
    indented = total = 0
    for number, region in enumerate(found):
        rows = rows_of(region, number, 0, _edges(region, found, whole))
        for before, row in pairwise(rows):
            if before.has_ended and not before.is_full and not row.is_centered:
                total += 1
                indented += row.is_indented
    return total > 0 and indented * 2 > total
