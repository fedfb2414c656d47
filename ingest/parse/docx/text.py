"""The text of one paragraph as Word shows it: the final text of tracked changes, field results, no hidden text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from ingest.parse.docx.fields import Field, is_contents_instruction, is_contents_link
from ingest.parse.docx.formulas import MATH, formula_text
from ingest.parse.docx.names import VML, Element, W, integer, is_on, mc, w, w_child_value
from ingest.parse.docx.styles import ParagraphStyle, StyleSheet
from ingest.parse.docx.symbols import has_private, readable, symbol

__all__ = ["Inline", "InlineReader", "NoteReference", "is_placeholder", "shown_branch"]

_XML_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
_XML_BLANKS = " \t\r\n"
# Inside a text element a line's end is a blank, and a soft hyphen is seen at a line's end only.
_TRANSLATED = frozenset("\n\r\u00ad")
_TRANSLATED_TO = str.maketrans({"\n": " ", "\r": None, "\u00ad": None})

_TEXT, _RUN, _RUN_PROPERTIES = w("t"), w("r"), w("rPr")
_FIELD_MARK, _INSTRUCTION = w("fldChar"), w("instrText")
_SKIPPED = frozenset(
    {w("del"), w("moveFrom"), w("pPr"), w("rPr"), w("sdtPr"), w("sdtEndPr"), w("smartTagPr"), w("customXmlPr")}
    | {w("delText"), w("delInstrText")}
)
_CHARACTERS = {
    w("tab"): "\t",
    w("ptab"): "\t",
    w("br"): "\n",
    w("cr"): "\n",
    w("noBreakHyphen"): "-",
    w("softHyphen"): "",
}
_DRAWINGS = frozenset({w("drawing"), w("pict"), w("object")})
_NOTES = {w("footnoteReference"): "footnotes", w("endnoteReference"): "endnotes"}
_ALTERNATIVES, _BOX, _WORD_ART = mc("AlternateContent"), w("txbxContent"), VML + "textpath"


class NoteReference(NamedTuple):
    """A footnote's or endnote's mark: ``part`` is ``footnotes`` or ``endnotes``."""

    part: str
    note_id: str


class _Look(NamedTuple):
    """What of a run's formatting matters here."""

    hidden: bool
    half_points: int


@dataclass(slots=True)
class Inline:
    """What the inline content of a paragraph amounts to.

    Attributes:
        pieces: its text, in pieces.
        linked: how many characters stand in links to headings, as contents lists have them.
        boxes: what floats in it, in order: ``w:txbxContent`` (text boxes) and ``v:textpath`` (word art).
        half_points: the largest size of its text.
        in_contents: whether a part was left out because it belongs to a contents list.
    """

    pieces: list[str] = field(default_factory=list)
    linked: int = 0
    boxes: list[Element] = field(default_factory=list)
    notes: list[NoteReference] = field(default_factory=list)
    half_points: int = 0
    in_contents: bool = False

    @property
    def text(self) -> str:
        """The paragraph's text."""
        return "".join(self.pieces)

    def add(self, other: Inline) -> None:
        """Append what follows: two paragraphs whose dividing mark was deleted."""
        self.pieces += other.pieces
        self.linked += other.linked
        self.boxes += other.boxes
        self.notes += other.notes
        self.half_points = max(self.half_points, other.half_points)
        self.in_contents = self.in_contents or other.in_contents


