"""HTML pages: the main text as blocks, without scripts, menus and what is hidden."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from selectolax.lexbor import LexborHTMLParser, LexborNode

from ingest.parse.encoding import decode
from ingest.parse.html_tables import HtmlGrid
from ingest.parse.joining import is_wide
from ingest.parse.layout import Block, BlockKind, ParsedDocument
from ingest.parse.number_formats import format_number
from orchestrator.errors import DocumentError
from orchestrator.knowledge.clause import Table

__all__ = ["HTML_MEDIA_TYPE", "blocks_of_html", "read_html"]

HTML_MEDIA_TYPE = "text/html"

_DECLARED = re.compile(rb"(?i)<(?:meta|\?xml)[^>]{0,200}?(?:charset|encoding)\s*=\s*[\"']?\s*([a-z0-9_:.-]{2,40})")
_DECLARED_WITHIN = 4096

_DROPPED = frozenset({
    "script", "style", "noscript", "template", "head", "nav", "select", "option", "button", "input", "textarea",
    "iframe", "object", "embed", "svg", "canvas", "audio", "video", "dialog", "rt", "rp", "del",
})  # fmt: skip
_DROPPED_OUTSIDE_MAIN = frozenset({"footer", "aside", "header"})
_MENU_NAMES = frozenset({
    "nav", "navbar", "navigation", "menu", "footer", "breadcrumb", "breadcrumbs", "sidebar", "share",
    "copyright", "pagination",
})  # fmt: skip
_HIDDEN_STYLE = re.compile(r"(?i)display\s*:\s*none|visibility\s*:\s*hidden")
_CENTERED_STYLE = re.compile(r"(?i)text-align\s*:\s*center")
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_INLINE = frozenset({
    "a", "abbr", "b", "bdi", "bdo", "big", "cite", "code", "data", "em", "font", "i", "img", "ins", "kbd",
    "label", "mark", "q", "ruby", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time", "tt",
    "u", "var", "wbr", "rb", "o:p",
})  # fmt: skip
_MAIN_SHARE = 0.5  # of the page's text is in what counts as its main part
_TYPED_LABEL = re.compile(
    r"^\s*(?:[（(]?[一二三四五六七八九十\d]{1,3}[）)、．.]|第[一二三四五六七八九十百\d]+[编章节条款]|[①-⑳])"
)
_BLANKS = re.compile(r"[ \t\r\n\f]+")
_EDGE = " \t\n\u3000\xa0"
_BREAK = "\x00"


def read_html(path: Path, source: str) -> ParsedDocument:
    """Read an HTML page.

    Raises:
        DocumentError: ``UNDECODABLE``, or ``NO_TEXT`` where nothing is left to read.
    """
    data = path.read_bytes()
    declared = _DECLARED.search(data[:_DECLARED_WITHIN])
    decoded = decode(data, source, declared.group(1).decode("ascii") if declared else "")
    tree = LexborHTMLParser(decoded.text)
    blocks = _blocks(tree)
    if not blocks:
        raise DocumentError(
            source,
            "the page holds no text of its own.",
            kind="NO_TEXT",
            hint="If a script fills it, print it to PDF in a browser and ingest that.",
        )
    return ParsedDocument(
        source=source,
        media_type=HTML_MEDIA_TYPE,
        blocks=_with_title(blocks),
        properties={"encoding": decoded.encoding, **_properties(tree)},
        warnings=(decoded.warning,) if decoded.warning else (),
    )


def blocks_of_html(markup: str) -> list[Block]:
    """The blocks of a piece of HTML."""
    return _blocks(LexborHTMLParser(markup))


def _blocks(tree: LexborHTMLParser) -> list[Block]:
    body = tree.body
    if body is None:
        return []
    walk = _Walk()
    main = _main_part(body)
    walk.read(main, in_main=main is not body)
    return walk.found


def _main_part(body: LexborNode) -> LexborNode:
    """The one ``main`` or ``article`` that holds most of the text, else the body."""
    whole = len(body.text(deep=True))
    for selector in ("main", "[role=main]", "article"):
        found = body.css(selector)
        if len(found) == 1 and len(found[0].text(deep=True)) >= _MAIN_SHARE * whole:
            return found[0]
    return body


def _properties(tree: LexborHTMLParser) -> dict[str, str]:
    found: dict[str, str] = {}
    title = tree.css_first("title")
    if title is not None:
        found["title"] = _BLANKS.sub(" ", title.text(deep=True)).strip()
    for meta in tree.css("meta[name]"):
        name = (meta.attributes.get("name") or "").lower()
        if name in {"author", "keywords", "description"} or name in _GOVERNMENT_FIELDS:
            found[_GOVERNMENT_FIELDS.get(name, name)] = (meta.attributes.get("content") or "").strip()
    return {name: value for name, value in found.items() if value}


# Fields that the sites of Chinese authorities carry by regulation.
_GOVERNMENT_FIELDS = {"pubdate": "created", "contentsource": "content_source", "articletitle": "article_title"}


def _with_title(blocks: list[Block]) -> tuple[Block, ...]:
    """The only ``h1`` is the title."""
    outermost = [block for block in blocks if block.kind is BlockKind.HEADING and block.level == 1]
    if len(outermost) != 1:
        return tuple(blocks)
    return tuple(replace(block, kind=BlockKind.TITLE, level=0) if block is outermost[0] else block for block in blocks)


class _Walk:
    """Goes through a page and gathers text until a block ends."""

    def __init__(self) -> None:
        self.found: list[Block] = []
        self._pieces: list[str] = []
        self._marker = ""

    def read(self, node: LexborNode, *, in_main: bool) -> None:
        self._children(node, in_main=in_main, centered=False)
        self._end(BlockKind.PARAGRAPH, centered=False)

    def _children(self, node: LexborNode, *, in_main: bool, centered: bool) -> None:
        for child in _children_of(node):
            tag = child.tag or ""
            if tag == "-text":
                self._pieces.append(child.text(deep=False) or "")
            elif tag == "br":
                self._pieces.append(_BREAK)
            elif tag in _INLINE:
                if not _is_dropped(child, tag, in_main=in_main):
                    self._children(child, in_main=in_main, centered=centered)
            elif not tag.startswith(("-", "!")) and not _is_dropped(child, tag, in_main=in_main):
                self._block(child, tag, in_main=in_main or tag in {"main", "article"}, centered=centered)

    def _block(self, node: LexborNode, tag: str, *, in_main: bool, centered: bool) -> None:
        self._end(BlockKind.PARAGRAPH, centered=centered)
        centered = centered or _is_centered(node, tag)
        if tag in _HEADINGS:
            self._children(node, in_main=True, centered=centered)
            self._end(BlockKind.HEADING, level=_HEADINGS[tag], centered=centered)
        elif tag == "table":
            self._table(node, in_main=in_main, centered=centered)
        elif tag == "ol":
            self._list(node, in_main=in_main)
        elif tag == "pre":
            self._preformatted(node)
        else:
            self._children(node, in_main=in_main, centered=centered)
            self._end(BlockKind.PARAGRAPH, centered=centered)

    def _list(self, node: LexborNode, *, in_main: bool) -> None:
        number = _whole(node.attributes.get("start"), 1)
        style = node.attributes.get("type") or "1"
        for child in _children_of(node):
            if child.tag != "li":
                continue
            number = _whole(child.attributes.get("value"), number)
            self._marker = f"{_list_number(number, style)}."
            self._block(child, "li", in_main=in_main, centered=False)
            self._marker = ""
            number += 1

    def _preformatted(self, node: LexborNode) -> None:
        for line in node.text(deep=True).splitlines():
            self._pieces.append(line)
            self._end(BlockKind.PARAGRAPH, centered=False)

    def _table(self, node: LexborNode, *, in_main: bool, centered: bool) -> None:
        grid = HtmlGrid.read(node, cell_text)
        if grid is None:  # a table that only lays out the page
            self._children(node, in_main=in_main, centered=centered)
            self._end(BlockKind.PARAGRAPH, centered=centered)
        elif grid.text.strip(" |\n"):
            self._add(BlockKind.TABLE, grid.text, table=grid.table)

    def _end(self, kind: BlockKind, *, centered: bool, level: int = 0) -> None:
        text, self._pieces = "".join(self._pieces), []
        parts = _split_breaks(_collapse(text)) if kind is BlockKind.PARAGRAPH else [_collapse(text).replace(_BREAK, "")]
        for part in parts:
            shown = part.strip(_EDGE)
            if not shown:
                continue
            marker, self._marker = self._marker, ""
            if marker and not _TYPED_LABEL.match(shown):
                self._add(kind, f"{marker} {shown}", level=level, centered=centered, numbering=marker)
            else:
                self._add(kind, shown, level=level, centered=centered)

    def _add(
        self,
        kind: BlockKind,
        text: str,
        *,
        level: int = 0,
        centered: bool = False,
        numbering: str = "",
        table: Table | None = None,
    ) -> None:
        self.found.append(
            Block(kind, text, len(self.found), level=level, centered=centered, numbering=numbering, table=table)
        )


def cell_text(node: LexborNode) -> str:
    """The text of a cell: one line a block."""
    walk = _Walk()
    walk.read(node, in_main=True)
    return "\n".join(block.text for block in walk.found)


def _children_of(node: LexborNode) -> Iterator[LexborNode]:
    child = node.child
    while child is not None:
        yield child
        child = child.next


def _is_dropped(node: LexborNode, tag: str, *, in_main: bool) -> bool:
    if tag in _DROPPED or (not in_main and tag in _DROPPED_OUTSIDE_MAIN and node.css_first("h1") is None):
        return True
    attributes = node.attributes
    if not attributes:
        return False
    if "hidden" in attributes or (attributes.get("aria-hidden") or "") == "true":
        return True
    if _HIDDEN_STYLE.search(attributes.get("style") or ""):
        return True
    names = f"{attributes.get('class') or ''} {attributes.get('id') or ''} {attributes.get('role') or ''}".lower()
    return not in_main and not _MENU_NAMES.isdisjoint(re.split(r"[\s_-]+", names))


def _is_centered(node: LexborNode, tag: str) -> bool:
    attributes = node.attributes
    return (
        tag == "center"
        or (attributes.get("align") or "").lower() == "center"
        or bool(_CENTERED_STYLE.search(attributes.get("style") or ""))
    )


def _collapse(text: str) -> str:
    """White space as a browser shows it; between ideographs a wrapped line leaves none."""

    def blank(match: re.Match[str]) -> str:
        before, after = text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]
        return "" if "\n" in match.group() and is_wide(before) and is_wide(after) else " "

    return _BLANKS.sub(blank, text)


def _split_breaks(text: str) -> list[str]:
    """Paragraphs made with ``<br>``: two of them, or one before an indent, part paragraphs; another is a new line."""
    parts = re.split(rf"(?:{_BREAK} ?){{2,}}|{_BREAK} ?(?=[\u3000\xa0]{{2}})", text)
    return ["\n".join(line.strip(_EDGE) for line in part.split(_BREAK)).strip() for part in parts]


def _whole(text: str | None, default: int) -> int:
    try:
        return int(text or "")
    except ValueError:
        return default


def _list_number(number: int, style: str) -> str:
    formats = {"a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}
    return format_number(number, formats.get(style, "decimal"))
