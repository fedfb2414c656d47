"""PDF files with a text layer: lines, columns, page furniture, tables, paragraphs, and the reader that joins them."""

from __future__ import annotations

from ingest.parse.pdf.reader import read_pdf

__all__ = ["read_pdf"]