class InlineReader:
    """Reads paragraphs one after another; a field can begin in one and end in a later one."""

    def __init__(self, styles: StyleSheet) -> None:
        self._styles = styles
        self.fields: list[Field] = []
        self._contents_links = 0
        self._style = ParagraphStyle()
        self._inline = Inline()

    def read(self, paragraph: Element, style: ParagraphStyle) -> Inline:
        """Read a ``w:p`` whose paragraph style is ``style``."""
        self._style = style
        self._inline = Inline(in_contents=any(item.separated and item.is_contents for item in self.fields))
        self._contents_links = 0
        self._walk(paragraph)
        return self._inline

    def _walk(self, parent: Element) -> None:
        for child in parent:
            tag = child.tag
            if tag in _SKIPPED or not isinstance(tag, str):
                continue
            handler = _IN_PARAGRAPH.get(tag)
            if handler is None:
                self._walk(child)  # everything else only wraps: insertions, smart tags, text direction
            else:
                handler(self, child)

    def _run(self, run: Element) -> None:
        self._walk_run(run, self._look_of(run.find(_RUN_PROPERTIES)))

    def _walk_run(self, parent: Element, look: _Look) -> None:
        for child in parent:
            tag = child.tag
            if tag == _TEXT:
                if not look.hidden:
                    self._show(_text_of(child), look.half_points)
            elif tag == _FIELD_MARK:
                self._field_mark(child, look)
            elif tag == _INSTRUCTION:
                if self.fields and not self.fields[-1].separated:
                    self.fields[-1].instruction.append(child.text or "")
            elif tag == _ALTERNATIVES:
                self._walk_run(shown_branch(child), look)
            elif not look.hidden and tag in _IN_RUN:
                _IN_RUN[tag](self, child, look)

    def _look_of(self, properties: Element | None) -> _Look:
        if properties is None:
            return _Look(self._style.hidden, self._style.half_points)
        style = self._styles.character(w_child_value(properties, "rStyle"))
        hidden = is_on(properties, "vanish")
        if hidden is None:
            # vanish is a toggle (17.7.3): where both styles say it, the one undoes the other.
            hidden = self._style.hidden != style.hidden
        size = integer(w_child_value(properties, "sz")) or style.half_points or self._style.half_points
        return _Look(hidden, size)

    def _show(self, text: str, half_points: int = 0) -> None:
        if not text:
            return
        if self._muted():
            self._inline.in_contents = self._inline.in_contents or any(item.is_contents for item in self.fields)
            return
        self._inline.pieces.append(text)
        if not text.isspace():
            self._inline.half_points = max(self._inline.half_points, half_points)
        if self._contents_links or any(item.links_to_heading for item in self.fields):
            self._inline.linked += len(text)
        for item in self.fields:
            item.shown = True

    def _muted(self) -> bool:
        return any(item.mutes for item in self.fields)

    def _character(self, element: Element, look: _Look) -> None:
        self._show(_CHARACTERS[element.tag], look.half_points)

    def _symbol(self, element: Element, look: _Look) -> None:
        self._show(_symbol_of(element), look.half_points)

    def _ruby(self, element: Element, _: _Look) -> None:
        base = element.find(w("rubyBase"))
        if base is not None:
            self._walk(base)

    def _note(self, element: Element, _: _Look) -> None:
        if not self._muted():
            self._inline.notes.append(NoteReference(_NOTES[element.tag], element.get(w("id"), "")))

    def _drawing(self, element: Element, _: _Look) -> None:
        if not self._muted():
            self._boxes(element)

    def _boxes(self, drawing: Element) -> None:
        for child in drawing:
            if child.tag == _ALTERNATIVES:
                self._boxes(shown_branch(child))
            elif child.tag == _BOX or (child.tag == _WORD_ART and child.get("string")):
                self._inline.boxes.append(child)
            else:
                self._boxes(child)

    def _formula(self, element: Element) -> None:
        self._show(formula_text(element))

    def _alternatives(self, element: Element) -> None:
        self._walk(shown_branch(element))

    def _content_control(self, element: Element) -> None:
        content = element.find(w("sdtContent"))
        if content is not None and not is_placeholder(element):
            self._walk(content)

    def _hyperlink(self, element: Element) -> None:
        self._link(element, contents=element.get(w("anchor"), "").startswith("_Toc"))

    def _simple_field(self, element: Element) -> None:
        code = element.get(w("instr"), "")
        if is_contents_instruction(code):
            self._inline.in_contents = True
            return
        self._link(element, contents=is_contents_link(code))

    def _link(self, link: Element, *, contents: bool) -> None:
        self._contents_links += contents
        self._walk(link)
        self._contents_links -= contents

    def _field_mark(self, mark: Element, look: _Look) -> None:
        kind = mark.get(w("fldCharType"))
        if kind == "begin":
            self.fields.append(Field(mark))
        elif not self.fields:
            return
        elif kind == "separate":
            self.fields[-1].separated = True
        elif kind == "end":
            ended = self.fields.pop()
            if not ended.shown and not look.hidden:
                self._show(ended.value(), look.half_points)


_IN_PARAGRAPH: dict[str, Callable[[InlineReader, Element], None]] = {
    _RUN: InlineReader._run,
    _ALTERNATIVES: InlineReader._alternatives,
    w("hyperlink"): InlineReader._hyperlink,
    w("fldSimple"): InlineReader._simple_field,
    w("sdt"): InlineReader._content_control,
    MATH + "oMath": InlineReader._formula,
    MATH + "oMathPara": InlineReader._formula,
}
_IN_RUN: dict[str, Callable[[InlineReader, Element, _Look], None]] = {
    **dict.fromkeys(_CHARACTERS, InlineReader._character),
    **dict.fromkeys(_NOTES, InlineReader._note),
    **dict.fromkeys(_DRAWINGS, InlineReader._drawing),
    w("sym"): InlineReader._symbol,
    w("ruby"): InlineReader._ruby,
}


def shown_branch(alternatives: Element) -> Element:
    """The one branch of an ``mc:AlternateContent`` to read: the first that holds text, else the first."""
    branches = [child for child in alternatives if child.tag in {mc("Choice"), mc("Fallback")}]
    for branch in branches:
        if next(branch.iter(_TEXT, MATH + "t", _WORD_ART), None) is not None:
            return branch
    return branches[0] if branches else alternatives


def is_placeholder(content_control: Element) -> bool:
    """Whether a content control (``w:sdt``) is empty and shows only its prompt (点击此处输入文字)."""
    return bool(is_on(content_control.find(w("sdtPr")), "showingPlcHdr"))


def _text_of(element: Element) -> str:
    text = element.text or ""
    if element.get(_XML_SPACE) != "preserve":
        text = text.strip(_XML_BLANKS)  # as Word does
    if not _TRANSLATED.isdisjoint(text):
        text = text.translate(_TRANSLATED_TO)
    if has_private(text):
        fonts = None if element.getparent() is None else element.getparent().find(f"{_RUN_PROPERTIES}/{W}rFonts")
        text = readable(text, "" if fonts is None else fonts.get(w("ascii"), ""))
    return text


def _symbol_of(element: Element) -> str:
    try:
        code = int(element.get(w("char"), ""), 16)
    except ValueError:
        return ""
    return symbol(element.get(W + "font", ""), code)
