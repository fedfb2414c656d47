"""Clauses in the making: lines that belong together, with their path; and tables as text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from ingest.labels import NUMBER
from ingest.lines import Line
from orchestrator.knowledge.clause import ClauseType, PathElement, Position, Table

__all__ = ["Draft", "TablePart", "join_lines", "render_row", "split_table", "table_label", "with_whole_headers"]

_TABLE_LABEL = re.compile(rf"\s*(附?\s*表\s*(?:[A-Z]\.?)?{NUMBER}(?:[-－.．—]\d+)*)[\s：:、.．]*")


@dataclass(slots=True)
class Draft:
    """A clause before it has an id: its lines, in order.

    Attributes:
        path: from the outermost step to the clause itself.
        table: set for a table, whose only line holds the whole of it.
        caption: the line above a table that names it.
        notes: the lines below a table that explain it (注：…).
    """

    lines: list[Line]
    path: tuple[PathElement, ...]
    clause_type: ClauseType
    position: Position
    label: str = ""
    table: Table | None = None
    caption: Line | None = None
    notes: list[Line] = field(default_factory=list)

    def text(self) -> str:
        """The exact text of the lines."""
        return join_lines(self.lines)


@dataclass(frozen=True, slots=True)
class TablePart:
    """Some rows of a table, and their text."""

    table: Table
    text: str


def join_lines(lines: list[Line]) -> str:
    """Lines as one text; the first one's glue is dropped."""
    return "".join(line.text if place == 0 else line.glue + line.text for place, line in enumerate(lines))


def table_label(caption: str) -> tuple[str, str]:
    """A table's label and name: ``("表2", "报销比例")`` of the caption 表2 报销比例; the label is 表 without one."""
    match = _TABLE_LABEL.match(caption)
    if match is None:
        return "表", caption.strip()
    return re.sub(r"\s", "", match[1]), caption[match.end() :].strip()


def render_row(headers: tuple[str, ...], cells: tuple[str, ...]) -> str:
    """One row on one line, ``header: cell；header: cell``; a cell merged over the whole row is written once."""
    headers, cells = tuple(map(_one_line, headers)), tuple(map(_one_line, cells))
    if len(set(cells)) == 1 and len(cells) > 1:
        return cells[0]
    pairs: list[str] = []
    for place, cell in enumerate(cells):
        header = headers[place] if place < len(headers) else ""
        pair = f"{header}: {cell}" if header and cell else cell
        if pair and (not pairs or pairs[-1] != pair):
            pairs.append(pair)
    return "；".join(pairs)


def _one_line(cell: str) -> str:
    # A break between Chinese characters only wraps the cell.
    return re.sub(r"\s*\n\s*", " ", re.sub(r"(?<=[一-鿿])\s*\n\s*(?=[一-鿿])", "", cell.strip()))


def with_whole_headers(table: Table) -> Table:
    """A table whose header takes several rows, with one: 支付比例 over 职工 and 居民 becomes 支付比例 职工 and so on.

    A row belongs to the header where every cell of it either repeats the one above (merged over both rows) or stands
    below one that is merged over several columns; there must be some of either kind.
    """
    headers, rows = table.headers, table.rows
    while len(rows) > 1 and len(rows[0]) == len(headers) and _belongs_to_header(headers, rows[0]):
        headers = tuple(_join_header(above, below) for above, below in zip(headers, rows[0], strict=True))
        rows = rows[1:]
    return replace(table, headers=headers, rows=rows)


def _belongs_to_header(headers: tuple[str, ...], row: tuple[str, ...]) -> bool:
    names = [header.strip() for header in headers]
    repeated = [name == cell.strip() != "" for name, cell in zip(names, row, strict=True)]
    merged = [
        name != "" and name in (*names[max(place - 1, 0) : place], *names[place + 1 : place + 2])
        for place, name in enumerate(names)
    ]
    below = [wide and not same for wide, same in zip(merged, repeated, strict=True)]
    return any(repeated) and any(below) and all(same or wide for same, wide in zip(repeated, below, strict=True))


def _join_header(above: str, below: str) -> str:
    above, below = above.strip(), below.strip()
    return above if below in ("", above) else f"{above} {below}".strip()


def split_table(table: Table, limit: int) -> list[TablePart]:
    """A table as text, cut between rows where it is longer than ``limit``; every part keeps caption and headers."""
    head = f"{table.caption}\n" if table.caption else ""
    parts: list[TablePart] = []
    rows: list[tuple[str, ...]] = []
    text = head
    for row in table.rows:
        rendered = render_row(table.headers, row)
        if not rendered:
            continue
        if rows and len(text) + len(rendered) > limit:
            parts.append(TablePart(replace(table, rows=tuple(rows)), text.rstrip("\n")))
            rows, text = [], head
        rows.append(row)
        text += rendered + "\n"
    if rows:
        parts.append(TablePart(replace(table, rows=tuple(rows)), text.rstrip("\n")))
    # A form whose cells are all empty: its headers are its text.
    return parts or [TablePart(table, head + render_row((), table.headers))]
