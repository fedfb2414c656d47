"""Blocks as lines: what the outline is read from. A line never spans two paragraphs, save where a page cut one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from ingest.labels import Label
from ingest.parse.layout import Block, BlockKind

__all__ = ["Line", "Role", "is_layout_table", "mark_contents", "mark_quotes", "read_lines"]

# A contents list with more entries than this is no contents list.
_CONTENTS_LINES = 1000
_CONTENTS_CHARS = 80
# Quoted articles of an amending decision; a quote that stays open longer is a missing quotation mark.
_QUOTE_LINES = 200

_CONTENTS = re.compile(r"\s*目\s*[录次]\s*")
_LEADER = re.compile(r"(?:[\s.．…·\t-]*[（(]?\d{1,4}[）)]?|[\s.．…·]+)\s*$")
_OPENS_QUOTE = re.compile(r"(?:^\s*|[：:]\s*)[“「『]")
_INTRODUCES_QUOTE = re.compile(r"(?:修改为|改为|表述为|增加[^。]{0,12}条[^。]{0,20}|作为第[^。]{1,10}条)\s*[：:]\s*$")


class Role(str, Enum):
    """What a line is to the outline."""

    TITLE = "title"
    CONTENTS = "contents"
    DIVISION = "division"
    HEADING = "heading"
    APPENDIX = "appendix"
    ARTICLE = "article"
    TEXT = "text"
    CLOSING = "closing"
    TABLE = "table"
    FOOTNOTE = "footnote"


@dataclass(slots=True)
class Line:
    """One line of the source.

    Attributes:
        text: exact.
        blocks: the block that it stands in; several where a page's end cut the paragraph.
        glue: what stands between it and the line before: a line break, or nothing inside a paragraph.
        quoted: whether it is quoted text of another document.
        label: of its 编, 章, 条, 附件 or item, where its role gives it one.
        heading: the text of a heading, without its label.
    """

    text: str
    blocks: tuple[Block, ...]
    glue: str = "\n"
    role: Role = Role.TEXT
    quoted: bool = False
    label: Label | None = None
    heading: str = ""

    @property
    def block(self) -> Block:
        """The block that the line starts in."""
        return self.blocks[0]


def is_layout_table(block: Block) -> bool:
    """Whether a table only frames text: one column, or nothing in it."""
    if block.table is None:
        return True
    rows = ((block.table.headers,) if block.table.headers else ()) + block.table.rows
    return all(len(row) <= 1 for row in rows)


def read_lines(blocks: Iterable[Block]) -> list[Line]:
    """Cut blocks into lines; empty ones are left out."""
    lines: list[Line] = []
    runs_on = False
    for block in blocks:
        if block.kind is BlockKind.TABLE and not is_layout_table(block):
            lines.append(Line(block.text, (block,), role=Role.TABLE))
            continue
        if block.kind is BlockKind.FOOTNOTE:
            lines.append(Line(block.text, (block,), role=Role.FOOTNOTE))
            continue
        for number, text in enumerate(block.text.split("\n")):
            if runs_on and number == 0 and (open_line := _last_text(lines)):
                open_line.text += text
                open_line.blocks += (block,)
            elif text.strip():
                lines.append(Line(text, (block,)))
        runs_on = block.runs_on
    mark_contents(lines)
    mark_quotes(lines)
    return lines


def _last_text(lines: list[Line]) -> Line | None:
    # A footnote at the foot of the page stands between the two halves of a paragraph.
    return next((line for line in reversed(lines) if line.role is Role.TEXT), None)


def mark_contents(lines: list[Line]) -> None:
    """Give the lines of a contents list (目录) their role: it ends where its first entry comes again."""
    for start, line in enumerate(lines[:-1]):
        if line.role is not Role.TEXT or not _CONTENTS.fullmatch(line.text):
            continue
        end = _contents_end(lines, start)
        for entry in lines[start:end]:
            entry.role = Role.CONTENTS


def _contents_end(lines: list[Line], start: int) -> int:
    first = _entry(lines[start + 1].text)
    for place in range(start + 2, min(start + _CONTENTS_LINES, len(lines))):
        line = lines[place]
        if line.role is not Role.TEXT or len(line.text) > _CONTENTS_CHARS:
            break
        if _entry(line.text) == first:
            return place
    end = start + 1
    while (
        end < len(lines)
        and lines[end].role is Role.TEXT
        and re.search(r"(?:\t|[.．…·]{2})\s*\d{1,4}\s*$", lines[end].text)
    ):
        end += 1
    return end


def _entry(text: str) -> str:
    return re.sub(r"\s", "", _LEADER.sub("", text))


def mark_quotes(lines: list[Line]) -> None:
    """Mark the lines that lie inside a quotation which an earlier line opened (将第X条修改为：“第X条 …)."""
    open_until = -1
    for place, line in enumerate(lines):
        line.quoted = place <= open_until
        if place > open_until and line.role is Role.TEXT:
            if _OPENS_QUOTE.search(line.text):
                open_until = _quote_end(lines, place)
            elif _INTRODUCES_QUOTE.search(line.text):
                open_until = place + 1


def _quote_end(lines: list[Line], start: int) -> int:
    depth = 0
    for place in range(start, min(start + _QUOTE_LINES, len(lines))):
        text = lines[place].text
        if place > start:
            # Each paragraph of a long quotation opens anew and only the last one closes.
            text = re.sub(r"^\s*[“「『]", "", text)
        depth += len(re.findall(r"[“「『]", text)) - len(re.findall(r"[”」』]", text))
        if depth <= 0:
            return place
    return start
