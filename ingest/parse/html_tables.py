"""Tables of HTML pages as grids: cells that span rows or columns are repeated in each place that they cover."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from selectolax.lexbor import LexborNode

from orchestrator.knowledge.clause import Table

__all__ = ["HtmlGrid"]

# What the HTML standard allows for colspan is 1000; a table of this many places is no table to read.
_MAX_SPAN = 1000
_MAX_PLACES = 200_000


@dataclass(frozen=True, slots=True)
class HtmlGrid:
    """A table, and its text: one line a row, a cell that spans columns stands once."""

    table: Table
    text: str

    @classmethod
    def read(cls, node: LexborNode, cell_text: Callable[[LexborNode], str]) -> HtmlGrid | None:
        """Read a ``table``; None where it only lays out the page.

        Args:
            node: the element.
            cell_text: gives a cell's text.
        """
        if node.attributes.get("role") == "presentation" or _holds_a_table(node):
            return None
        places: _Places = {}
        header_rows = height = 0
        for row, in_head in _rows(node):
            cells = [cell for cell in _elements(row) if cell.tag in {"td", "th"}]
            if not cells:
                continue
            if header_rows == height and (in_head or all(cell.tag == "th" for cell in cells)):
                header_rows += 1
            _put_row(cells, places, height, cell_text)
            height += 1
            if len(places) > _MAX_PLACES:
                return None
        width = max((column for row, column in places if row < height), default=-1) + 1
        if height * width <= 1:
            return None
        filled = [[places.get((row, column)) for column in range(width)] for row in range(height)]
        texts = [tuple(cell.text if cell else "" for cell in row) for row in filled]
        head = header_rows if 0 < header_rows < height else 1
        caption = next((item for item in _elements(node) if item.tag == "caption"), None)
        table = Table(
            headers=_joined(texts[:head]),
            rows=tuple(texts[head:]),
            caption=cell_text(caption) if caption is not None else "",
        )
        return cls(table, "\n".join(" | ".join(_once(row)) for row in filled))


@dataclass(frozen=True, slots=True, eq=False)
class _Cell:
    text: str


_Places = dict[tuple[int, int], _Cell]


def _put_row(cells: list[LexborNode], places: _Places, row: int, cell_text: Callable[[LexborNode], str]) -> None:
    column = 0
    for node in cells:
        while (row, column) in places:
            column += 1
        cell = _Cell(cell_text(node))
        across, down = _span(node, "colspan"), _span(node, "rowspan")
        for place in range(across * down if across * down <= _MAX_PLACES else across):
            places.setdefault((row + place // across, column + place % across), cell)
        column += across


def _holds_a_table(node: LexborNode) -> bool:
    # A selector finds the node itself as well.
    return any(found.mem_id != node.mem_id for found in node.css("table"))


def _rows(table: LexborNode) -> Iterator[tuple[LexborNode, bool]]:
    for child in _elements(table):
        if child.tag == "tr":
            yield child, False
        elif child.tag in {"thead", "tbody", "tfoot"}:
            for row in _elements(child):
                if row.tag == "tr":
                    yield row, child.tag == "thead"


def _elements(node: LexborNode) -> Iterator[LexborNode]:
    child = node.child
    while child is not None:
        if not (child.tag or "-").startswith(("-", "!")):
            yield child
        child = child.next


def _span(node: LexborNode, name: str) -> int:
    text = (node.attributes.get(name) or "").strip()
    return min(max(int(text), 1), _MAX_SPAN) if text.isascii() and text.isdigit() else 1


def _once(row: list[_Cell | None]) -> Iterator[str]:
    before: _Cell | None = None
    for cell in row:
        if cell is None or cell is not before:
            yield " ".join(cell.text.split("\n")) if cell else ""
        before = cell


def _joined(rows: list[tuple[str, ...]]) -> tuple[str, ...]:
    """One header a column; several header rows are joined, what spans them stands once."""
    return tuple(" ".join(part for part in dict.fromkeys(column) if part) for column in zip(*rows, strict=True))
