"""The text of one paragraph as Word shows it: the final text of tracked changes, field results, no hidden text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from ingest.parse.docx.fields import Field, is_contents_instruction, is_contents_link
from ingest.parse.docx.formulas import MATH, formula_text
from ingest.parse.docx.names import VML, W, Element, integer, is_on, mc, w, w_child_value
from ingest.parse.docx.styles import ParagraphStyle, StyleSheet
from ingest.parse.docx.symbols import symbol

__all__ = ["Inline", "InlineReader", "NoteReference", "is_placeholder", "shown_branch"]

_XML_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
_XML_BLANKS = " \t\r\n"
_BREAK_LINE = str.maketrans({"\n": " ", "\r": None})

_TEXT, _RUN, _RUN_PROPERTIES = w("t"), w("r"), w("rPr")
_SKIPPED = frozenset(
    {w("del"), w("moveFrom"), w("pPr"), w("rPr"), w("sdtPr"), w("sdtEndPr"), w("smartTagPr"), w("customXmlPr")}
    | {w("delText"), w("delInstrText"), w("rt"), w("rubyPr")}
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
_FORMULAS = frozenset({MATH + "oMath", MATH + "oMathPara"})
_NOTES = {w("footnoteReference"): "footnotes", w("endnoteReference"): "endnotes"}
_ALTERNATIVES, _BOX, _WORD_ART = mc("AlternateContent"), w("txbxContent"), VML + "textpath"


class NoteReference(NamedTuple):
    """A footnote's or endnote's mark: ``part`` is ``footnotes`` or ``endnotes``."""

    part: str
    note_id: str


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
            if tag == _RUN:
                self._run(child)
            elif tag in _SKIPPED:
                continue
            elif tag == w("hyperlink"):
                self._link(child, contents=(child.get(w("anchor")) or "").startswith("_Toc"))
            elif tag == w("fldSimple"):
                self._simple_field(child)
            elif tag in _FORMULAS:
                self._show(formula_text(child))
            elif tag == _ALTERNATIVES:
                self._walk(shown_branch(child))
            elif tag == w("sdt"):
                content = child.find(w("sdtContent"))
                if content is not None and not is_placeholder(child):
                    self._walk(content)
            elif isinstance(tag, str):
                self._walk(child)

    def _run(self, run: Element) -> None:
        properties = run.find(_RUN_PROPERTIES)
        hidden, half_points = self._run_style(properties)
        self._run_content(run, properties, hidden=hidden, half_points=half_points)

    def _run_content(self, run: Element, properties: Element | None, *, hidden: bool, half_points: int) -> None:
        for child in run:
            tag = child.tag
            if tag == w("fldChar"):
                self._field_mark(child, hidden=hidden)
            elif tag == w("instrText"):
                if self.fields and not self.fields[-1].separated:
                    self.fields[-1].instruction.append(child.text or "")
            elif hidden or tag in _SKIPPED:
                continue
            elif tag == _TEXT:
                self._show(_text_of(child), half_points)
            elif tag in _CHARACTERS:
                self._show(_CHARACTERS[tag])
            elif tag == w("sym"):
                self._show(_symbol_of(child), half_points)
            elif tag in _DRAWINGS:
                self._boxes(child)
            elif tag == _ALTERNATIVES:
                self._run_content(shown_branch(child), properties, hidden=hidden, half_points=half_points)
            elif tag == w("ruby"):
                base = child.find(w("rubyBase"))
                if base is not None:
                    self._walk(base)
            elif tag in _NOTES and not self._muted():
                self._inline.notes.append(NoteReference(_NOTES[tag], child.get(w("id"), "")))

    def _run_style(self, properties: Element | None) -> tuple[bool, int]:
        if properties is None:
            return self._style.hidden, self._style.half_points
        style = self._styles.character(w_child_value(properties, "rStyle"))
        hidden = is_on(properties, "vanish")
        if hidden is None:
            # vanish is a toggle (17.7.3): where both styles say it, the one undoes the other.
            hidden = self._style.hidden != style.hidden
        size = integer(w_child_value(properties, "sz")) or style.half_points or self._style.half_points
        return hidden, size

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

    def _link(self, link: Element, *, contents: bool) -> None:
        self._contents_links += contents
        self._walk(link)
        self._contents_links -= contents

    def _simple_field(self, element: Element) -> None:
        code = element.get(w("instr"), "")
        if is_contents_instruction(code):
            self._inline.in_contents = True
            return
        self._link(element, contents=is_contents_link(code))

    def _field_mark(self, mark: Element, *, hidden: bool) -> None:
        kind = mark.get(w("fldCharType"))
        if kind == "begin":
            self.fields.append(Field(mark))
        elif not self.fields:
            return
        elif kind == "separate":
            self.fields[-1].separated = True
        elif kind == "end":
            ended = self.fields.pop()
            if not ended.shown and not hidden:
                self._show(ended.value())

    def _boxes(self, drawing: Element) -> None:
        if self._muted():
            return
        for child in drawing:
            if child.tag == _ALTERNATIVES:
                self._boxes(shown_branch(child))
            elif child.tag == _BOX or (child.tag == _WORD_ART and child.get("string")):
                self._inline.boxes.append(child)
            else:
                self._boxes(child)


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
    return text.translate(_BREAK_LINE) if "\n" in text or "\r" in text else text


def _symbol_of(element: Element) -> str:
    try:
        code = int(element.get(w("char"), ""), 16)
    except ValueError:
        return ""
    return symbol(element.get(W + "font", ""), code)
