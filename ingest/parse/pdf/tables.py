"""Ruled tables on a page, with merged cells repeated in each place that they cover."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Any

from ingest.parse.joining import join_lines
from ingest.parse.pdf.lines import PageText
from ingest.parse.pdf.mupdf import CHARACTER_FLAGS, mupdf
from orchestrator.knowledge.clause import Box, Table

__all__ = ["FoundTable", "find_tables"]

# A table needs lines: a page with fewer vector drawings is not searched, which saves most of its time.
_LEAST_DRAWINGS = 2
_SNAP_POINTS = 3.0  # edges nearer than this are one


@dataclass(frozen=True, slots=True)
class FoundTable:
    """A table, its text (one line a row) and where it stands on the upright page."""

    table: Table
    text: str
    box: Box


@dataclass(frozen=True, slots=True)
class _Cell:
    text: str
    rows: range
    columns: range


def find_tables(page: PageText) -> list[FoundTable]:
    """The ruled tables of a page, from top to bottom; a frame of one row or one column is not a table."""
    if len(page.page.get_cdrawings()) < _LEAST_DRAWINGS:
        return []
    found: list[FoundTable] = []
    for candidate in page.page.find_tables().tables:
        boxes = [Box(*cell) for cell in candidate.cells if cell]
        xs = _edges([edge for box in boxes for edge in (box.x0, box.x1)])
        ys = _edges([edge for box in boxes for edge in (box.y0, box.y1)])
        if len(xs) < 3 or len(ys) < 3:
            continue
        characters = _characters(page.page, Box(*candidate.bbox))
        cells = [
            _Cell(_text_in(box, characters), _covered(ys, box.y0, box.y1), _covered(xs, box.x0, box.x1))
            for box in boxes
        ]
        if sum(bool(cell.text) for cell in cells) < 2:
            continue
        rows = _fill(cells, len(ys) - 1, len(xs) - 1)
        table = Table(headers=rows[0], rows=tuple(rows[1:]))
        found.append(FoundTable(table, _lines(cells, len(ys) - 1), Box(*candidate.bbox)))
    return sorted(found, key=lambda item: item.box.y0)


def _edges(values: list[float]) -> list[float]:
    edges: list[float] = []
    for value in sorted(values):
        if not edges or value - edges[-1] > _SNAP_POINTS:
            edges.append(value)
    return edges


def _covered(edges: list[float], low: float, high: float) -> range:
    first = bisect_right(edges, low + _SNAP_POINTS) - 1
    return range(max(first, 0), max(bisect_right(edges, high - _SNAP_POINTS), first + 1))


def _fill(cells: list[_Cell], height: int, width: int) -> list[tuple[str, ...]]:
    filled = [[""] * width for _ in range(height)]
    for cell in cells:
        for row in cell.rows:
            for column in cell.columns:
                if row < height and column < width:
                    filled[row][column] = cell.text
    return [tuple(row) for row in filled]


def _lines(cells: list[_Cell], height: int) -> str:
    """One line a row; a cell that spans columns stands once in each row that it covers."""
    lines = []
    for row in range(height):
        across = sorted((cell for cell in cells if row in cell.rows), key=lambda cell: cell.columns.start)
        lines.append(" | ".join(" ".join(cell.text.split("\n")) for cell in across))
    return "\n".join(lines)


_Character = tuple[str, float, float, float, float]


def _characters(page: Any, clip: Box) -> list[list[_Character]]:
    """The characters inside a box, by the rows in which the page has them."""
    area = mupdf.Rect(clip.x0, clip.y0, clip.x1, clip.y1)
    rows = []
    for block in page.get_text("rawdict", flags=CHARACTER_FLAGS, clip=area)["blocks"]:
        for line in block.get("lines", ()):
            row = [(item["c"], *item["bbox"]) for span in line["spans"] for item in span["chars"]]
            if row:
                rows.append(row)
    return rows


def _text_in(cell: Box, rows: list[list[_Character]]) -> str:
    """A cell's text: its rows from top to bottom, joined as a paragraph's lines are."""
    pieces: list[tuple[float, float, str]] = []
    for row in rows:
        inside = [
            (char, x0, y0)
            for char, x0, y0, x1, y1 in row
            if cell.x0 <= (x0 + x1) / 2 < cell.x1 and cell.y0 <= (y0 + y1) / 2 < cell.y1
        ]
        text = "".join(char for char, _, _ in inside).strip()
        if text:
            pieces.append((round(inside[0][2]), inside[0][1], text))
    return join_lines([text for _, _, text in sorted(pieces)])
