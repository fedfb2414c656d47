from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.knowledge.clause import PathElement
from orchestrator.knowledge.graph.labels import label_key, label_keys, label_search_keys, parse_numeral


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("零", 0), ("〇", 0), ("五", 5), ("两", 2), ("十", 10), ("十二", 12), ("二十", 20), ("九十九", 99),
        ("一百", 100), ("一百零三", 103), ("一百一十", 110), ("百", 100), ("两千零五", 2005), ("二〇二四", 2024),
        ("一万零五", 10_005), ("十二万三千", 123_000), ("一千二百六十", 1260),
    ],
)  # fmt: skip
def test_numerals(text: str, number: int) -> None:
    assert parse_numeral(text) == number


def _chinese(number: int) -> str:
    digits, units, text = "零一二三四五六七八九", ["", "十", "百", "千"], ""
    pending_zero = False
    for power in range(3, -1, -1):
        digit = number // 10**power % 10
        if digit == 0:
            pending_zero = bool(text)
            continue
        text += ("零" if pending_zero else "") + digits[digit] + units[power]
        pending_zero = False
    return text


@given(st.integers(1, 9999))
def test_every_article_number_is_one_label_in_all_spellings(number: int) -> None:
    wide = str(number).translate({ord("0") + digit: ord("０") + digit for digit in range(10)})
    keys = {label_key(f"第{spelling}条") for spelling in (str(number), wide, _chinese(number))}
    assert keys == {f"第{number}条"}


@given(st.text(max_size=30))
def test_any_text_has_a_key(text: str) -> None:
    assert isinstance(label_key(text), str)
    assert all(label_search_keys(text))


@pytest.mark.parametrize(
    ("label", "key"),
    [
        ("第一百零三条之一", "第103条之1"), ("（三）", "第3项"), ("第（三）项", "第3项"), ("第三项", "第3项"),
        ("附件 一", "附件1"),
        ("附件", "附件"), ("表2", "表2"), ("一、", "1"), ("1.", "1"), ("第三章", "第3章"), ("", ""), ("　", ""),
    ],
)  # fmt: skip
def test_labels(label: str, key: str) -> None:
    assert label_key(label) == key


def test_a_clause_is_found_under_its_label_and_those_above() -> None:
    path = (PathElement("章", "第二章"), PathElement("条", "第十二条"), PathElement("项", "（三）"))
    assert label_keys("（三）", path) == {"第2章", "第12条", "第3项", "第12条第3项"}


def test_a_label_is_looked_up_exactly_first_then_by_its_article() -> None:
    tries = ["第12条第2款第3项", "第12条第3项", "第12条第2款", "第12条"]
    assert label_search_keys("第十二条第二款第（三）项") == tries
    assert label_search_keys("第十二条") == ["第12条"]
    assert label_search_keys("") == []
