"""The words around numbers: 不超过X, X以上, 每年X, and X以上Y以下, which is one range."""

from __future__ import annotations

import re
from collections.abc import Iterable

from orchestrator.domain.dates import CalendarSpan, with_year
from orchestrator.domain.quantity import Bound, Quantity, QuantityKind
from orchestrator.domain.units import base_of

__all__ = ["bounded", "merge_ranges"]

_NOT = r"(?:不|未|没有|并未|不得|不应|不能|不可|不宜|不应当|未曾|均不)"
_LINK = r"(?:为|是|可达|可|达到|达|至|到|于|了|的|:|：|\s|人民币|每[人户年月日天次]){0,3}"
# In the order in which they are tried: a negated word before the word, a longer one before a shorter.
_PREFIX_WORDS: tuple[tuple[Bound, str], ...] = (
    (
        Bound.AT_MOST,
        rf"{_NOT}(?:超过|高于|多于|大于|长于|超出|突破|迟于|晚于|逾|超)|最高|最多|至多|最长|最迟|最晚|顶多|上限|≤|<=",
    ),
    (
        Bound.AT_LEAST,
        rf"{_NOT}(?:低于|少于|小于|短于|早于)|至少|最少|最低|最短|起码|下限|≥|>=|(?<![期届不未])满|年满|已满",
    ),
    (Bound.LESS_THAN, r"低于|少于|小于|不足|不满|未满|不到|短于|早于|未达到?|达不到|<"),
    (Bound.MORE_THAN, r"超过|高于|多于|大于|长于|逾|超出|晚于|迟于|超|>"),
    (Bound.ABOUT, r"大约|大概|约|接近|将近"),
)
_PREFIXES = tuple((bound, re.compile(rf"(?:{words}){_LINK}$")) for bound, words in _PREFIX_WORDS)
# Most numbers have none of these words before them: asked first, all at once.
_SOME_PREFIX = re.compile(rf"(?:{'|'.join(words for _, words in _PREFIX_WORDS)}){_LINK}$")
_INCLUDING = r"(?:[(](?P<{0}>不?)(?:含|包括)[^()]{{0,10}}[)])?"
_SUFFIX = re.compile(
    _INCLUDING.format("before") + r"(?P<word>及?以上|及?以下|以内|之内|之下|以外|开外|为限|封顶|起步|左右|上下"
    r"|内(?!容|部|科|地|在|外|蒙|控|设|资|存|服|涵|政|河|陆|勤|置|分泌))" + _INCLUDING.format("after")
)
_DATE_SUFFIX = re.compile(r"(?P<word>以前|之前|前(?!款|项|述|条)|止|以后|之后|后|起|开始|左右)")
_BEFOREHAND = re.compile(r"(?P<word>以前|之前|前(?!款|项|述|条|一|两|三))")
_SUFFIX_BOUNDS = {
    "以上": Bound.AT_LEAST,
    "及以上": Bound.AT_LEAST,
    "起步": Bound.AT_LEAST,
    "以下": Bound.AT_MOST,
    "及以下": Bound.AT_MOST,
    "之下": Bound.AT_MOST,
    "以内": Bound.AT_MOST,
    "之内": Bound.AT_MOST,
    "内": Bound.AT_MOST,
    "为限": Bound.AT_MOST,
    "封顶": Bound.AT_MOST,
    "以外": Bound.MORE_THAN,
    "开外": Bound.MORE_THAN,
    "左右": Bound.ABOUT,
    "上下": Bound.ABOUT,
    "以前": Bound.AT_MOST,
    "之前": Bound.AT_MOST,
    "前": Bound.AT_MOST,
    "止": Bound.AT_MOST,
    "以后": Bound.MORE_THAN,
    "之后": Bound.MORE_THAN,
    "后": Bound.MORE_THAN,
    "起": Bound.AT_LEAST,
    "开始": Bound.AT_LEAST,
}
_STRICT = {Bound.AT_LEAST: Bound.MORE_THAN, Bound.AT_MOST: Bound.LESS_THAN}
_PREFIX_REACH = 14
_HALF_RATIO = re.compile(r"过半")

_LOWER = frozenset({Bound.AT_LEAST, Bound.MORE_THAN})
_UPPER = frozenset({Bound.AT_MOST, Bound.LESS_THAN})
# What may stand between the two ends of a range.
_BETWEEN = re.compile(r"[,，、]?(?:至|到|且|但|并且|并|同时|与|和|以及|起至|或者)?[,，]?$")
_CONNECTORS = re.compile(r"\s?(?:起|开始)?\s?(?:至|到|—+|–|-|~|―+)\s?$")

_PERIODS = {
    "人": "person", "户": "household", "年": "year", "月": "month", "日": "day", "天": "day", "次": "time",
    "季度": "quarter", "季": "quarter", "周": "week", "例": "case", "亩": "mu", "吨": "t", "平方米": "m2",
    "床日": "bed_day", "学期": "term", "小时": "hour",
}  # fmt: skip
_PERIOD = "|".join(sorted(_PERIODS, key=len, reverse=True))
_PER_BEFORE = re.compile(rf"(?:每\s?(?:一|个)?(?:{_PERIOD}))+(?=[^,，。;；、每\d]{{0,10}}$)")
_PER_AFTER = re.compile(rf"\s?(?:/\s?(?:{_PERIOD})(?:\s?[·.・/]\s?(?:{_PERIOD}))*|(?:每(?:{_PERIOD}))+)")
_PERIOD_WORD = re.compile(_PERIOD)
_COUNTED_PER = frozenset({QuantityKind.MONEY, QuantityKind.COUNT, QuantityKind.RATIO, QuantityKind.OTHER})


