"""Styles: what a paragraph or a run inherits from its style, from what that is based on, and from the defaults."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ingest.parse.docx.names import Element, W, integer, is_on, w, w_child_value

__all__ = ["CharacterStyle", "ListReference", "ParagraphStyle", "StyleSheet"]

_BODY_LEVEL = 9  # w:outlineLvl 0 to 8 are headings, 9 is body text
_HEADING_NAME = re.compile(r"^(?:heading|标题) ?([1-9])$", re.IGNORECASE)
_CONTENTS_NAME = re.compile(r"^(?:toc (?:[1-9]|heading)|table of figures|目录(?: ?[1-9]|标题)?)$", re.IGNORECASE)
_SUBTITLE_NAMES = frozenset({"subtitle", "副标题"})
_TITLE_NAMES = frozenset({"title", "标题", "文档标题", "公文标题"})
_DEFAULT_HALF_POINTS = 20  # what Word takes where nothing says a size


@dataclass(frozen=True, slots=True)
class ListReference:
    """A paragraph's place in a list: ``level`` is None where the list has to say it (by the paragraph's style)."""

    number_id: str
    level: int | None


@dataclass(frozen=True, slots=True)
class ParagraphStyle:
    """What a paragraph style, with all that it is based on, says.

    Attributes:
        ids: the style's id and those that it is based on, nearest first.
        outline_level: 0 for the outermost heading; None for body text.
        half_points: the size of its text.
    """

    ids: tuple[str, ...] = ()
    name: str = ""
    outline_level: int | None = None
    alignment: str = ""
    list_reference: ListReference | None = None
    hidden: bool = False
    half_points: int = _DEFAULT_HALF_POINTS
    is_title: bool = False
    is_contents: bool = False


@dataclass(frozen=True, slots=True)
class CharacterStyle:
    """What a character style, with all that it is based on, says; ``half_points`` 0 where it says none."""

    hidden: bool = False
    half_points: int = 0


class StyleSheet:
    """The styles of one document.

    Args:
        root: of the styles part; None where the document has none.
    """

    def __init__(self, root: Element | None) -> None:
        self._elements: dict[str, Element] = {}
        self._default_paragraph: str | None = None
        self._paragraphs: dict[str | None, ParagraphStyle] = {}
        self._characters: dict[str, CharacterStyle] = {}
        defaults = None
        if root is not None:
            defaults = root.find(f"{W}docDefaults/{W}rPrDefault/{W}rPr")
            for element in root.iterchildren(w("style")):
                style_id = element.get(w("styleId"), "")
                self._elements.setdefault(style_id, element)
                if element.get(w("type")) == "paragraph" and element.get(w("default")) in {"1", "true", "on"}:
                    self._default_paragraph = style_id
        self._default_hidden = bool(is_on(defaults, "vanish"))
        self._default_half_points = integer(w_child_value(defaults, "sz")) or _DEFAULT_HALF_POINTS

    def paragraph(self, style_id: str | None) -> ParagraphStyle:
        """A paragraph style by id; the default one where the id is None or unknown."""
        known = style_id if style_id in self._elements else self._default_paragraph
        if known not in self._paragraphs:
            self._paragraphs[known] = self._resolve_paragraph(known)
        return self._paragraphs[known]

    def character(self, style_id: str | None) -> CharacterStyle:
        """A character style by id; one that says nothing where the id is None or unknown."""
        if style_id is None or style_id not in self._elements:
            return CharacterStyle()
        if style_id not in self._characters:
            chain = self._chain(style_id)
            self._characters[style_id] = CharacterStyle(
                hidden=bool(_nearest_switch(chain, "vanish")), half_points=_nearest_size(chain) or 0
            )
        return self._characters[style_id]

    def numbering_of(self, style_id: str) -> str | None:
        """The numId that a numbering style carries."""
        element = self._elements.get(style_id)
        return None if element is None else w_child_value(element.find(f"{W}pPr/{W}numPr"), "numId")

    def _chain(self, style_id: str | None) -> list[Element]:
        chain: list[Element] = []
        seen: set[str] = set()
        while style_id in self._elements and style_id not in seen:  # styles based on each other end the chain
            seen.add(style_id)
            chain.append(self._elements[style_id])
            style_id = w_child_value(chain[-1], "basedOn")
        return chain

    def _resolve_paragraph(self, style_id: str | None) -> ParagraphStyle:
        chain = self._chain(style_id)
        names = [w_child_value(element, "name") or "" for element in chain]
        properties = [element.find(w("pPr")) for element in chain]
        hidden = _nearest_switch(chain, "vanish")
        return ParagraphStyle(
            ids=tuple(element.get(w("styleId"), "") for element in chain),
            name=names[0] if names else "",
            outline_level=_outline_level(names, properties),
            alignment=next((value for item in properties if (value := w_child_value(item, "jc"))), ""),
            list_reference=_list_reference(properties),
            hidden=self._default_hidden if hidden is None else hidden,
            half_points=_nearest_size(chain) or self._default_half_points,
            is_title=any(name.lower() in _TITLE_NAMES for name in names) and names[0].lower() not in _SUBTITLE_NAMES,
            is_contents=any(_CONTENTS_NAME.match(name) for name in names),
        )


def _outline_level(names: list[str], properties: list[Element | None]) -> int | None:
    for name, item in zip(names, properties, strict=True):
        level = integer(w_child_value(item, "outlineLvl"))
        if level is not None:
            return level if 0 <= level < _BODY_LEVEL else None
        heading = _HEADING_NAME.match(name)  # Word's own heading styles have their level by name
        if heading:
            return int(heading.group(1)) - 1
    return None


def _list_reference(properties: list[Element | None]) -> ListReference | None:
    level: int | None = None
    for item in properties:
        numbering = None if item is None else item.find(w("numPr"))
        if numbering is None:
            continue
        if level is None:
            level = integer(w_child_value(numbering, "ilvl"))
        number_id = w_child_value(numbering, "numId")
        if number_id is not None:
            return ListReference(number_id, level)
    return None


def _nearest_switch(chain: list[Element], name: str) -> bool | None:
    for element in chain:
        value = is_on(element.find(w("rPr")), name)
        if value is not None:
            return value
    return None


def _nearest_size(chain: list[Element]) -> int | None:
    for element in chain:
        size = integer(w_child_value(element.find(w("rPr")), "sz"))
        if size:
            return size
    return None
