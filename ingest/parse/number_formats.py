"""Numbers as Word's automatic numbering writes them (ECMA-376 part 1, 17.18.59 ST_NumberFormat)."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["format_number"]

_TRADITIONAL_STEMS = "甲乙丙丁戊己庚辛壬癸"
_ZODIAC = "子丑寅卯辰巳午未申酉戌亥"
_FULL_WIDTH = str.maketrans("0123456789", "０１２３４５６７８９")
_ROMAN = (
    (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"),
    (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
)  # fmt: skip
_ONES = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_TENS = ["-", "-", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_IRREGULAR_ORDINALS = {
    "one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth",
    "twelve": "twelfth",
}  # fmt: skip


def format_number(value: int, number_format: str) -> str:
    """A number in one of Word's formats.

    Args:
        value: the counter.
        number_format: a value of ST_NumberFormat; one that is not known here is written in digits.
    """
    if number_format == "none":
        return ""
    formatter = _FORMATS.get(number_format)
    return str(value) if formatter is None or value < 0 else formatter(value)


def _letters(first: str) -> Callable[[int], str]:
    # Word repeats the letter after the alphabet's end: z, aa, bb.
    def letters(value: int) -> str:
        if value < 1:
            return ""
        turns, letter = divmod(value - 1, 26)
        return chr(ord(first) + letter) * (turns + 1) if turns < 30 else str(value)

    return letters


def _roman(value: int) -> str:
    if not 0 < value < 32768:
        return str(value)
    written = ""
    for worth, letters in _ROMAN:
        count, value = divmod(value, worth)
        written += letters * count
    return written


def _from_row(row: str) -> Callable[[int], str]:
    return lambda value: row[value - 1] if 1 <= value <= len(row) else str(value)


def _from_code_point(first: int, count: int) -> Callable[[int], str]:
    return lambda value: chr(first + value - 1) if 1 <= value <= count else str(value)


def _positional(digits: str) -> Callable[[int], str]:
    return lambda value: "".join(digits[int(digit)] for digit in str(value))


def _counting(digits: str) -> Callable[[int], str]:
    """一, 十, 十一, 九十九 and, from a hundred on, digit by digit: 一○○."""

    def counting(value: int) -> str:
        if value == 0 or value >= 100:
            return "".join(digits[int(digit)] for digit in str(value))
        tens, ones = divmod(value, 10)
        head = "" if tens == 0 else ("十" if tens == 1 else digits[tens] + "十")
        return head + (digits[ones] if ones else "")

    return counting


def _grouped(
    digits: str, units: tuple[str, str, str, str], *, zero: str, leading_one: bool, ones_before_units: bool = True
) -> Callable[[int], str]:
    """Numbers by thousands: 一百〇一, 壹佰零壹, 百一.

    Args:
        digits: for 0 to 9.
        units: ten, hundred, thousand, ten thousand.
        zero: for a gap between digits; empty where the language has none.
        leading_one: whether 10 to 19 begin with a one (壹拾, not 十).
        ones_before_units: whether a one stands before hundred and thousand (一百, not 百).
    """

    def group(value: int) -> str:
        written, gap = "", False
        for power in (3, 2, 1, 0):
            digit = value // 10**power % 10
            if digit == 0:
                gap = bool(written)
                continue
            if gap and zero:
                written += zero
            gap = False
            silent = digit == 1 and power > 0 and not ones_before_units
            written += ("" if silent else digits[digit]) + (units[power - 1] if power else "")
        return written

    def grouped(value: int) -> str:
        if value == 0 or value >= 10**8:
            return digits[0] if value == 0 else str(value)
        high, low = divmod(value, 10_000)
        written = (group(high) + units[3]) if high else ""
        if high and low and low < 1000 and zero:
            written += zero
        written += group(low)
        if not leading_one and written.startswith(digits[1] + units[0]):
            written = written[1:]
        return written

    return grouped


def _cardinal(value: int) -> str:
    if value < 20:
        return _ONES[value]
    if value < 100:
        return _TENS[value // 10] + (f"-{_ONES[value % 10]}" if value % 10 else "")
    if value < 1000:
        return f"{_ONES[value // 100]} hundred" + (f" {_cardinal(value % 100)}" if value % 100 else "")
    return str(value)


def _ordinal_text(value: int) -> str:
    words = _cardinal(value)
    cut = max(words.rfind(" "), words.rfind("-")) + 1
    last = words[cut:]
    ordinal = _IRREGULAR_ORDINALS.get(last) or (last[:-1] + "ieth" if last.endswith("y") else last + "th")
    return words[:cut] + ordinal


def _ordinal(value: int) -> str:
    if value % 100 in {11, 12, 13}:
        return f"{value}th"
    return f"{value}" + {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")


def _sixty(value: int) -> str:
    return _TRADITIONAL_STEMS[(value - 1) % 10] + _ZODIAC[(value - 1) % 12] if 1 <= value <= 60 else str(value)


_PLAIN = "一二三四五六七八九"
_KOREAN = "영일이삼사오육칠팔구"
_FORMATS: dict[str, Callable[[int], str]] = {
    "decimal": str,
    "decimalHalfWidth": str,
    "decimalZero": lambda value: f"{value:02d}",
    "decimalFullWidth": lambda value: str(value).translate(_FULL_WIDTH),
    "decimalFullWidth2": lambda value: str(value).translate(_FULL_WIDTH),
    "decimalEnclosedCircle": _from_code_point(ord("①"), 20),
    "decimalEnclosedCircleChinese": _from_code_point(ord("①"), 20),
    "decimalEnclosedFullstop": _from_code_point(ord("⒈"), 20),
    "decimalEnclosedParen": _from_code_point(ord("⑴"), 20),
    "ideographEnclosedCircle": _from_code_point(ord("㊀"), 10),
    "numberInDash": lambda value: f"- {value} -",
    "hex": lambda value: f"{value:X}",
    "upperLetter": _letters("A"),
    "lowerLetter": _letters("a"),
    "upperRoman": _roman,
    "lowerRoman": lambda value: _roman(value).lower(),
    "ordinal": _ordinal,
    "cardinalText": lambda value: _cardinal(value).capitalize(),
    "ordinalText": lambda value: _ordinal_text(value).capitalize(),
    "chineseCounting": _counting("○" + _PLAIN),
    "taiwaneseCounting": _counting("○" + _PLAIN),
    "ideographDigital": _positional("〇" + _PLAIN),
    "japaneseDigitalTenThousand": _positional("〇" + _PLAIN),
    "taiwaneseDigital": _positional("○" + _PLAIN),
    "koreanDigital": _positional(_KOREAN),
    "koreanDigital2": _positional("零" + _PLAIN),
    "koreanCounting": _grouped(_KOREAN, ("십", "백", "천", "만"), zero="", leading_one=False, ones_before_units=False),
    "chineseCountingThousand": _grouped("〇" + _PLAIN, ("十", "百", "千", "万"), zero="〇", leading_one=False),
    "taiwaneseCountingThousand": _grouped("○" + _PLAIN, ("十", "百", "千", "萬"), zero="○", leading_one=False),
    "chineseLegalSimplified": _grouped("零壹贰叁肆伍陆柒捌玖", ("拾", "佰", "仟", "万"), zero="零", leading_one=True),
    "ideographLegalTraditional": _grouped(
        "零壹貳參肆伍陸柒捌玖", ("拾", "佰", "仟", "萬"), zero="零", leading_one=True
    ),
    "japaneseCounting": _grouped(
        "〇" + _PLAIN, ("十", "百", "千", "万"), zero="", leading_one=False, ones_before_units=False
    ),
    "japaneseLegal": _grouped("〇壱弐参四伍六七八九", ("拾", "百", "阡", "萬"), zero="", leading_one=True),
    "ideographTraditional": _from_row(_TRADITIONAL_STEMS),
    "ideographZodiac": _from_row(_ZODIAC),
    "ideographZodiacTraditional": _sixty,
}