def bounded(core: Quantity, folded: str, left: int, right: int) -> Quantity:
    """A quantity with what the words beside it say: its bound, and what it is counted by.

    Args:
        core: the number and unit alone.
        folded: the sentence.
        left: end of the quantity before, which words may not be taken from.
        right: start of the quantity after.
    """
    bound, start, end = core.bound, core.start, core.end
    if core.kind is QuantityKind.RATIO and _HALF_RATIO.match(folded, core.start):
        bound = Bound.MORE_THAN
    before = folded[max(left, core.start - _PREFIX_REACH) : core.start]
    if _SOME_PREFIX.search(before):
        for prefix_bound, pattern in _PREFIXES:
            if match := pattern.search(before):
                bound, start = prefix_bound, core.start - (len(before) - match.start())
                break
    suffix = _suffix(core, folded, right)
    if suffix is not None:
        suffix_bound, end = suffix
        # 超过5年以上, 约30日内: the suffix is the rule's; 不超过…以下 and the like agree anyway.
        if bound is Bound.EXACT or core.kind is not QuantityKind.DATE:
            bound = suffix_bound
    return core._replace(bound=bound, phrase_start=start, phrase_end=end, per=_per_of(folded, core, start))


def _suffix(core: Quantity, folded: str, right: int) -> tuple[Bound, int] | None:
    if core.kind is QuantityKind.DATE:
        match = _DATE_SUFFIX.match(folded, core.end, right)
        return (_SUFFIX_BOUNDS[match["word"]], match.end()) if match else None
    match = _SUFFIX.match(folded, core.end)
    if match and match.end("word") <= right:
        bound = _SUFFIX_BOUNDS[match["word"]]
        if "不" in {match["before"], match["after"]}:
            bound = _STRICT.get(bound, bound)
        return bound, match.end()
    if core.kind is QuantityKind.DURATION and (match := _BEFOREHAND.match(folded, core.end, right)):
        # 有效期届满30日前: thirty days or more before.
        return Bound.AT_LEAST, match.end()
    return None


def _per_of(folded: str, quantity: Quantity, phrase_start: int) -> str:
    """What a quantity is counted by, in the contract's units: 每人每月50元 → ``month/person``."""
    if quantity.kind not in _COUNTED_PER:
        return ""
    words: list[str] = []
    if "每" in folded:
        clause_start = max(folded.rfind(mark, 0, quantity.start) for mark in "。;；,，\n") + 1
        if match := _PER_BEFORE.search(folded, clause_start, phrase_start):
            words += _PERIOD_WORD.findall(match[0])
    if match := _PER_AFTER.match(folded, quantity.end):
        words += _PERIOD_WORD.findall(match[0])
    return "/".join(sorted({_PERIODS[word] for word in words})) if words else ""


def merge_ranges(quantities: Iterable[Quantity], folded: str) -> list[Quantity]:
    """Quantities that are the two ends of one range, made one: 五千元以上二万元以下, 2024年9月1日至12月31日."""
    merged: list[Quantity] = []
    for quantity in quantities:
        joined = _join(merged[-1], quantity, folded) if merged else None
        if joined is None:
            merged.append(quantity)
        else:
            merged[-1] = joined
    return merged


def _join(first: Quantity, second: Quantity, folded: str) -> Quantity | None:
    if first.kind is not second.kind or _is_range(first) or _is_range(second):
        return None
    bounds = first.bound in _LOWER and second.bound in _UPPER
    gap = folded[first.phrase_end : second.phrase_start]
    if bounds and not _BETWEEN.match(gap):
        return None
    if not bounds and not (
        first.bound in {Bound.EXACT, Bound.AT_LEAST}
        and second.bound in {Bound.EXACT, Bound.AT_MOST}
        and _CONNECTORS.match(folded[first.end : second.start])
    ):
        return None
    second = _same_calendar(first, second)
    if base_of(first.unit)[0] != base_of(second.unit)[0]:
        return None
    low = first.value
    high = second.value if second.upper is None else second.upper
    high = high * base_of(second.unit)[1] / base_of(first.unit)[1]
    if low >= high:
        return None
    strict = second.bound is Bound.LESS_THAN
    wide = bounds or second.phrase_end != second.end
    return first._replace(
        upper=high,
        end=second.phrase_end if wide else second.end,
        start=first.phrase_start if bounds else first.start,
        phrase_start=first.phrase_start,
        phrase_end=second.phrase_end,
        bound=Bound.LESS_THAN if strict else Bound.EXACT,
        per=first.per or second.per,
    )


def _is_range(quantity: Quantity) -> bool:
    return quantity.upper is not None and quantity.kind is not QuantityKind.DATE


def _same_calendar(first: Quantity, second: Quantity) -> Quantity:
    if first.unit == "date" and second.unit == "month_day":
        dated = with_year(CalendarSpan(second.start, second.end, second.unit, second.value), first.value)
        if dated is not None:
            return second._replace(unit="date", value=dated.value)
    return second
