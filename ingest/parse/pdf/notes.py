"""Footnotes: small type at a column's foot that begins with a note's mark."""

from __future__ import annotations

import re

from ingest.parse.pdf.columns import Region
from ingest.parse.pdf.lines import Line

__all__ = ["split_notes"]

_MARK = re.compile(r"^\s*(?:[①-⑳*※†‡]|[\[［〔【]\s*\d{1,3}\s*[\]］〕】]|\d{1,2}(?=\s|[^\d.、．]))")
_SMALL = 0.93  # of the body's size


def split_notes(region: Region, body_size: float) -> tuple[list[Line], list[list[Line]]]:
    """Part a region's rows into text and footnotes (the rows of each)."""
    rows = list(region.rows)
    foot = len(rows)
    while foot and rows[foot - 1].size <= body_size * _SMALL:
        foot -= 1
    while foot < len(rows) and not _MARK.match(rows[foot].text):
        foot += 1
    if foot == 0:
        return rows, []  # a whole column in small type is no footnote
    notes: list[list[Line]] = []
    for row in rows[foot:]:
        if _MARK.match(row.text) or not notes:
            notes.append([])
        notes[-1].append(row)
    return rows[:foot], notes
