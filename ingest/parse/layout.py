"""What every parser yields: a document as blocks in reading order, with the place of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from orchestrator.knowledge.clause import Box, Provenance, Table

__all__ = ["Block", "BlockKind", "ParsedDocument"]


class BlockKind(str, Enum):
    """What a block is in its source."""

    TITLE = "title"
    HEADING = "heading"
    PARAGRAPH = "paragraph"
    TABLE = "table"
    FOOTNOTE = "footnote"


@dataclass(frozen=True, slots=True)
class Block:
    """One paragraph, heading, table or footnote.

    Attributes:
        text: exact text, automatic numbering included; a table's text is one line a row, cells joined by `` | ``.
        index: place in reading order, from 0, without gaps.
        level: 1 for the outermost heading; 0 where it is none.
        numbering: the part of ``text`` that the word processor made (``第一条``), empty where all was typed.
        centered: whether the source centres it: a hint for titles.
        page: from 1; 0 where the format has no pages.
        runs_on: whether the block goes on in the next one (a paragraph cut by a page's end).
    """

    kind: BlockKind
    text: str
    index: int
    level: int = 0
    numbering: str = ""
    centered: bool = False
    page: int = 0
    box: Box | None = None
    table: Table | None = None
    runs_on: bool = False


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """A source file, read.

    Attributes:
        media_type: what the content is, whatever the name says: ``application/pdf``.
        properties: what the format itself says of title, author, dates: ``{"title": …, "created": …}``.
        warnings: what was left out or repaired, one sentence each.
    """

    source: str
    media_type: str
    blocks: tuple[Block, ...]
    properties: dict[str, str] = field(default_factory=dict)
    provenance: tuple[Provenance, ...] = ()
    warnings: tuple[str, ...] = ()
