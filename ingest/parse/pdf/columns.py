"""Reading order on a page: columns from left to right, each from top to bottom, between what spans them."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from ingest.parse.pdf.lines import Line, merge_rows

__all__ = ["Region", "regions"]

_LEAST_LINES = 4  # on each side: fewer are a form or a signature, not columns
_GUTTER_EM = 0.8
_CROSSING_SHARE = 0.25  # of the lines may span both columns: titles, notes, full-width paragraphs
# Of a column's width, what its median line fills: cells of a table fill less, formulas in one column may as well.
_FILLED_SHARE, _HALF_FILLED_SHARE = 0.55, 0.35
_LEAST_WIDTH_EM = 10
_OVERLAP_SHARE = 0.5  # of the shorter side's height stands beside the other side
_MAX_DEPTH = 4


@dataclass(frozen=True, slots=True)
class Region:
    """Rows that are read one after another, and the edges of the column in which they stand."""

    rows: tuple[Line, ...]
    left: float
    right: float
    whole_width: bool


def regions(lines: list[Line]) -> list[Region]:
    """Cut a page's text into regions, in reading order."""
    return _cut(lines, 0)


def _cut(lines: list[Line], depth: int) -> list[Region]:
    if not lines:
        return []
    gutter = _gutter(lines) if depth < _MAX_DEPTH else None
    if gutter is None:
        rows = tuple(merge_rows(lines))
        return [Region(rows, min(row.x0 for row in rows), max(row.x1 for row in rows), whole_width=depth == 0)]
    crossing = sorted((line for line in lines if line.x0 < gutter < line.x1), key=lambda line: line.y0)
    beside = [line for line in lines if not line.x0 < gutter < line.x1]
    found: list[Region] = []
    for band in _bands(beside, crossing):
        if isinstance(band, _Spanning):
            found += _cut_flat(band.lines)
            continue
        found += _cut([line for line in band if line.x1 <= gutter], depth + 1)
        found += _cut([line for line in band if line.x0 >= gutter], depth + 1)
    return found


@dataclass(frozen=True, slots=True)
class _Spanning:
    lines: list[Line]


def _cut_flat(lines: list[Line]) -> list[Region]:
    rows = tuple(merge_rows(lines))
    return [Region(rows, min(row.x0 for row in rows), max(row.x1 for row in rows), whole_width=True)]


def _bands(beside: list[Line], crossing: list[Line]) -> list[list[Line] | _Spanning]:
    """Lines beside the gutter and lines that span it, in bands from top to bottom."""
    bands: list[list[Line] | _Spanning] = []
    items = sorted([*beside, *crossing], key=lambda line: (line.y0 + line.y1) / 2)
    spanning = {id(line) for line in crossing}
    for line in items:
        if id(line) in spanning:
            if not bands or not isinstance(bands[-1], _Spanning):
                bands.append(_Spanning([]))
            last = bands[-1]
            assert isinstance(last, _Spanning)
            last.lines.append(line)
        else:
            if not bands or isinstance(bands[-1], _Spanning):
                bands.append([])
            body = bands[-1]
            assert isinstance(body, list)
            body.append(line)
    return bands


def _gutter(lines: list[Line]) -> float | None:
    """Where a blank strip divides the lines into two columns; None where there is one column."""
    if len(lines) < 2 * _LEAST_LINES:
        return None
    em = median(line.size for line in lines)
    best: tuple[int, int, float] | None = None
    for middle in _candidates(lines, em):
        left = [line for line in lines if line.x1 <= middle]
        right = [line for line in lines if line.x0 >= middle]
        crossing = len(lines) - len(left) - len(right)
        if crossing > _CROSSING_SHARE * len(lines) or not _are_columns(left, right, em):
            continue
        if not _stand_side_by_side(left, right):
            continue
        # The fewest lines across, then the most even halves.
        found = (crossing, abs(len(left) - len(right)), middle)
        best = found if best is None else min(best, found)
    return None if best is None else best[2]


def _candidates(lines: list[Line], em: float) -> list[float]:
    """The middles of strips, at least a gutter wide, between some line's right edge and the next left edge."""
    lefts = sorted({round(line.x0, 1) for line in lines})
    middles = []
    for line in lines:
        following = next((x for x in lefts if x >= line.x1), None)
        if following is not None and following - line.x1 >= _GUTTER_EM * em:
            middles.append(round(following - _GUTTER_EM * em / 2, 1))
    return sorted(set(middles))


def _are_columns(left: list[Line], right: list[Line], em: float) -> bool:
    if min(len(left), len(right)) < _LEAST_LINES:
        return False
    shares = []
    for side in (left, right):
        width = max(line.x1 for line in side) - min(line.x0 for line in side)
        if width < _LEAST_WIDTH_EM * em:
            return False
        shares.append(median(line.x1 - line.x0 for line in side) / width)
    return max(shares) >= _FILLED_SHARE and min(shares) >= _HALF_FILLED_SHARE


def _stand_side_by_side(left: list[Line], right: list[Line]) -> bool:
    top = max(min(line.y0 for line in left), min(line.y0 for line in right))
    bottom = min(max(line.y1 for line in left), max(line.y1 for line in right))
    shorter = min(max(line.y1 for line in side) - min(line.y0 for line in side) for side in (left, right))
    return bottom - top >= _OVERLAP_SHARE * shorter
