"""A Word document as blocks in reading order, as Word shows it once all tracked changes are accepted.

A footnote or endnote follows the paragraph (or table) that holds its mark; the mark itself is left out of the text.
A text box follows the paragraph in which it is anchored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ingest.parse.docx.fields import drop_unbalanced_marks
from ingest.parse.docx.names import Element, W, integer, is_on, mc, w, w_child_value
from ingest.parse.docx.numbering import Label, Numbering
from ingest.parse.docx.package import Package
from ingest.parse.docx.properties import core_properties
from ingest.parse.docx.styles import ListReference, ParagraphStyle, StyleSheet
from ingest.parse.docx.tables import read_grid
from ingest.parse.docx.text import Inline, InlineReader, NoteReference, is_placeholder, shown_branch
from ingest.parse.docx.titles import mark_titles
from ingest.parse.layout import Block, BlockKind, ParsedDocument
from orchestrator.errors import DocumentError
from orchestrator.knowledge.clause import Table

__all__ = ["DOCX_MEDIA_TYPE", "read_docx"]

DOCX_MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"

_CONTENTS_TITLE = re.compile(r"^\s*目\s*[录錄次]\s*$")
# What a contents entry has besides its link: leaders, a page number, blanks.
_CONTENTS_REST = re.compile(r"[\s.…·\d]*")
_TRANSPARENT = frozenset({w("customXml"), w("ins"), w("moveTo"), w("smartTag"), w("sdtContent")})
_EMBEDDED = {w("altChunk"): "an embedded file", w("subDoc"): "a linked sub-document"}
_NOTE_KINDS = {"footnotes": w("footnote"), "endnotes": w("endnote")}
_EDGE_BLANKS = " \t\n"


@dataclass(slots=True)
class Draft:
    """A block that has no index yet."""

    kind: BlockKind
    text: str
    level: int = 0
    numbering: str = ""
    centered: bool = False
    table: Table | None = None
    half_points: int = 0


@dataclass(slots=True)
class _Pending:
    """Text whose paragraph mark was deleted or is hidden: it goes on in the next paragraph."""

    inline: Inline
    paragraph: Element
    keeps_format: bool


def read_docx(path: Path, source: str) -> ParsedDocument:
    """Read a Word document.

    Raises:
        DocumentError: ``TRUNCATED``, ``TOO_LARGE``, ``ENCRYPTED``, or ``NO_TEXT`` where nothing is left to read.
    """
    with Package(path, source) as package:
        main = package.main_part()
        root = package.tree(main)
        body = None if root is None else root.find(w("body"))
        if root is None or body is None:
            raise DocumentError(
                source,
                "the package has no document body.",
                kind="TRUNCATED",
                hint="Open it in Word, save it anew and ingest it again.",
            )
        story = _Story(package, main)
        drafts = story.read(body)
        properties = core_properties(package)
    if not drafts:
        raise DocumentError(
            source,
            "the document holds no text.",
            kind="NO_TEXT",
            hint="If its pages are pictures, export it as PDF: reading pictures (OCR) comes later.",
        )
    mark_titles(drafts)
    return ParsedDocument(
        source=source,
        media_type=DOCX_MEDIA_TYPE,
        blocks=tuple(_block(draft, index) for index, draft in enumerate(drafts)),
        properties=properties,
        warnings=tuple(dict.fromkeys(story.warnings)),
    )


def _block(draft: Draft, index: int) -> Block:
    return Block(
        kind=draft.kind,
        text=draft.text,
        index=index,
        level=draft.level,
        numbering=draft.numbering,
        centered=draft.centered,
        table=draft.table,
    )


@dataclass(slots=True)
class _Notes:
    """Footnotes and endnotes by their marks; each is given out once."""

    bodies: dict[NoteReference, Element] = field(default_factory=dict)

    def take(self, reference: NoteReference) -> Element | None:
        return self.bodies.pop(reference, None)


class _Story:
    """The walk through a document: counters, open fields and notes go on from block to block."""

    def __init__(self, package: Package, main: str) -> None:
        self.warnings: list[str] = []
        self._styles = StyleSheet(package.tree(package.related(main, "styles")))
        self._numbering = Numbering(package.tree(package.related(main, "numbering")), self._styles)
        self._inline = InlineReader(self._styles)
        self._notes = _Notes()
        root = package.tree(main)
        if root is not None:
            drop_unbalanced_marks(root)
        for part, tag in _NOTE_KINDS.items():
            notes = package.tree(package.related(main, part))
            if notes is None:
                continue
            drop_unbalanced_marks(notes)
            for note in notes.iterchildren(tag):
                # Separators and their kin have a type; notes proper have none, or say "normal".
                if note.get(w("type"), "normal") == "normal":
                    self._notes.bodies[NoteReference(part, note.get(w("id"), ""))] = note

    def read(self, container: Element) -> list[Draft]:
        """The blocks of a body, a cell, a text box or a note."""
        drafts: list[Draft] = []
        pending: _Pending | None = None
        for element in self._flatten(container, drafts):
            if element.tag == w("p"):
                pending = self._paragraph(element, pending, drafts)
                continue
            if pending is not None:
                self._emit(pending.inline, pending.paragraph, drafts)
                pending = None
            self._table(element, drafts)
        if pending is not None:
            self._emit(pending.inline, pending.paragraph, drafts)
        return drafts

    def _flatten(self, container: Element, drafts: list[Draft]) -> Iterator[Element]:
        """Paragraphs and tables, through everything that merely wraps them."""
        for child in container:
            tag = child.tag
            if tag in {w("p"), w("tbl")}:
                yield child
            elif tag == w("sdt"):
                yield from self._flatten_control(child, drafts)
            elif tag in _TRANSPARENT:
                yield from self._flatten(child, drafts)
            elif tag == mc("AlternateContent"):
                yield from self._flatten(shown_branch(child), drafts)
            elif tag in _EMBEDDED:
                self.warnings.append(f"{_EMBEDDED[tag]} inside the document was left out; ingest it by itself.")

    def _flatten_control(self, control: Element, drafts: list[Draft]) -> Iterator[Element]:
        gallery = control.find(f"{W}sdtPr/{W}docPartObj/{W}docPartGallery")
        if gallery is not None and gallery.get(w("val"), "").lower() == "table of contents":
            _drop_contents_title(drafts)
            return
        content = control.find(w("sdtContent"))
        if content is not None and not is_placeholder(control):
            yield from self._flatten(content, drafts)

    def _paragraph(self, paragraph: Element, pending: _Pending | None, drafts: list[Draft]) -> _Pending | None:
        properties = paragraph.find(w("pPr"))
        style = self._style_of(properties)
        inline = self._inline.read(paragraph, style)
        mark = None if properties is None else properties.find(w("rPr"))
        deleted = mark is not None and (mark.find(w("del")) is not None or mark.find(w("moveFrom")) is not None)
        hidden = self._mark_hidden(mark, style)
        if pending is not None:
            pending.inline.add(inline)
            inline = pending.inline
            if pending.keeps_format:
                paragraph = pending.paragraph
        if deleted or (hidden and inline.text.strip()):
            # The text after a deleted mark gives the joined paragraph its format; a hidden mark (a style
            # separator) leaves a heading before the text that runs on in the same line.
            return _Pending(inline, paragraph, keeps_format=hidden and not deleted)
        if hidden and not inline.boxes and not inline.notes:
            return None  # nothing of it is shown, not even its number
        self._emit(inline, paragraph, drafts)
        return None

    def _mark_hidden(self, mark: Element | None, style: ParagraphStyle) -> bool:
        if mark is None:
            return style.hidden
        hidden = is_on(mark, "vanish")
        if hidden is None:
            return style.hidden != self._styles.character(w_child_value(mark, "rStyle")).hidden
        return hidden

    def _style_of(self, properties: Element | None) -> ParagraphStyle:
        return self._styles.paragraph(w_child_value(properties, "pStyle"))

    def _emit(self, inline: Inline, paragraph: Element, drafts: list[Draft]) -> None:
        properties = paragraph.find(w("pPr"))
        style = self._style_of(properties)
        text = inline.text
        if _is_contents(inline, style, text):
            _drop_contents_title(drafts)
            return
        label = self._label(properties, style)
        draft = _draft(text, label, properties, style, inline.half_points)
        if draft.text and not draft.text.isspace():
            drafts.append(draft)
        for box in inline.boxes:
            drafts.extend(self._box(box))
        drafts.extend(self._footnotes(inline.notes))

    def _label(self, properties: Element | None, style: ParagraphStyle) -> Label | None:
        reference = _list_reference(properties, style)
        return None if reference is None else self._numbering.next_label(reference, style.ids)

    def _box(self, box: Element) -> list[Draft]:
        if box.tag != w("txbxContent"):  # word art
            return [Draft(BlockKind.PARAGRAPH, box.get("string", "").strip())]
        return self._apart(box)

    def _apart(self, container: Element) -> list[Draft]:
        """Read a container whose fields are its own."""
        outer, self._inline.fields = self._inline.fields, []
        drafts = self.read(container)
        self._inline.fields = outer
        return drafts

    def _footnotes(self, references: list[NoteReference]) -> list[Draft]:
        drafts = []
        for reference in references:
            note = self._notes.take(reference)
            if note is None:
                continue
            inner = self._apart(note)
            text = "\n".join(draft.text for draft in inner if draft.kind is not BlockKind.FOOTNOTE).strip(_EDGE_BLANKS)
            if text:
                drafts.append(Draft(BlockKind.FOOTNOTE, text))
            drafts += [draft for draft in inner if draft.kind is BlockKind.FOOTNOTE]
        return drafts

    def _table(self, element: Element, drafts: list[Draft]) -> None:
        notes: list[Draft] = []
        cells: list[list[Draft]] = []

        def read_cell(cell: Element) -> str:
            inner = self.read(cell)
            notes.extend(draft for draft in inner if draft.kind is BlockKind.FOOTNOTE)
            cells.append(inner)
            return "\n".join(draft.text for draft in inner if draft.kind is not BlockKind.FOOTNOTE)

        grid = read_grid(element, read_cell)
        if grid.is_frame:
            drafts.extend(cells[0] if cells else ())
            return
        if any(cell.text for row in grid.rows for cell in row):
            drafts.append(Draft(BlockKind.TABLE, grid.text(), table=grid.table()))
        drafts.extend(notes)


def _draft(
    text: str, label: Label | None, properties: Element | None, style: ParagraphStyle, half_points: int
) -> Draft:
    text = text.strip(_EDGE_BLANKS)
    numbering = "" if label is None else label.text
    if label is not None:
        separator = "" if label.text[-1:].isspace() else label.separator
        text = f"{label.text}{separator}{text}".rstrip(_EDGE_BLANKS)
    direct = integer(w_child_value(properties, "outlineLvl"))
    outline = style.outline_level if direct is None else (direct if 0 <= direct < 9 else None)
    kind, level = BlockKind.PARAGRAPH, 0
    if style.is_title:
        kind = BlockKind.TITLE
    elif outline is not None:
        kind, level = BlockKind.HEADING, outline + 1
    return Draft(
        kind=kind,
        text=text,
        level=level,
        numbering=numbering,
        centered=(w_child_value(properties, "jc") or style.alignment) == "center",
        half_points=half_points,
    )


def _list_reference(properties: Element | None, style: ParagraphStyle) -> ListReference | None:
    direct = None if properties is None else properties.find(w("numPr"))
    inherited = style.list_reference
    if direct is None:
        return inherited
    level = integer(w_child_value(direct, "ilvl"))
    number_id = w_child_value(direct, "numId")
    if number_id is not None:
        return ListReference(number_id, level)
    return (
        None if inherited is None else ListReference(inherited.number_id, inherited.level if level is None else level)
    )


def _is_contents(inline: Inline, style: ParagraphStyle, text: str) -> bool:
    if style.is_contents or (inline.in_contents and not text.strip()):
        return True
    if not inline.linked:
        return False
    # A sentence may refer to a heading by such a link: only what is nothing but the link is a contents entry.
    return inline.linked >= len(text.strip()) or _CONTENTS_REST.fullmatch(text[inline.linked :]) is not None


def _drop_contents_title(drafts: list[Draft]) -> None:
    if drafts and _CONTENTS_TITLE.match(drafts[-1].text):
        drafts.pop()
