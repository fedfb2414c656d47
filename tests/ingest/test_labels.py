"""Labels as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.labels import (
    canonical_label,
    format_number,
    parse_number,
    read_appendix,
    read_article,
    read_division,
    read_item,
)


@given(st.integers(min_value=0, max_value=99_999_999))
def test_a_number_survives_being_written_and_read(number: int) -> None:
    assert parse_number(format_number(number)) == number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("十二", 12),
        ("一百零二", 102),
        ("一百○二", 102),
        ("一百〇二", 102),
        ("二〇二四", 2024),
        ("两千", 2000),
        ("廿三", 23),
        ("卅", 30),
        ("１２", 12),
        ("1 2", 12),
        ("十 二", 12),
        ("一万零五", 10_005),
        ("", None),
        ("甲", None),
    ],
)
def test_numbers_are_read_in_every_spelling(text: str, number: int | None) -> None:
    assert parse_number(text) == number


@pytest.mark.parametrize(
    ("number", "text"),
    [(10, "十"), (12, "十二"), (20, "二十"), (102, "一百零二"), (110, "一百一十"), (1001, "一千零一")],
)
def test_numbers_are_written_as_laws_do(number: int, text: str) -> None:
    assert format_number(number) == text


@pytest.mark.parametrize(
    ("line", "canonical", "number", "behind"),
    [
        ("第十二条　凡", "第十二条", (12,), "　凡"),
        ("　　第１２条 凡", "第十二条", (12,), " 凡"),
        ("第 十二 条凡", "第十二条", (12,), "凡"),
        ("第　十二　条", "第十二条", (12,), ""),
        ("第一百○二条", "第一百零二条", (102,), ""),
        ("第十二条之一　凡", "第十二条之一", (12, 1), "　凡"),
        ("第12条之2", "第十二条之二", (12, 2), ""),
        ("第十二条之规定", "第十二条", (12,), "之规定"),
    ],
)
def test_article_labels(line: str, canonical: str, number: tuple[int, ...], behind: str) -> None:
    label = read_article(line)
    assert label is not None
    assert (label.canonical, label.number, line[label.end :]) == (canonical, number, behind)


@pytest.mark.parametrize("line", ["本条", "条", "第条", "第二款", "其第十二条", ""])
def test_no_article_label(line: str) -> None:
    assert read_article(line) is None


@pytest.mark.parametrize("text", ["第１２条", "第 十二 条", "第12条", "第十二条"])
def test_one_canonical_form(text: str) -> None:
    assert canonical_label(text) == "第十二条"


@pytest.mark.parametrize(
    ("line", "level", "text"),
    [
        ("第三章　待遇", "章", "第三章"),
        ("第一编 总则", "编", "第一编"),
        ("第二分编", "分编", "第二分编"),
        ("第1节", "节", "第1节"),
    ],
)
def test_divisions(line: str, level: str, text: str) -> None:
    label = read_division(line)
    assert label is not None
    assert (label.level, label.text) == (level, text)


@pytest.mark.parametrize(
    ("line", "canonical"),
    [
        ("附件", "附件"),
        ("附件1 目录", "附件1"),
        ("附件一：", "附件1"),
        ("附 件 2", "附件2"),
        ("附件1-2", "附件1-2"),
        ("附录A 术语", "附录A"),
        ("附表", "附表"),
        ("附：说明", "附"),
    ],
)
def test_appendices(line: str, canonical: str) -> None:
    label = read_appendix(line)
    assert label is not None
    assert label.canonical == canonical


@pytest.mark.parametrize("line", ["附则", "附近的医院", "第一章 附则"])
def test_no_appendix(line: str) -> None:
    assert read_appendix(line) is None


@pytest.mark.parametrize(
    ("line", "text", "number", "style"),
    [
        ("一、总体要求", "一、", (1,), "一、"),
        ("（十二）其他", "（十二）", (12,), "（一）"),
        ("(二) 其他", "(二)", (2,), "（一）"),
        ("3．材料", "3．", (3,), "1."),
        ("3、材料", "3、", (3,), "1."),
        ("2.1 范围", "2.1", (2, 1), "1.2"),
        ("2.1.3 范围", "2.1.3", (2, 1, 3), "1.3"),
        ("（1）收据", "（1）", (1,), "（1）"),
        ("②清单", "②", (2,), "①"),
        ("5 附则", "5", (5,), "1 "),
    ],
)
def test_items(line: str, text: str, number: tuple[int, ...], style: str) -> None:
    label = read_item(line)
    assert label is not None
    assert (label.text, label.number, label.style) == (text, number, style)


@pytest.mark.parametrize("line", ["1.5万元以下", "2024年1月1日", "3个月", "70%", "第一条", "一般情况", "十二指肠"])
def test_no_items(line: str) -> None:
    assert read_item(line) is None
