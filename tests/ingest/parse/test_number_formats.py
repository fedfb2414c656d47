from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.parse.number_formats import format_number


@pytest.mark.parametrize(
    ("number_format", "expected"),
    [
        ("decimal", {1: "1", 120: "120"}),
        ("decimalZero", {1: "01", 12: "12"}),
        ("decimalFullWidth", {12: "１２"}),
        ("decimalEnclosedCircle", {1: "①", 20: "⑳", 21: "21"}),
        ("decimalEnclosedCircleChinese", {3: "③"}),
        ("decimalEnclosedFullstop", {2: "⒉"}),
        ("decimalEnclosedParen", {2: "⑵"}),
        ("ideographEnclosedCircle", {1: "㊀", 11: "11"}),
        ("upperLetter", {1: "A", 26: "Z", 27: "AA", 28: "BB"}),
        ("lowerLetter", {3: "c", 53: "aaa"}),
        ("upperRoman", {4: "IV", 9: "IX", 14: "XIV", 1999: "MCMXCIX"}),
        ("lowerRoman", {3: "iii"}),
        ("ordinal", {1: "1st", 2: "2nd", 3: "3rd", 11: "11th", 112: "112th", 21: "21st"}),
        ("cardinalText", {1: "One", 21: "Twenty-one", 105: "One hundred five"}),
        ("ordinalText", {1: "First", 12: "Twelfth", 20: "Twentieth", 21: "Twenty-first", 4: "Fourth"}),
        ("chineseCounting", {1: "一", 10: "十", 11: "十一", 20: "二十", 99: "九十九", 100: "一○○", 105: "一○五"}),
        (
            "chineseCountingThousand",
            {10: "十", 19: "十九", 100: "一百", 101: "一百〇一", 110: "一百一十", 111: "一百一十一", 1001: "一千〇一"},
        ),
        ("chineseLegalSimplified", {1: "壹", 10: "壹拾", 25: "贰拾伍", 105: "壹佰零伍"}),
        ("ideographLegalTraditional", {3: "參", 20: "貳拾"}),
        ("japaneseCounting", {10: "十", 11: "十一", 100: "百", 123: "百二十三"}),
        ("ideographDigital", {10: "一〇", 23: "二三"}),
        ("taiwaneseCounting", {11: "十一"}),
        ("ideographTraditional", {1: "甲", 10: "癸", 11: "11"}),
        ("ideographZodiac", {1: "子", 12: "亥"}),
        ("ideographZodiacTraditional", {1: "甲子", 60: "癸亥"}),
        ("numberInDash", {5: "- 5 -"}),
        ("none", {5: ""}),
        ("aFormatOfTomorrow", {5: "5"}),
    ],
)
def test_formats(number_format: str, expected: dict[int, str]) -> None:
    assert {value: format_number(value, number_format) for value in expected} == expected


_DIGITS = {digit: value for value, digit in enumerate("〇一二三四五六七八九")}
_UNITS = {"十": 10, "百": 100, "千": 1000}


def read_chinese(text: str) -> int:
    """The inverse, by the rule that children learn."""
    total = 0
    for group in text.split("万"):
        section, digit = 0, 0
        for char in group:
            if char in _UNITS:
                section += (digit or 1) * _UNITS[char]
                digit = 0
            else:
                digit = _DIGITS[char]
        total = total * 10_000 + section + digit
    return total


@settings(deadline=None)
@given(st.integers(1, 99_999_999))
def test_chinese_thousands_can_be_read_back(value: int) -> None:
    assert read_chinese(format_number(value, "chineseCountingThousand")) == value


@settings(deadline=None)
@given(st.integers(-5, 10**12), st.sampled_from(["upperRoman", "upperLetter", "chineseCounting", "cardinalText"]))
def test_no_number_is_too_strange(value: int, number_format: str) -> None:
    assert isinstance(format_number(value, number_format), str)
