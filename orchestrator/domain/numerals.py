"""Chinese and Arabic numerals, read as exact decimals."""

from __future__ import annotations

from decimal import Decimal

from orchestrator.domain.folding import Folding

__all__ = ["CHINESE_DIGITS", "NUMERAL", "NUMERAL_START", "YEAR_NUMERAL", "fold", "parse_numeral"]

_FOLD: dict[str, str] = {chr(ord("０") + digit): chr(ord("0") + digit) for digit in range(10)} | {
    "％": "%",
    "．": ".",
    "－": "-",
    "／": "/",
    "～": "~",
    "＞": ">",
    "＜": "<",
    "（": "(",
    "）": ")",
    "［": "[",
    "］": "]",
    "【": "[",
    "】": "]",
    "○": "〇",
    "Ｏ": "〇",
    "\u3000": " ",
    "\u00a0": " ",
}
_folding = Folding(_FOLD)

CHINESE_DIGITS: dict[str, int] = {
    **{character: value for value, character in enumerate("零一二三四五六七八九")},
    **{character: value for value, character in enumerate("零壹贰叁肆伍陆柒捌玖")},
    "〇": 0,
    "两": 2,
}
_SMALL = {"十": 10, "百": 100, "千": 1000, "拾": 10, "佰": 100, "仟": 1000}
_LARGE = {"万": 10_000, "萬": 10_000, "亿": 100_000_000, "億": 100_000_000}
_MULTIPLIERS = {**_SMALL, **_LARGE}

_CHINESE_CLASS = "[" + "".join(CHINESE_DIGITS) + "".join(_MULTIPLIERS) + "]"
_CHINESE_FRACTION = "[" + "".join(CHINESE_DIGITS) + "]"
_ARABIC = r"\d{1,3}(?:[,，]\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?"

NUMERAL = rf"(?:(?:{_ARABIC})(?:\s?[{''.join(_MULTIPLIERS)}]+)?|{_CHINESE_CLASS}+(?:点{_CHINESE_FRACTION}+[万亿]?)?)"
"""A pattern (no groups) for a numeral in folded text; not all that it matches is one: see `parse_numeral`."""

NUMERAL_START = "[" + r"\d" + "".join(CHINESE_DIGITS) + "".join(_MULTIPLIERS) + "]"
"""A character class of what a numeral begins with. As a look-ahead before a longer pattern it saves most of its time:
elsewhere in the text nothing else of it is tried."""

YEAR_NUMERAL = r"(?:(?:19|20)\d{2}|[一二][九〇零][〇零一二三四五六七八九]{2})"
"""A pattern (no groups) for the numeral of a calendar year between 1900 and 2099."""


def fold(text: str) -> str:
    """Full-width digits and signs made plain; the length stays the same."""
    return _folding(text)


def parse_numeral(text: str) -> Decimal | None:
    """The value of a numeral: ``1.5万``, ``三千二百``, ``零点五``, ``二〇二四``, ``两万五``.

    Args:
        text: folded (`fold`), nothing but the numeral.

    Returns:
        The value, or None where the characters do not make a number (``百``, ``万万``, ``十十``).
    """
    text = text.replace(" ", "").replace(",", "").replace("，", "")
    # 零 alone begins other words: 零件, 零售.
    if not text or text == "零":
        return None
    if text[0].isdigit():
        return _parse_arabic(text)
    whole, point, fraction = text.partition("点")
    value = _parse_chinese(whole)
    if value is None or not point:
        return None if value is None else Decimal(value)
    scale = _LARGE.get(fraction[-1:], 1)
    digits = "".join(str(CHINESE_DIGITS[character]) for character in fraction if character in CHINESE_DIGITS)
    return Decimal(f"{value}.{digits}") * scale if digits else None


def _parse_arabic(text: str) -> Decimal:
    cut = next((index for index, character in enumerate(text) if character in _MULTIPLIERS), len(text))
    value = Decimal(text[:cut])
    for character in text[cut:]:
        value *= _MULTIPLIERS[character]
    return value


def _parse_chinese(text: str) -> int | None:
    if all(character in CHINESE_DIGITS for character in text):
        # 二〇二四, 一二〇: digits by place. 两 is never one of them.
        if len(text) > 1 and "两" in text:
            return None
        return int("".join(str(CHINESE_DIGITS[character]) for character in text))
    if text[0] in _MULTIPLIERS and text[0] not in "十拾":
        return None
    total = 0
    for part, unit in _sections(text):
        value = _parse_section(part)
        if value is None:
            return None
        total = (total + value) * unit if unit > _LARGE["万"] else total + value * unit
    return total


def _sections(text: str) -> list[tuple[str, int]]:
    """三亿二千万五: the parts before each 亿 and 万 with what multiplies them, and the rest."""
    sections, start = [], 0
    for index, character in enumerate(text):
        if character in _LARGE:
            sections.append((text[start:index], _LARGE[character]))
            start = index + 1
    rest = text[start:]
    if rest:
        # 两万五: a bare last digit after 万 stands for thousands.
        bare = start and len(rest) == 1 and rest in CHINESE_DIGITS
        sections.append((rest, _LARGE[text[start - 1]] // 10 if bare else 1))
    return sections


def _parse_section(text: str) -> int | None:
    """A value below ten thousand: 三千二百零五, 十五, 一百二 (120)."""
    if not text:
        return None
    total, digit, last_unit = 0, None, 0
    for character in text:
        if character in CHINESE_DIGITS:
            if digit:
                return None
            digit = CHINESE_DIGITS[character]
            last_unit = 0 if digit == 0 else last_unit
            continue
        unit = _SMALL[character]
        if digit is None and total:
            return None
        total += (1 if digit is None else digit) * unit
        digit, last_unit = None, unit
    return total + (digit or 0) * (last_unit // 10 if last_unit > 10 else 1)
