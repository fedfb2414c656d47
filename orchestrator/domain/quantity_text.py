"""Finds the quantities of a Chinese sentence: numbers with units, ratios, dates, their bounds and ranges.

Three steps: labels are masked (第十二条, 〔2024〕12号, 十分, 一般), numbers with units are read, then the words around
them (不超过, 以上, 每年) and between them (五千元以上二万元以下) are applied.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import lru_cache

from orchestrator.domain.bounds import bounded, merge_ranges
from orchestrator.domain.dates import CalendarSpan, find_calendar
from orchestrator.domain.numerals import CHINESE_DIGITS, NUMERAL, NUMERAL_START, YEAR_NUMERAL, fold, parse_numeral
from orchestrator.domain.quantity import Bound, Quantity, QuantityKind
from orchestrator.domain.units import UNIT_PATTERN, UNITS, base_of

__all__ = ["label_spans", "parse_quantities"]

_N = NUMERAL
_LABEL_UNITS = "编章节条款项目届批次期卷册组级类号页行列部分号线轮档个名位"
# What a label, or one of the words below, begins with: nothing else is tried elsewhere in the text.
_LABEL_STARTS = rf"(?=[第\[〔(〈A-Z多任之{NUMERAL_START[1:]})"
_LABELS = re.compile(
    rf"{_LABEL_STARTS}(?:"
    # 第十二条, 第三、四项, 第二至第五条, 第十二条之一
    rf"第\s?\(?{_N}\)?(?:\s?[{_LABEL_UNITS}](?:之{_N})?)?(?:[、至到和或及,，\-—]+第?\s?\(?{_N}\)?(?=\s?[{_LABEL_UNITS}]))*\s?[{_LABEL_UNITS}]?"
    # 〔2024〕12号, 12号令
    rf"|[\[〔(〈]\s?{YEAR_NUMERAL}\s?[\]〕)〉]\s?第?\s?\d*\s?号?|\d+\s?号"
    # 2024年度, 三年级, 九十年代, 三级、二类
    rf"|{YEAR_NUMERAL}\s?年度|{_N}年级|{_N}年代|{_N}(?:级|类|号)(?!\s?[人别])"
    # GB 2760-2014, ISO9001, PM2.5
    r"|(?:GB|ISO|IEC|WS|YY|JJF|JJG|TSG|QB|HJ|NY|SN|DB|PM|AQ|JB|SB|YBB|[A-Z]{2,6})(?:/[TZ])?[\s\-]?\d+(?:[.\-—]\d+)*"
    # words with a digit in them that counts nothing
    r"|一[户人企证店品县址案事车][一]|[四三两五](?:个代表|个全面|个意识|个自信|个维护|位一体)|千家万户|万众一心|三次产业"
    r"|一元化|多元|任何一[方个]|(?<!分)之一|三资|一次性|一年一度|三元(?:区|桥)|五家渠|一起|十分(?=[必重严明有注])|万分(?!之)"
    r")"
)
# A bare 一个, 一种 is an article, unless something bounds it.
_ARTICLES = frozenset({"item", "kind", "copy", "establishment", "piece", "sheet", "set", "place", "case"})

# Without one of these there is nothing to read.
_NUMERIC = re.compile(rf"[\d{''.join(CHINESE_DIGITS)}十百半]")

# What is left of a text without its labels.
_READABLE = re.compile(f"[半{NUMERAL_START[1:]}")

# No number is written this long; patterns would try every way to cut it.
_ENDLESS = re.compile(rf"[\d{''.join(CHINESE_DIGITS)}十百千万亿,，.]{{32,}}")

_RATIO = re.compile(
    rf"(?=[过半{NUMERAL_START[1:]})(?:(?P<of>百|千|万|{_N})分之(?P<low>{_N})(?:\s?(?:至|到|—+|-|~)\s?(?P<high>{_N})(?!分之))?"
    r"|(?P<tenths>[一二三四五六七八九]|\d(?:\.\d)?)成(?P<rest>半|[一二三四五六七八九](?!成))?"
    r"(?!员|立|本|果|人|长|年|品|为|功|都|交|分|因|绩|效|熟|就|像|型|份|语|套|片|群|册|文|建|婚|本)"
    r"|(?<![\d./])(?P<upper>\d{1,2})/(?P<lower>\d{1,3})(?=以[上下]|的|时|左右)"
    r"|(?P<half>过半数|半数|一半|过半(?!年|个)))"
)
_RANGE = re.compile(
    rf"(?={NUMERAL_START})(?<![\dA-Za-z.])(?P<low>{_N})\s?(?P<low_unit>{UNIT_PATTERN})?\s?(?:至|到|—+|–|-|~|―+)\s?"
    rf"(?P<high>{_N})\s?(?P<unit>{UNIT_PATTERN})"
)
_MEASURE = re.compile(
    rf"(?={NUMERAL_START})(?<![\dA-Za-z.])(?P<number>{_N})(?P<more>多|余)?\s?"
    rf"(?:(?P<half>个半|半)(?P<half_unit>月|天|日|小时)|(?P<unit>{UNIT_PATTERN})(?P<rest>半(?!径|成|导|年|数|月|岛|价|日|天))?)"
)
_HALF = re.compile(r"(?<![一两二三四五六七八九十\d个上下])半(?:个)?(?P<unit>年|月(?!刊)|天|日(?!制)|小时)(?!报|度)")
_SIGNED = frozenset({"℃", "摄氏度"})
_NEGATIVE = re.compile(r"(?:-|零下|负)$")
_HALF_VALUE = Decimal("0.5")
_APPROXIMATED = frozenset({QuantityKind.DURATION, QuantityKind.COUNT})
_SHARED = {"万": 10_000, "亿": 100_000_000}
_MULTIPLIED = frozenset("十百千万亿")
_HALF_UNITS = {"年": "year", "月": "month", "个月": "month", "天": "day", "日": "day", "小时": "hour"}
_BARE_MONTHS = re.compile(rf"(?={NUMERAL_START})(?<![\d.个])(?P<number>{_N})\s?月(?=以?[内上下外后])")
_SCORE = re.compile(
    rf"(?:[记扣得满计]|低于|不足|不满|达到|评分|分数|成绩)(?:为|达)?(?P<number>{_N})分(?![之钟])|(?P<bare>{_N})分(?=以[上下])"
)


def label_spans(text: str) -> list[tuple[int, int]]:
    """Where a text has numerals that label or idiomatically say something, and count nothing."""
    return [match.span() for match in _LABELS.finditer(_ENDLESS.sub(_blank, fold(text)))]


def parse_quantities(text: str) -> tuple[Quantity, ...]:
    """The quantities of a sentence, in order; ranges are one quantity.

    Args:
        text: one sentence; longer texts work, but words of one sentence may then bound a number of the next.
    """
    if not _NUMERIC.search(text):
        return ()
    return _kept(text) if len(text) <= _LONGEST_KEPT else _parse(text)


def _parse(text: str) -> tuple[Quantity, ...]:
    folded = fold(text)
    masked = _mask(folded)
    if not _READABLE.search(masked):
        # Labels alone: 第十二条.
        return ()
    cores = _cores(masked)
    quantities: list[Quantity] = []
    for index, core in enumerate(cores):
        left = quantities[-1].phrase_end if quantities else 0
        if core.start < left:
            # 5000元以上（不含5000元）: repeats the one before.
            continue
        right = cores[index + 1].start if index + 1 < len(cores) else len(folded)
        quantity = bounded(core, folded, left, right)
        if not _is_article(quantity):
            quantities.append(quantity)
    return tuple(
        quantity._replace(text=text[quantity.start : quantity.end]) for quantity in merge_ranges(quantities, folded)
    )


# A sentence is read for its claims, and again when the answer that quotes it is verified.
_kept = lru_cache(maxsize=2048)(_parse)
_LONGEST_KEPT = 1000


def _mask(folded: str) -> str:
    bounded_text = _ENDLESS.sub(_blank, folded)
    return _LABELS.sub(_blank, bounded_text)


def _blank(match: re.Match[str]) -> str:
    return "\x00" * len(match[0])


def _cores(masked: str) -> list[Quantity]:
    found: list[Quantity] = []
    taken = bytearray(len(masked))

    def take(candidates: Iterator[Quantity]) -> None:
        for quantity in candidates:
            if not any(taken[quantity.start : quantity.end]):
                taken[quantity.start : quantity.end] = b"\x01" * (quantity.end - quantity.start)
                found.append(quantity)

    signs = set(masked)
    for needed, finder in _FINDERS:
        if not needed or not needed.isdisjoint(signs):
            take(finder(masked))
    found.sort(key=lambda quantity: quantity.start)
    return list(_compounds(found))


def _quantity(
    span: tuple[int, int], unit: str, kind: QuantityKind, value: Decimal, upper: Decimal | None = None
) -> Quantity:
    return Quantity("", value, unit, kind, *span, upper=upper)


def _calendar(masked: str) -> Iterator[Quantity]:
    for span in find_calendar(masked):
        yield _from_span(span)


def _from_span(span: CalendarSpan) -> Quantity:
    return _quantity((span.start, span.end), span.unit, QuantityKind.DATE, span.value, span.upper)


def _ratios(masked: str) -> Iterator[Quantity]:
    for match in _RATIO.finditer(masked):
        upper: Decimal | None = None
        if match["of"]:
            whole = {"百": Decimal(100), "千": Decimal(1000), "万": Decimal(10_000)}.get(match["of"])
            whole = whole or parse_numeral(match["of"])
            part = parse_numeral(match["low"])
            if not whole or part is None:
                continue
            value = part / whole
            high = parse_numeral(match["high"]) if match["high"] else None
            upper = None if high is None else high / whole
        elif match["tenths"]:
            tenths = parse_numeral(match["tenths"]) or Decimal(0)
            rest = match["rest"]
            hundredths = Decimal(5) if rest == "半" else (parse_numeral(rest) or Decimal(0)) if rest else Decimal(0)
            value = tenths / 10 + hundredths / 100
        elif match["upper"]:
            if Decimal(match["lower"]) == 0:
                continue
            value = Decimal(match["upper"]) / Decimal(match["lower"])
        else:
            value = _HALF_VALUE
        yield _quantity(match.span(), "1", QuantityKind.RATIO, value, upper)


def _scores(masked: str) -> Iterator[Quantity]:
    for match in _SCORE.finditer(masked):
        group = "number" if match["number"] else "bare"
        value = parse_numeral(match[group])
        if value is not None:
            yield _quantity((match.start(group), match.end(group) + 1), "score", QuantityKind.OTHER, value)


def _bare_months(masked: str) -> Iterator[Quantity]:
    for match in _BARE_MONTHS.finditer(masked):
        value = parse_numeral(match["number"])
        if value is not None:
            yield _quantity(match.span(), "month", QuantityKind.DURATION, value)


def _halves(masked: str) -> Iterator[Quantity]:
    for match in _HALF.finditer(masked):
        yield _quantity(match.span(), _HALF_UNITS[match["unit"]], QuantityKind.DURATION, Decimal("0.5"))


def _ranges(masked: str) -> Iterator[Quantity]:
    """3至5个工作日, 10-20万元, 五千元至一万元."""
    for match in _RANGE.finditer(masked):
        low, high = parse_numeral(match["low"]), parse_numeral(match["high"])
        if low is None or high is None or _partial(masked, match.start()):
            continue
        unit = UNITS[match["unit"]]
        if match["low_unit"]:
            low_unit = UNITS[match["low_unit"]]
            if low_unit.name != unit.name:
                continue
            low *= low_unit.factor
        else:
            # 3至5万元: what multiplies the second number multiplies the first, unless that one has its own.
            shared = _SHARED.get(match["high"][-1]) if match["low"][-1] not in _MULTIPLIED else None
            low *= unit.factor * (shared or 1)
        high *= unit.factor
        if low < high:
            yield _quantity(match.span(), unit.name, unit.kind, low, high)


def _measures(masked: str) -> Iterator[Quantity]:
    for match in _MEASURE.finditer(masked):
        pair = _approximate_pair(match["number"])
        value = pair[0] if pair else parse_numeral(match["number"])
        if value is None or _partial(masked, match.start()):
            continue
        if match["unit"] in _SIGNED and _NEGATIVE.search(masked, 0, match.start()):
            value = -value
        if match["half"]:
            yield _quantity(match.span(), _HALF_UNITS[match["half_unit"]], QuantityKind.DURATION, value + _HALF_VALUE)
            continue
        unit = UNITS[match["unit"]]
        if pair and unit.kind in _APPROXIMATED:
            low, high = pair[0] * unit.factor, pair[1] * unit.factor
            yield _quantity(match.span(), unit.name, unit.kind, low, high)
            continue
        value = (value + (_HALF_VALUE if match["rest"] else 0)) * unit.factor
        bound = Bound.ABOUT if match["more"] else Bound.EXACT
        yield Quantity("", value, unit.name, unit.kind, *match.span(), bound)


def _partial(masked: str, start: int) -> bool:
    # 数十人, 几百元: not a number.
    return start > 0 and masked[start - 1] in "数几"


def _approximate_pair(numeral: str) -> tuple[Decimal, Decimal] | None:
    # 两三天, 三五年: two neighbouring digits are a range, not a number.
    if len(numeral) == 2 and all(character in CHINESE_DIGITS for character in numeral):
        low, high = CHINESE_DIGITS[numeral[0]], CHINESE_DIGITS[numeral[1]]
        if 0 < low < high <= low + 2:
            return Decimal(low), Decimal(high)
    return None


# In the order in which they may take a place, each with the signs of which it needs one, if any.
_FINDERS: tuple[tuple[frozenset[str], Callable[[str], Iterator[Quantity]]], ...] = (
    (frozenset("年月-/."), _calendar),
    (frozenset("分成/半"), _ratios),
    (frozenset("分"), _scores),
    (frozenset("月"), _bare_months),
    (frozenset("至到—–-~―"), _ranges),
    (frozenset(), _measures),
    (frozenset("半"), _halves),
)


def _compounds(quantities: list[Quantity]) -> Iterator[Quantity]:
    """1年6个月, 2小时30分钟, 3元5角: one quantity."""
    pending: Quantity | None = None
    for quantity in quantities:
        if pending is not None and _continues(pending, quantity):
            value = pending.value + quantity.value * base_of(quantity.unit)[1] / base_of(pending.unit)[1]
            pending = pending._replace(value=value, end=quantity.end)
            continue
        if pending is not None:
            yield pending
        pending = quantity
    if pending is not None:
        yield pending


def _continues(first: Quantity, second: Quantity) -> bool:
    if (
        first.end != second.start
        or first.kind is not second.kind
        or first.upper is not None
        or second.upper is not None
    ):
        return False
    if first.kind is QuantityKind.MONEY:
        return first.unit == second.unit and second.value < 1
    if first.kind is not QuantityKind.DURATION:
        return False
    (base, size), (other, smaller) = base_of(first.unit), base_of(second.unit)
    return base == other and size > smaller


def _is_article(quantity: Quantity) -> bool:
    return (
        quantity.unit in _ARTICLES
        and quantity.value == 1
        and quantity.upper is None
        and quantity.phrase_end == quantity.end
        and quantity.phrase_start == quantity.start
    )
