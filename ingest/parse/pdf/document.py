"""Opening a PDF: what is encrypted, damaged, too long or without text says so here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ingest.parse.pdf.mupdf import mupdf
from orchestrator.errors import DocumentError

__all__ = ["MAX_PAGES", "open_pdf", "pdf_properties"]

# Longer than any regulation; a page takes some tens of milliseconds.
MAX_PAGES = 3000

_FIELDS = {
    "title": "title",
    "author": "author",
    "subject": "subject",
    "keywords": "keywords",
    "creationDate": "created",
    "modDate": "modified",
}


def open_pdf(path: Path, source: str) -> Any:
    """Open a PDF.

    Raises:
        DocumentError: ``ENCRYPTED``, ``TRUNCATED`` or ``TOO_LARGE``.
    """
    try:
        document = mupdf.open(path, filetype="pdf")
    except (RuntimeError, ValueError):
        raise _damaged(source, "it cannot be opened") from None
    if document.needs_pass:
        document.close()
        raise DocumentError(
            source,
            "the PDF is protected by a password.",
            kind="ENCRYPTED",
            hint="Save it without a password and ingest it again.",
        )
    if document.page_count == 0:
        document.close()
        raise _damaged(source, "it has no pages")
    if document.page_count > MAX_PAGES:
        pages = document.page_count
        document.close()
        raise DocumentError(
            source, f"the PDF has {pages} pages, more than {MAX_PAGES}.", kind="TOO_LARGE", hint="Split it."
        )
    return document


def pdf_properties(document: Any) -> dict[str, str]:
    """Title, author, subject, keywords, created and modified (ISO 8601), those that are filled in."""
    metadata = document.metadata or {}
    found = {ours: str(metadata.get(theirs) or "").strip() for theirs, ours in _FIELDS.items()}
    for name in ("created", "modified"):
        found[name] = _iso_date(found[name])
    return {name: value for name, value in found.items() if value}


def _iso_date(text: str) -> str:
    """``D:20240131120000+08'00'`` as ``2024-01-31T12:00:00+08:00``."""
    digits = text.removeprefix("D:")
    if not digits[:8].isdigit():
        return ""
    date = f"{digits[:4]}-{digits[4:6]}-{digits[6:8]}"
    if not digits[8:14].isdigit() or len(digits) < 14:
        return date
    zone = digits[14:].replace("'", ":").strip(":")
    zone = "+00:00" if zone.startswith("Z") else zone
    return f"{date}T{digits[8:10]}:{digits[10:12]}:{digits[12:14]}{zone}"


def _damaged(source: str, what: str) -> DocumentError:
    return DocumentError(
        source,
        f"the PDF is truncated or damaged ({what.rstrip('.')}).",
        kind="TRUNCATED",
        hint="Copy or download it again, or print it to a new PDF.",
    )
