"""Units as Chinese regulations write them, and what they are worth in each other."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum

__all__ = ["UNITS", "UNIT_PATTERN", "QuantityKind", "Unit", "base_of"]


class QuantityKind(str, Enum):
    """What a quantity measures (see the contract)."""

    MONEY = "money"
    RATIO = "ratio"
    DURATION = "duration"
    DATE = "date"
    COUNT = "count"
    LENGTH = "length"
    MASS = "mass"
    AREA = "area"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit as written.

    Attributes:
        name: the canonical unit: ``CNY``, ``1``, ``day``, ``workday``, ``person``.
        factor: how many of the canonical unit one of this unit is.
        not_before: a pattern of what may not follow, because it makes another word: 天然, 人民.
    """

    name: str
    kind: QuantityKind
    factor: Decimal = Decimal(1)
    not_before: str = ""


def _unit(name: str, kind: QuantityKind, factor: str | int = 1, not_before: str = "") -> Unit:
    return Unit(name, kind, Decimal(factor), not_before)


_K = QuantityKind

UNITS: dict[str, Unit] = {
    # money
    "元": _unit("CNY", _K.MONEY, 1, "旦|素|件|器|首|老|宝|宵|化|古|谋"),
    "圆": _unit("CNY", _K.MONEY, 1, "形|满|柱|周|弧"),
    "块钱": _unit("CNY", _K.MONEY),
    "角": _unit("CNY", _K.MONEY, "0.1", "度|色|落|膜"),
    "美元": _unit("USD", _K.MONEY),
    "港元": _unit("HKD", _K.MONEY),
    "港币": _unit("HKD", _K.MONEY),
    "欧元": _unit("EUR", _K.MONEY),
    "日元": _unit("JPY", _K.MONEY),
    # ratios
    "%": _unit("1", _K.RATIO, "0.01"),
    "‰": _unit("1", _K.RATIO, "0.001"),
    "倍": _unit("1", _K.RATIO, 1, "数|增"),
    "个百分点": _unit("percentage_point", _K.RATIO),
    "百分点": _unit("percentage_point", _K.RATIO),
    # durations
    "秒": _unit("second", _K.DURATION),
    "分钟": _unit("minute", _K.DURATION),
    "个小时": _unit("hour", _K.DURATION),
    "小时": _unit("hour", _K.DURATION),
    "学时": _unit("class_hour", _K.COUNT),
    "日": _unit("day", _K.DURATION, 1, "期(?!限|间|满)|常|元|本国"),
    "天": _unit("day", _K.DURATION, 1, "然|津|文|山|河|气|价|平|使|敌|生|才|赋|线|下"),
    "个自然日": _unit("day", _K.DURATION),
    "个日历日": _unit("day", _K.DURATION),
    "自然日": _unit("day", _K.DURATION),
    "日历日": _unit("day", _K.DURATION),
    "个工作日": _unit("workday", _K.DURATION),
    "工作日": _unit("workday", _K.DURATION),
    "个交易日": _unit("trading_day", _K.DURATION),
    "交易日": _unit("trading_day", _K.DURATION),
    "个星期": _unit("week", _K.DURATION),
    "星期": _unit("week", _K.DURATION),
    "周": _unit("week", _K.DURATION, 1, "边|围|转|期|知|口|恩|长|密|末"),
    "个月": _unit("month", _K.DURATION),
    "个季度": _unit("quarter", _K.DURATION),
    "季度": _unit("quarter", _K.DURATION),
    "周年": _unit("year", _K.DURATION),
    "年": _unit("year", _K.DURATION, 1, "级|代|度|鉴|龄"),
    "个会计年度": _unit("year", _K.DURATION),
    "个完整会计年度": _unit("year", _K.DURATION),
    "个纳税年度": _unit("year", _K.DURATION),
    "个自然年度": _unit("year", _K.DURATION),
    "个年度": _unit("year", _K.DURATION),
    # lengths, areas, masses
    "毫米": _unit("m", _K.LENGTH, "0.001"),
    "厘米": _unit("m", _K.LENGTH, "0.01"),
    "公分": _unit("m", _K.LENGTH, "0.01"),
    "米": _unit("m", _K.LENGTH, 1, "饭|兰|粒|面|制|粉"),
    "公里": _unit("m", _K.LENGTH, 1000),
    "千米": _unit("m", _K.LENGTH, 1000),
    "海里": _unit("nautical_mile", _K.LENGTH),
    "平方毫米": _unit("m2", _K.AREA, "0.000001"),
    "平方厘米": _unit("m2", _K.AREA, "0.0001"),
    "平方米": _unit("m2", _K.AREA),
    "平米": _unit("m2", _K.AREA),
    "公顷": _unit("m2", _K.AREA, 10_000),
    "平方公里": _unit("m2", _K.AREA, 1_000_000),
    "平方千米": _unit("m2", _K.AREA, 1_000_000),
    "亩": _unit("mu", _K.AREA),
    "毫克": _unit("g", _K.MASS, "0.001"),
    "mg": _unit("g", _K.MASS, "0.001", "[A-Za-z]"),
    "克": _unit("g", _K.MASS, 1, "服|隆|制|扣|拉|里|山|罗"),
    "公斤": _unit("g", _K.MASS, 1000),
    "千克": _unit("g", _K.MASS, 1000),
    "kg": _unit("g", _K.MASS, 1000, "[A-Za-z]"),
    "斤": _unit("g", _K.MASS, 500),
    "吨": _unit("g", _K.MASS, 1_000_000),
    # others that regulations bound
    "周岁": _unit("age", _K.OTHER),
    "岁": _unit("age", _K.OTHER, 1, "月|末"),
    "毫升": _unit("L", _K.OTHER, "0.001"),
    "ml": _unit("L", _K.OTHER, "0.001", "[A-Za-z]"),
    "mL": _unit("L", _K.OTHER, "0.001", "[A-Za-z]"),
    "升": _unit("L", _K.OTHER, 1, "级|学|降|职|高|温|空"),
    "立方米": _unit("L", _K.OTHER, 1000),
    "千瓦时": _unit("kWh", _K.OTHER),
    "千瓦": _unit("kW", _K.OTHER),
    "瓦": _unit("kW", _K.OTHER, "0.001", "斯|片|房"),
    "千伏": _unit("kV", _K.OTHER),
    "伏": _unit("kV", _K.OTHER, "0.001", "击|法"),
    "℃": _unit("celsius", _K.OTHER),
    "摄氏度": _unit("celsius", _K.OTHER),
    "分贝": _unit("dB", _K.OTHER),
    # counts
    "人次": _unit("person_time", _K.COUNT),
    "人": _unit("person", _K.COUNT, 1, "民|员|均|才|口|称|力|行"),
    "名": _unit("person", _K.COUNT, 1, "称|义|录|单|额|字|誉|次|胜|牌|木|优|词|册|目"),
    "次": _unit("time", _K.COUNT, 1, "性|要|序|品|级|贷|生|氯|元|数|能源|供水|污染|利用|分配|加工|转让|创业|报销|供应"),
    "种": _unit("kind", _K.COUNT, 1, "子|植|类|苗|畜|禽|养|族|质|源|殖|群|业|猪|牛|鸡"),
    "家": _unit("establishment", _K.COUNT, 1, "庭|属|长|具|电|禽|畜|用|政|务|人"),
    "户": _unit("household", _K.COUNT, 1, "籍|口|外|主|型"),
    "张": _unit("sheet", _K.COUNT, 1, "家|某|掖|贴|掛|挂"),
    "份": _unit("copy", _K.COUNT, 1, "额|子"),
    "件": _unit("piece", _K.COUNT, 1, "数"),
    "台": _unit("set", _K.COUNT, 1, "湾|州|账|帐|北|风"),
    "套": _unit("set", _K.COUNT, 1, "用|取|餐|期|利|现|路|种|管"),
    "辆": _unit("vehicle", _K.COUNT),
    "艘": _unit("vessel", _K.COUNT),
    "项": _unit("item", _K.COUNT, 1, "目|下"),
    "个": _unit("item", _K.COUNT, 1, "人|体|别|案|税|性|股|百分点|月|工作|交易|自然日|日历|小时|星期|季度|半"),
    "处": _unit("place", _K.COUNT, 1, "理|罚|分|置|方|于|以|长|室|境|所|级|在|有"),
    "起": _unit("case", _K.COUNT, 1, "施|执|生|算|计|草|诉|点|重|源|至|见|步|到|，|。|、"),
    "例": _unit("case", _K.COUNT, 1, "如|外|行|会|假"),
    "枚": _unit("piece", _K.COUNT),
    "只": _unit("piece", _K.COUNT, 1, "能|要|有|是|限|得|可|需|对|为|在|收"),
    "头": _unit("head", _K.COUNT, 1, "部|发|颅|等|目"),
    "株": _unit("plant", _K.COUNT),
    "瓶": _unit("bottle", _K.COUNT),
    "盒": _unit("box", _K.COUNT),
    "箱": _unit("box", _K.COUNT, 1, "体|式"),
    "袋": _unit("bag", _K.COUNT),
    "支": _unit("piece", _K.COUNT, 1, "付|出|持|部|队|行|撑|配|架|线|援|取"),
    "张床位": _unit("bed", _K.COUNT),
    "床": _unit("bed", _K.COUNT, 1, "头|垫|日|旁"),
    "所": _unit("establishment", _K.COUNT, 1, "有|在|需|属|得|列|称|涉|致|规|述|以|用|做|从|作|产|取|提|受|长"),
    "间": _unit("room", _K.COUNT, 1, "隔|接|距|断|歇|作|苗"),
    "层": _unit("floor", _K.COUNT, 1, "次|级|面"),
    "学分": _unit("credit", _K.COUNT),
}
"""Units as they follow a numeral in folded text."""

UNIT_PATTERN = "|".join(
    re.escape(symbol) + (f"(?!{UNITS[symbol].not_before})" if UNITS[symbol].not_before else "")
    for symbol in sorted(UNITS, key=len, reverse=True)
)
"""A pattern (no groups) for a unit, longest first."""

# The canonical units that can be converted into each other exactly: unit → (base, how many of the base).
_BASES: dict[str, tuple[str, Decimal]] = {
    "second": ("second", Decimal(1)),
    "minute": ("second", Decimal(60)),
    "hour": ("second", Decimal(3600)),
    "day": ("second", Decimal(86_400)),
    "week": ("second", Decimal(604_800)),
    "month": ("month", Decimal(1)),
    "quarter": ("month", Decimal(3)),
    "year": ("month", Decimal(12)),
}


def base_of(unit: str) -> tuple[str, Decimal]:
    """The base of a canonical unit and the unit's worth in it: ``year`` → ``("month", 12)``.

    A working day has no base but itself: how many days it takes depends on the calendar.
    """
    return _BASES.get(unit, (unit, Decimal(1)))
