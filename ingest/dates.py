"""Dates as Chinese documents write them: 2024年1月1日, 二〇二四年一月一日, 2024-01-01."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from dateutil.relativedelta import relativedelta

from ingest.labels import parse_number

__all__ = ["DATE", "FoundDate", "end_of_term", "find_dates", "parse_date", "shift_days"]

_YEAR = r"(?:[12][0-9]{3}|[１２][０-９]{3}|[一二][〇○零ＯO0一二三四五六七八九]{3})"
_NUMBER = r"(?:[0-9０-９]{1,2}|[一二三四五六七八九十]{1,3})"

DATE = rf"{_YEAR}\s*年\s*{_NUMBER}\s*月\s*{_NUMBER}\s*日"
"""A written date, as a regular expression without groups."""

_WRITTEN = re.compile(rf"({_YEAR})\s*年\s*({_NUMBER})\s*月\s*({_NUMBER})\s*日")
_ISO = re.compile(r"(?<!\d)([12]\d{3})[-./]([01]?\d)[-./]([0-3]?\d)(?!\d)")


@dataclass(frozen=True, slots=True)
class FoundDate:
    """A date and where it stands in the text: offsets [start, end)."""

    iso: str
    start: int
    end: int


def find_dates(text: str) -> Iterator[FoundDate]:
    """Every written date of a text, in order; impossible ones (2月30日) are left out."""
    for match in _WRITTEN.finditer(text):
        year = parse_number(re.sub("[ＯO]", "〇", match[1]))
        month, day = parse_number(match[2]), parse_number(match[3])
        if year and month and day and (iso := _iso(year, month, day)):
            yield FoundDate(iso, match.start(), match.end())


def parse_date(text: str) -> str:
    """The first date of a text as ISO 8601, written out or as 2024-01-01; empty where there is none."""
    for found in find_dates(text):
        return found.iso
    match = _ISO.search(text)
    return _iso(int(match[1]), int(match[2]), int(match[3])) if match else ""


def shift_days(iso: str, days: int) -> str:
    """The date that many days later."""
    return (date.fromisoformat(iso) + timedelta(days=days)).isoformat()


def end_of_term(iso: str, *, years: int = 0, months: int = 0) -> str:
    """The last day of a term that starts on a date: two years from 2024-01-01 end on 2025-12-31."""
    return (date.fromisoformat(iso) + relativedelta(years=years, months=months) - timedelta(days=1)).isoformat()


def _iso(year: int, month: int, day: int) -> str:
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return ""
