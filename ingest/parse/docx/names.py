"""Names of WordprocessingML, and the few ways in which every module here looks at an element."""

from __future__ import annotations

from typing import TypeAlias

from lxml import etree

__all__ = ["MC", "VML", "Element", "R", "W", "integer", "is_on", "mc", "w", "w_child_value", "w_value"]

Element: TypeAlias = "etree._Element"

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
VML = "{urn:schemas-microsoft-com:vml}"

_VAL = W + "val"
_OFF = frozenset({"0", "false", "off"})


def w(name: str) -> str:
    """The qualified name of a ``w:`` element or attribute."""
    return W + name


def mc(name: str) -> str:
    """The qualified name of an ``mc:`` element (markup compatibility)."""
    return MC + name


def w_value(element: Element | None) -> str | None:
    """An element's ``w:val``; None where either is missing."""
    return None if element is None else element.get(_VAL)


def w_child_value(parent: Element | None, name: str) -> str | None:
    """The ``w:val`` of a direct child; None where either is missing."""
    return None if parent is None else w_value(parent.find(W + name))


def is_on(parent: Element | None, name: str) -> bool | None:
    """An on/off child of a property element: None where it is not given."""
    child = None if parent is None else parent.find(W + name)
    return None if child is None else child.get(_VAL, "1").lower() not in _OFF


def integer(text: str | None) -> int | None:
    """A whole number as attributes hold it; None where it is missing or malformed."""
    if text is None:
        return None
    try:
        return int(text)
    except ValueError:
        return None
