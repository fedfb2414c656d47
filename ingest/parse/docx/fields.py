"""Field codes: a field shows its result, never its instruction; a contents list shows nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ingest.parse.docx.names import Element, W, integer, is_on, w, w_child_value

__all__ = ["Field", "drop_unbalanced_marks", "is_contents_instruction", "is_contents_link"]

_CIRCLED = re.compile(r"\\o(?:\\a[clr])*\s*\(\s*[○〇◯Oo]\s*[,，;；]\s*(\w{1,2})\s*\)", re.IGNORECASE)
_FRACTION = re.compile(r"\\f\s*\(([^(),;]*)[,，;；]([^()]*)\)", re.IGNORECASE)
_CIRCLED_IDEOGRAPHS = "一二三四五六七八九十"
_CONTENTS_BOOKMARK = re.compile(r'HYPERLINK\s.*"_Toc', re.IGNORECASE)
_DELETED = frozenset({w("del"), w("moveFrom")})


@dataclass(slots=True)
class Field:
    """A field that has begun and not ended.

    Attributes:
        begin: the mark that opened it: a form field keeps its value there.
        separated: whether the result has begun.
        shown: whether the result held any text.
    """

    begin: Element | None = None
    instruction: list[str] = field(default_factory=list)
    separated: bool = False
    shown: bool = False

    @property
    def is_contents(self) -> bool:
        """Whether the field is a contents list."""
        return is_contents_instruction("".join(self.instruction))

    @property
    def links_to_heading(self) -> bool:
        """Whether the field is a link from a contents list to a heading."""
        return is_contents_link("".join(self.instruction))

    @property
    def mutes(self) -> bool:
        """Whether text inside it is not to be read now."""
        return not self.separated or self.is_contents

    def value(self) -> str:
        """What Word shows for a field that stores no result: a tick box, a choice, a circled number."""
        code = "".join(self.instruction).strip()
        name = code.split(maxsplit=1)[0].upper() if code else ""
        if name == "FORMCHECKBOX":
            return self._tick_box()
        if name == "FORMDROPDOWN":
            return self._choice()
        return _equation(code) if name == "EQ" else ""

    def _tick_box(self) -> str:
        box = None if self.begin is None else self.begin.find(f"{W}ffData/{W}checkBox")
        checked = is_on(box, "checked")
        if checked is None:
            checked = is_on(box, "default")
        return "☑" if checked else "☐"

    def _choice(self) -> str:
        choices = None if self.begin is None else self.begin.find(f"{W}ffData/{W}ddList")
        if choices is None:
            return ""
        entries = [item.get(w("val"), "") for item in choices.iterchildren(w("listEntry"))]
        picked = integer(w_child_value(choices, "result") or w_child_value(choices, "default")) or 0
        return entries[picked] if 0 <= picked < len(entries) else ""


def is_contents_instruction(code: str) -> bool:
    """Whether an instruction makes a contents list."""
    words = code.split(maxsplit=1)
    return bool(words) and words[0].upper() == "TOC"


def is_contents_link(code: str) -> bool:
    """Whether an instruction links to a heading as contents lists do."""
    return bool(_CONTENTS_BOOKMARK.search(code))


def drop_unbalanced_marks(root: Element) -> None:
    """Take out the marks of fields that never end or never began: they would swallow the rest of the document."""
    open_marks: list[list[Element]] = []
    stray: list[Element] = []
    for mark in root.iter(w("fldChar")):
        if any(parent.tag in _DELETED for parent in mark.iterancestors()):
            continue
        kind = mark.get(w("fldCharType"))
        if kind == "begin":
            open_marks.append([mark])
        elif not open_marks:
            stray.append(mark)
        elif kind == "end":
            open_marks.pop()
        else:
            open_marks[-1].append(mark)
    for mark in [*stray, *(mark for marks in open_marks for mark in marks)]:
        parent = mark.getparent()
        if parent is not None:
            parent.remove(mark)


def _equation(code: str) -> str:
    """The two uses of EQ that Chinese documents make: a number in a circle, and a fraction."""
    circled = _CIRCLED.search(code)
    if circled:
        inner = circled.group(1)
        number = integer(inner)
        if number is not None and 1 <= number <= 20:
            return chr(ord("①") + number - 1)
        if inner in _CIRCLED_IDEOGRAPHS:
            return chr(ord("㊀") + _CIRCLED_IDEOGRAPHS.index(inner))
        return f"○{inner}"
    fraction = _FRACTION.search(code)
    return f"{fraction.group(1).strip()}/{fraction.group(2).strip()}" if fraction else ""
