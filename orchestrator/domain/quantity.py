"""Quantities of regulations, and when two of them cannot both be the rule. Comparison is numeric, never by string.

A bound in a regulation *states a limit*. ``不超过15日`` and ``不超过20日`` overlap as sets of numbers, yet cannot both
be the limit; the same holds for two different ranges of a fine. A bound and an exact value contradict each other only
where the value lies outside (a city's 15 days are within a province's 不超过20日).
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import NamedTuple

from orchestrator.domain.units import QuantityKind, base_of

__all__ = ["Bound", "Quantity", "QuantityKind", "Relation", "contradicts", "equal", "exclusive", "relation"]

# How far from 约X a value may lie and still agree with it.
ABOUT_TOLERANCE = Decimal("0.1")
# A month in days, when months must be held against days.
SHORTEST_MONTH, LONGEST_MONTH = Decimal(28), Decimal(31)
_SECONDS_A_DAY = Decimal(86_400)
_CALENDAR_UNITS = frozenset({"date", "month_day", "month_of_year", "day_of_month"})
_TIME_PERIODS = frozenset({"day", "week", "month", "quarter", "year", "time"})


class Bound(str, Enum):
    """What a quantity says of the values around it (see the contract)."""

    EXACT = "exact"
    AT_MOST = "at_most"
    AT_LEAST = "at_least"
    MORE_THAN = "more_than"
    LESS_THAN = "less_than"
    ABOUT = "about"


_UPPER_LIMITS = frozenset({Bound.AT_MOST, Bound.LESS_THAN})
_LOWER_LIMITS = frozenset({Bound.AT_LEAST, Bound.MORE_THAN})


class Relation(str, Enum):
    """How two quantities stand to each other."""

    EQUAL = "equal"
    COMPATIBLE = "compatible"
    CONTRADICTORY = "contradictory"
    INCOMPARABLE = "incomparable"


class Quantity(NamedTuple):
    """A number of the text, made comparable.

    Attributes:
        text: the number and its unit as written: ``百分之七十``; a range whole: ``五千元以上二万元以下``.
        value: in ``unit``. A date's value is its proleptic Gregorian ordinal; ``month_day`` is month × 100 + day.
        upper: the upper end of a range (also of a whole month or year given as a date); None where it is none.
        unit: canonical: ``CNY``, ``1``, ``day``, ``workday``, ``month``, ``year``, ``person``, ``date``, …
        start: offset of ``text`` in the sentence; ``end`` is past its end.
        phrase_start: where the words that bound it begin (不超过…); ``phrase_end`` where they end (…以上).
        per: what it is counted by: ``year``, ``person``, ``person/month``; empty where nothing is said.
    """

    text: str
    value: Decimal
    unit: str
    kind: QuantityKind
    start: int
    end: int
    bound: Bound = Bound.EXACT
    upper: Decimal | None = None
    phrase_start: int = -1
    phrase_end: int = -1
    per: str = ""

    @property
    def value_text(self) -> str:
        """The value for the contract: a plain decimal, a date as YYYY-MM-DD, a day of a year as MM-DD."""
        return _render(self.value, self.unit)

    @property
    def upper_text(self) -> str:
        """The upper end like `value_text`; empty where there is none."""
        return "" if self.upper is None else _render(self.upper, self.unit)


def _render(value: Decimal, unit: str) -> str:
    if unit == "date":
        return dt.date.fromordinal(int(value)).isoformat()
    if unit == "month_day":
        return f"{int(value) // 100:02d}-{int(value) % 100:02d}"
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


@dataclass(frozen=True, slots=True)
class _Interval:
    low: Decimal | None
    high: Decimal | None
    low_open: bool = False
    high_open: bool = False

    def disjoint(self, other: _Interval) -> bool:
        return self._below(other) or other._below(self)

    def _below(self, other: _Interval) -> bool:
        if self.high is None or other.low is None:
            return False
        return self.high < other.low or (self.high == other.low and (self.high_open or other.low_open))


def relation(first: Quantity, second: Quantity) -> Relation:
    """How two quantities on the same matter stand to each other.

    Working days and days are INCOMPARABLE, as are amounts per year and per month; months and days are compared
    through the shortest and the longest month.
    """
    if not _comparable(first, second):
        return Relation.INCOMPARABLE
    mixed = base_of(first.unit)[0] != base_of(second.unit)[0]
    left, right = _interval(first, months_as_days=mixed), _interval(second, months_as_days=mixed)
    if left == right:
        return Relation.EQUAL if first.bound == second.bound and not mixed else Relation.COMPATIBLE
    if left.disjoint(right) or (not mixed and _states_another_limit(first, second, left, right)):
        return Relation.CONTRADICTORY
    return Relation.COMPATIBLE


def contradicts(first: Quantity, second: Quantity) -> bool:
    """Whether two quantities on the same matter cannot both be the rule."""
    return relation(first, second) is Relation.CONTRADICTORY


def equal(first: Quantity, second: Quantity) -> bool:
    """Whether two quantities say the same: 1年 and 12个月, 70% and 七成; never 5日 and 5个工作日."""
    return relation(first, second) is Relation.EQUAL


def exclusive(first: Quantity, second: Quantity) -> bool:
    """Whether no value satisfies both: 超过5000元 and 5000元以下 never do, 1万元以上 and 5000元以上 may."""
    if not _comparable(first, second):
        return False
    mixed = base_of(first.unit)[0] != base_of(second.unit)[0]
    return _interval(first, months_as_days=mixed).disjoint(_interval(second, months_as_days=mixed))


def _comparable(first: Quantity, second: Quantity) -> bool:
    if first.kind is not second.kind:
        return False
    left, right = set(first.per.split("/")) & _TIME_PERIODS, set(second.per.split("/")) & _TIME_PERIODS
    if left and right and left != right:
        return False
    bases = {base_of(first.unit)[0], base_of(second.unit)[0]}
    return len(bases) == 1 or bases == {"second", "month"}


def _states_another_limit(first: Quantity, second: Quantity, left: _Interval, right: _Interval) -> bool:
    if first.upper is not None and second.upper is not None:
        # Whole months and years are less precise dates, not limits: 2024年5月 and 2024年 agree.
        return first.unit not in _CALENDAR_UNITS
    if first.bound in _UPPER_LIMITS and second.bound in _UPPER_LIMITS:
        return left.high != right.high
    if first.bound in _LOWER_LIMITS and second.bound in _LOWER_LIMITS:
        return left.low != right.low
    return False


def _interval(quantity: Quantity, *, months_as_days: bool) -> _Interval:
    low, high = _in_base(quantity, quantity.value, months_as_days)
    if quantity.upper is not None:
        upper = _in_base(quantity, quantity.upper, months_as_days)[1]
        if quantity.unit in _CALENDAR_UNITS:
            return _bounded(quantity.bound, low, upper)
        return _Interval(low, upper, high_open=quantity.bound is Bound.LESS_THAN)
    if quantity.bound is Bound.ABOUT:
        slack = abs(high) * ABOUT_TOLERANCE
        return _Interval(low - slack, high + slack)
    return _bounded(quantity.bound, low, high)


def _bounded(bound: Bound, low: Decimal, high: Decimal) -> _Interval:
    if bound in _UPPER_LIMITS:
        return _Interval(None, high, high_open=bound is Bound.LESS_THAN)
    if bound in _LOWER_LIMITS:
        return _Interval(low, None, low_open=bound is Bound.MORE_THAN)
    return _Interval(low, high)


def _in_base(quantity: Quantity, value: Decimal, months_as_days: bool) -> tuple[Decimal, Decimal]:
    base, factor = base_of(quantity.unit)
    amount = value * factor
    if months_as_days and base == "month":
        return amount * SHORTEST_MONTH * _SECONDS_A_DAY, amount * LONGEST_MONTH * _SECONDS_A_DAY
    return amount, amount
