"""Word documents (.docx, .docm): package, styles, numbering, text, tables, and the reader that joins them."""

from __future__ import annotations

from ingest.parse.docx.reader import read_docx

__all__ = ["read_docx"]
