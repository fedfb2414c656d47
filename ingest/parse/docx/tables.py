"""Tables: the grid that merged, spanned and shifted cells make, with the final state of tracked rows and cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ingest.parse.docx.names import Element, integer, is_on, w, w_child_value
from ingest.parse.docx.text import is_placeholder
from orchestrator.knowledge.clause import Table

__all__ = ["Grid", "read_grid"]

# Word itself allows 63 columns; a larger span is a mistake or an attack.
_MAX_SPAN = 63
_TRANSPARENT = frozenset({w("sdt"), w("sdtContent"), w("customXml"), w("ins"), w("moveTo")})


@dataclass(slots=True)
class _Cell:
    text: str
    column: int
    span: int


@dataclass(slots=True)
class Grid:
    """A table as rows of cells."""

    rows: list[list[_Cell]]
    header_rows: int
    caption: str

    @property
    def is_frame(self) -> bool:
        """Whether the table is one cell: a frame round text rather than a table."""
        return len(self.rows) == 1 and len(self.rows[0]) == 1

    def table(self) -> Table:
        """The table with merged cells repeated in each place that they cover."""
        width = max((cell.column + cell.span for row in self.rows for cell in row), default=0)
        filled = [_fill(row, width) for row in self.rows]
        head = max(self.header_rows, 1)
        return Table(headers=_join_headers(filled[:head]), rows=tuple(filled[head:]), caption=self.caption)

    def text(self) -> str:
        """One line a row, cells joined by `` | ``; a cell that spans columns stands once."""
        return "\n".join(" | ".join(" ".join(cell.text.split("\n")) for cell in row) for row in self.rows)


def read_grid(table: Element, read_cell: Callable[[Element], str]) -> Grid:
    """Read a ``w:tbl``.

    Args:
        table: the element.
        read_cell: gives the text of a ``w:tc``; called in reading order, once for each cell that is shown.
    """
    rows: list[list[_Cell]] = []
    header_rows = 0
    heading = True
    for row in _descend(table, "tr"):
        properties = row.find(w("trPr"))
        if properties is not None and (properties.find(w("del")) is not None or is_on(properties, "hidden")):
            continue
        heading = heading and bool(is_on(properties, "tblHeader"))
        header_rows += heading
        rows.append(_read_row(row, properties, rows[-1] if rows else [], read_cell))
    rows = [row for row in rows if row]
    if header_rows >= len(rows):
        header_rows = 0  # a table of headers alone: the first row heads the rest
    return Grid(rows, header_rows, w_child_value(table.find(w("tblPr")), "tblCaption") or "")


def _read_row(
    row: Element, properties: Element | None, above: list[_Cell], read_cell: Callable[[Element], str]
) -> list[_Cell]:
    cells: list[_Cell] = []
    column = _span(w_child_value(properties, "gridBefore"), least=0)
    for element in _descend(row, "tc"):
        cell_properties = element.find(w("tcPr"))
        if cell_properties is not None and cell_properties.find(w("cellDel")) is not None:
            continue
        span = _span(w_child_value(cell_properties, "gridSpan"), least=1)
        if _continues(cell_properties, "hMerge") and cells:
            cells[-1].span += span  # the older way to merge across
        elif _continues(cell_properties, "vMerge"):
            cells.append(_Cell(_text_above(above, column), column, span))
        else:
            cells.append(_Cell(read_cell(element), column, span))
        column += span
    return cells


def _descend(parent: Element, name: str) -> Iterator[Element]:
    """Rows or cells, through content controls, custom XML and insertions."""
    for child in parent:
        if child.tag == w(name):
            yield child
        elif child.tag in _TRANSPARENT and not (child.tag == w("sdt") and is_placeholder(child)):
            yield from _descend(child, name)


def _continues(properties: Element | None, name: str) -> bool:
    merge = None if properties is None else properties.find(w(name))
    return merge is not None and merge.get(w("val"), "continue") == "continue"


def _text_above(above: list[_Cell], column: int) -> str:
    return next((cell.text for cell in above if cell.column <= column < cell.column + cell.span), "")


def _span(value: str | None, *, least: int) -> int:
    return min(max(integer(value) or least, least), _MAX_SPAN)


def _fill(row: list[_Cell], width: int) -> tuple[str, ...]:
    filled = [""] * width
    for cell in row:
        for column in range(cell.column, cell.column + cell.span):
            filled[column] = cell.text
    return tuple(filled)


def _join_headers(rows: list[tuple[str, ...]]) -> tuple[str, ...]:
    """One header a column; several header rows are joined, what spans them stands once."""
    if not rows:
        return ()
    return tuple(" ".join(part for part in dict.fromkeys(column) if part) for column in zip(*rows, strict=True))
