"""Markdown: headings, paragraphs, lists with their numbers as typed, tables, front matter as properties."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token

from ingest.parse.encoding import decode
from ingest.parse.html import blocks_of_html
from ingest.parse.joining import join_lines
from ingest.parse.layout import Block, BlockKind, ParsedDocument
from orchestrator.errors import DocumentError
from orchestrator.knowledge.clause import Table

__all__ = ["MARKDOWN_MEDIA_TYPE", "read_markdown"]

MARKDOWN_MEDIA_TYPE = "text/markdown"

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_MAX_FRONT_MATTER_CHARS = 20_000
_BREAK_TAG = re.compile(r"(?i)<br\s*/?>")
# Two lines of one Markdown paragraph are two paragraphs of a statute where the second begins as clauses do.
_CLAUSE_START = re.compile(
    r"^\s*(?:第[一二三四五六七八九十百千零〇○\d]+[编章节条款][之\s\u3000]|[（(][一二三四五六七八九十]{1,3}[）)]|[一二三四五六七八九十]{1,3}、)"
)
_SENTENCE_END = re.compile(r"[。；：！？][”’」』）)]?$")


def read_markdown(path: Path, source: str) -> ParsedDocument:
    """Read a Markdown file (CommonMark with tables).

    Raises:
        DocumentError: ``UNDECODABLE``, or ``NO_TEXT`` where nothing is left to read.
    """
    decoded = decode(path.read_bytes(), source)
    warnings = [decoded.warning] if decoded.warning else []
    text = decoded.text.replace("\r\n", "\n").replace("\r", "\n")
    properties, body = _front_matter(text, warnings)
    # HTML stays in the text as HTML: it is read by the reader of HTML, never run.
    tokens = MarkdownIt("commonmark", {"maxNesting": 100}).enable("table").parse(body)
    blocks = _Blocks()
    blocks.read(tokens)
    if not blocks.found:
        raise DocumentError(source, "the file holds no text.", kind="NO_TEXT", hint="Check where it came from.")
    return ParsedDocument(
        source=source,
        media_type=MARKDOWN_MEDIA_TYPE,
        blocks=_with_title(blocks.found),
        properties={"encoding": decoded.encoding, **properties},
        warnings=tuple(warnings),
    )


def _front_matter(text: str, warnings: list[str]) -> tuple[dict[str, str], str]:
    match = _FRONT_MATTER.match(text)
    if match is None:
        return {}, text
    if len(match.group(1)) > _MAX_FRONT_MATTER_CHARS:
        warnings.append("The front matter is too long and was left out.")
        return {}, text[match.end() :]
    try:
        found: Any = yaml.load(match.group(1), Loader=_PlainLoader)  # noqa: S506 (derived from SafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError):
        # A rule between two paragraphs looks the same: without key and value it is text.
        return {}, text
    if not isinstance(found, dict):
        return {}, text
    flat = {str(key): _flat(value) for key, value in found.items()}
    return {key: value for key, value in flat.items() if value}, text[match.end() :]


class _PlainLoader(yaml.SafeLoader):
    """Leaves scalars as they are typed: a date stays a date's text. Aliases, the way to blow up YAML, are refused."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not read")
        return super().compose_node(parent, index)


_PlainLoader.yaml_implicit_resolvers = {}


def _flat(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_flat(item) for item in value)
    if isinstance(value, dict):
        return "; ".join(f"{key}: {_flat(item)}" for key, item in value.items())
    return str(value if value is not None else "").strip()


class _Blocks:
    """Turns tokens into blocks."""

    def __init__(self) -> None:
        self.found: list[Block] = []
        self._markers: list[str] = []  # of the list item whose first paragraph is still to come

    def read(self, tokens: Sequence[Token]) -> None:
        place = 0
        while place < len(tokens):
            token = tokens[place]
            if token.type == "table_open":
                end = next(i for i in range(place, len(tokens)) if tokens[i].type == "table_close")
                self._table(tokens[place:end])
                place = end
            elif token.type == "heading_open":
                self._add(BlockKind.HEADING, _inline(tokens[place + 1]), level=int(token.tag[1:]))
                place += 2
            elif token.type == "list_item_open":
                self._markers = [f"{token.info}{token.markup}"] if token.info else []
            elif token.type == "inline":
                self._paragraph(_inline(token))
            elif token.type in {"code_block", "fence"}:
                # Four blanks before a line are an indent in Chinese texts more often than code.
                for line in token.content.split("\n"):
                    self._paragraph(line.strip())
            elif token.type == "html_block":
                for block in blocks_of_html(token.content):
                    self._add(block.kind, block.text, level=block.level, table=block.table)
            place += 1

    def _paragraph(self, text: str) -> None:
        marker = self._markers.pop() if self._markers else ""
        for part in _split_clauses(text):
            self._add(BlockKind.PARAGRAPH, f"{marker} {part}".strip())
            marker = ""

    def _table(self, tokens: Sequence[Token]) -> None:
        rows: list[list[str]] = []
        for token in tokens:
            if token.type == "tr_open":
                rows.append([])
            elif token.type == "inline":
                rows[-1].append(_inline(token))
        if not any(any(row) for row in rows):
            return
        text = "\n".join(" | ".join(" ".join(cell.split("\n")) for cell in row) for row in rows)
        table = Table(headers=tuple(rows[0]), rows=tuple(tuple(row) for row in rows[1:]))
        self._add(BlockKind.TABLE, text, table=table)

    def _add(self, kind: BlockKind, text: str, *, level: int = 0, table: Table | None = None) -> None:
        if text.strip():
            self.found.append(Block(kind, text, len(self.found), level=level, table=table))


def _inline(token: Token) -> str:
    """The text of inline content; lines that the author wrapped are joined, but keep a mark for clauses."""
    pieces: list[str] = []
    for child in token.children or ():
        if child.type in {"text", "code_inline", "text_special"}:
            pieces.append(child.content)
        elif child.type == "softbreak":
            pieces.append(_SOFT_BREAK)
        elif child.type == "hardbreak" or (child.type == "html_inline" and _BREAK_TAG.match(child.content)):
            pieces.append("\n")
        elif child.type == "image":
            pieces.append(child.content)
    return _join_soft_breaks("".join(pieces))


_SOFT_BREAK = "\x1e"  # a record separator: no text holds it, `encoding` and `commonmark` see to that


def _join_soft_breaks(text: str) -> str:
    if _SOFT_BREAK not in text:
        return text.strip()
    joined: list[list[str]] = []
    for line in text.split(_SOFT_BREAK):
        if joined and not (_CLAUSE_START.match(line) and _SENTENCE_END.search(joined[-1][-1].strip())):
            joined[-1].append(line)
        else:
            joined.append([line])
    return _SOFT_BREAK.join(join_lines(lines) for lines in joined)


def _split_clauses(text: str) -> list[str]:
    return text.split(_SOFT_BREAK)


def _with_title(blocks: list[Block]) -> tuple[Block, ...]:
    """The only first-level heading, where it comes first, is the title."""
    first = blocks[0]
    outermost = [block for block in blocks if block.kind is BlockKind.HEADING and block.level == 1]
    if outermost != [first]:
        return tuple(blocks)
    return (Block(BlockKind.TITLE, first.text, 0), *blocks[1:])
