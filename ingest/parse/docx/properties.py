"""What a Word document says of itself: title, author, dates."""

from __future__ import annotations

from ingest.parse.docx.names import Element
from ingest.parse.docx.package import Package

__all__ = ["core_properties"]

_DC = "{http://purl.org/dc/elements/1.1/}"
_TERMS = "{http://purl.org/dc/terms/}"
_CORE = "{http://schemas.openxmlformats.org/package/2006/metadata/core-properties}"
_FIELDS = {
    _DC + "title": "title",
    _DC + "subject": "subject",
    _DC + "creator": "author",
    _CORE + "keywords": "keywords",
    _TERMS + "created": "created",
    _TERMS + "modified": "modified",
}


def core_properties(package: Package) -> dict[str, str]:
    """Title, subject, author, keywords, created and modified (ISO 8601), those that are filled in."""
    root: Element | None = package.tree(package.related("", "core-properties") or "docProps/core.xml")
    if root is None:
        return {}
    found = {_FIELDS[str(item.tag)]: (item.text or "").strip() for item in root if item.tag in _FIELDS}
    return {name: value for name, value in found.items() if value}
