"""Calendar expressions: 2024年1月1日, 二〇二四年一月, 2024-01-01, 2024年底, 9月1日, 每月25日."""

from __future__ import annotations

import calendar
import datetime as dt
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal

from orchestrator.domain.numerals import YEAR_NUMERAL, parse_numeral

__all__ = ["CalendarSpan", "find_calendar", "with_year"]

_SMALL_NUMERAL = r"(?:\d{1,2}|[〇零一二三四五六七八九十廿卅]{1,3})"
_SMALL_START = r"[\d〇零一二三四五六七八九十廿卅]"

_ISO = re.compile(r"(?<![\d.\-/A-Za-z])((?:19|20)\d{2})([-/.])(\d{1,2})\2(\d{1,2})(?![\d\-/]|\.\d)")
_YEAR = re.compile(
    rf"(?=[12一二])(?<![\d.])(?P<year>{YEAR_NUMERAL})\s?年(?!度|级|代|鉴|限)"
    rf"(?:\s?(?P<month>{_SMALL_NUMERAL})\s?月(?:份)?(?:\s?(?P<day>{_SMALL_NUMERAL})\s?日|(?P<month_end>底|末))?"
    r"|(?P<year_end>底|末))?"
)
_MONTH_DAY = re.compile(
    rf"(?={_SMALL_START})(?<![\d.个])(?P<month>{_SMALL_NUMERAL})\s?月\s?(?P<day>{_SMALL_NUMERAL})\s?日"
)
_DAY_OF_MONTH = re.compile(rf"(?:每|当|次|本|下|上|该)月的?(?P<day>{_SMALL_NUMERAL})\s?日(?![前内]?以?内)")
# 3月 is a month of the year; 3个月 and 3月内 are durations and left to the units.
_MONTH = re.compile(
    rf"(?={_SMALL_START})(?<![\d.个])(?P<month>{_SMALL_NUMERAL})\s?月(?!以?[内上下外后])(?P<part>份|底|末|初)?"
)


@dataclass(frozen=True, slots=True)
class CalendarSpan:
    """A calendar expression. ``value`` and ``upper`` as in `Quantity`; ``unit`` tells which kind it is."""

    start: int
    end: int
    unit: str
    value: Decimal
    upper: Decimal | None = None


def find_calendar(text: str) -> Iterator[CalendarSpan]:
    """Every calendar expression of a folded text, in order, none overlapping another."""
    found: list[CalendarSpan] = []
    for needed, finder in _FINDERS:
        if not any(sign in text for sign in needed):
            continue
        found.extend(span for span in finder(text) if not any(_overlap(span, other) for other in found))
    yield from sorted(found, key=lambda span: span.start)


def with_year(span: CalendarSpan, ordinal: Decimal) -> CalendarSpan | None:
    """A day of the year (9月1日) in the year of another date; None where there is no such day."""
    year = dt.date.fromordinal(int(ordinal)).year
    if span.unit != "month_day":
        return None
    value = _ordinal(year, int(span.value) // 100, int(span.value) % 100)
    return None if value is None else CalendarSpan(span.start, span.end, "date", value)


def _overlap(first: CalendarSpan, second: CalendarSpan) -> bool:
    return first.start < second.end and second.start < first.end


def _number(text: str) -> int:
    value = parse_numeral(text)
    return -1 if value is None else int(value)


def _ordinal(year: int, month: int, day: int) -> Decimal | None:
    try:
        return Decimal(dt.date(year, month, day).toordinal())
    except ValueError:
        return None


def _iso_dates(text: str) -> Iterator[CalendarSpan]:
    for match in _ISO.finditer(text):
        value = _ordinal(int(match[1]), int(match[3]), int(match[4]))
        if value is not None:
            yield CalendarSpan(match.start(), match.end(), "date", value)


def _dates(text: str) -> Iterator[CalendarSpan]:
    for match in _YEAR.finditer(text):
        year = _number(match["year"])
        if match["month"] is None:
            low, high = _ordinal(year, 1, 1), _ordinal(year, 12, 31)
            low = high if match["year_end"] else low
        else:
            month = _number(match["month"])
            if not 1 <= month <= 12:
                continue
            last = calendar.monthrange(year, month)[1]
            low, high = _ordinal(year, month, 1), _ordinal(year, month, last)
            if match["month_end"]:
                low = high
            elif match["day"] is not None:
                low = high = _ordinal(year, month, _number(match["day"]))
        if low is not None:
            yield CalendarSpan(match.start(), match.end(), "date", low, None if high == low else high)


def _month_days(text: str) -> Iterator[CalendarSpan]:
    for match in _MONTH_DAY.finditer(text):
        month, day = _number(match["month"]), _number(match["day"])
        if 1 <= month <= 12 and 1 <= day <= 31:
            yield CalendarSpan(match.start(), match.end(), "month_day", Decimal(month * 100 + day))


def _days_of_month(text: str) -> Iterator[CalendarSpan]:
    for match in _DAY_OF_MONTH.finditer(text):
        day = _number(match["day"])
        if 1 <= day <= 31:
            yield CalendarSpan(match.start("day"), match.end(), "day_of_month", Decimal(day))


def _months(text: str) -> Iterator[CalendarSpan]:
    for match in _MONTH.finditer(text):
        month = _number(match["month"])
        if 1 <= month <= 12:
            yield CalendarSpan(match.start(), match.end(), "month_of_year", Decimal(month))


# In the order in which they may take a place, each with the signs of which it needs one.
_FINDERS: tuple[tuple[str, Callable[[str], Iterator[CalendarSpan]]], ...] = (
    ("-/.", _iso_dates),
    ("年", _dates),
    ("月", _month_days),
    ("月", _days_of_month),
    ("月", _months),
)
