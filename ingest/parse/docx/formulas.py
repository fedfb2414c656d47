"""Formulas (Office MathML) as one line of text: 待遇 = (费用−起付线)×70%."""

from __future__ import annotations

from collections.abc import Callable

from ingest.parse.docx.names import Element

__all__ = ["MATH", "formula_text"]

MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_VAL = MATH + "val"
_SKIPPED = frozenset({"ctrlPr", "rPr"})


def formula_text(element: Element) -> str:
    """A formula, or a part of one, from left to right."""
    name = _local(element)
    if name == "t":
        return element.text or ""
    if name in _SKIPPED or name.endswith("Pr"):
        return ""
    shape = _SHAPES.get(name)
    return shape(element) if shape else _inner(element)


def _local(element: Element) -> str:
    # Office keeps ordinary runs (tracked changes, say) inside formulas: their text counts as well.
    return str(element.tag).rpartition("}")[2] if isinstance(element.tag, str) else ""


def _inner(element: Element | None) -> str:
    if element is None:
        return ""
    return "".join(formula_text(child) for child in element if _local(child) not in {"del", "moveFrom"})


def _part(element: Element, name: str) -> str:
    return _inner(element.find(MATH + name))


def _grouped(text: str) -> str:
    return text if len(text) <= 1 or text.isalnum() else f"({text})"


def _fraction(element: Element) -> str:
    return f"{_grouped(_part(element, 'num'))}/{_grouped(_part(element, 'den'))}"


def _root(element: Element) -> str:
    degree = _part(element, "deg")
    return f"{degree}√{_grouped(_part(element, 'e'))}"


def _delimited(element: Element) -> str:
    properties = element.find(MATH + "dPr")
    opening, closing, separator = (
        _character(properties, name, default) for name, default in (("begChr", "("), ("endChr", ")"), ("sepChr", "|"))
    )
    return opening + separator.join(_inner(item) for item in element.iterchildren(MATH + "e")) + closing


def _sum(element: Element) -> str:
    sign = _character(element.find(MATH + "naryPr"), "chr", "∫")
    below, above = _part(element, "sub"), _part(element, "sup")
    limits = (f"_{_grouped(below)}" if below else "") + (f"^{_grouped(above)}" if above else "")
    return f"{sign}{limits} {_part(element, 'e')}"


def _scripts(element: Element) -> str:
    below, above = _part(element, "sub"), _part(element, "sup")
    return _part(element, "e") + (f"_{_grouped(below)}" if below else "") + (f"^{_grouped(above)}" if above else "")


def _matrix(element: Element) -> str:
    rows = (" ".join(_inner(cell) for cell in row.iterchildren(MATH + "e")) for row in element.iter(MATH + "mr"))
    return "; ".join(rows)


def _character(properties: Element | None, name: str, default: str) -> str:
    found = None if properties is None else properties.find(MATH + name)
    return default if found is None else found.get(_VAL, "")


_SHAPES: dict[str, Callable[[Element], str]] = {
    "f": _fraction,
    "rad": _root,
    "d": _delimited,
    "nary": _sum,
    "sSup": _scripts,
    "sSub": _scripts,
    "sSubSup": _scripts,
    "m": _matrix,
}
