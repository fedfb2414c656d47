"""MuPDF, set up for reading in silence and alike in all its releases."""

from __future__ import annotations

from typing import Any

import pymupdf

__all__ = ["CHARACTER_FLAGS", "mupdf"]

# PyMuPDF ships annotations for a part of its names only, so it is used untyped.
mupdf: Any = pymupdf

# What MuPDF repairs it tells on stderr; a warning of the document says so instead.
mupdf.TOOLS.mupdf_display_errors(False)
mupdf.TOOLS.mupdf_display_warnings(False)
if hasattr(mupdf, "use_layout"):
    # From 2.0 on, find_tables asks a neural network first: a second a page, and another answer than before.
    mupdf.use_layout(False)

# Ligatures are taken apart, white space is kept, what lies outside the page is left out.
CHARACTER_FLAGS: int = mupdf.TEXT_PRESERVE_WHITESPACE | mupdf.TEXT_MEDIABOX_CLIP
