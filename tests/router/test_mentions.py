from __future__ import annotations

import datetime as dt

import pytest

from orchestrator.router.mentions import find_mentions, read_time, title_within
from trias.v1 import plan_pb2

TODAY = dt.date(2026, 11, 30)
CURRENT = plan_pb2.VERSION_PREFERENCE_CURRENT
NAMED = plan_pb2.VERSION_PREFERENCE_NAMED
ALL = plan_pb2.VERSION_PREFERENCE_ALL


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("《甲办法》第十五条怎么规定", [("甲办法", "第十五条")]),
        ("《甲办法》第十二条之一和第１６条", [("甲办法", "第十二条之一"), ("甲办法", "第１６条")]),
        ("《甲办法》第 十 五 条", [("甲办法", "")]),
        ("《甲办法》第三条与《乙办法》第五条第二款", [("甲办法", "第三条"), ("乙办法", "第五条第二款")]),
        ("第八条怎么说", [("", "第八条")]),
        ("云医保发〔2024〕12号的附件1", [("云医保发〔2024〕12号", "附件1")]),
        ("《没有右边", []),
        ("《》", []),
        ("什么也没有", []),
    ],
)
def test_documents_and_labels_are_found(text: str, expected: list[tuple[str, str]]) -> None:
    assert [(mention.title, mention.label) for mention in find_mentions(text)] == expected


def test_titles_of_the_library_count_without_marks() -> None:
    text = "按大病保险实施细则第五条怎么算"
    assert [(item.title, item.label) for item in find_mentions(text, ["大病保险实施细则"])] == [
        ("大病保险实施细则", "第五条")
    ]


def test_a_label_inside_a_title_is_part_of_the_title() -> None:
    assert [item.label for item in find_mentions("《关于第三条的解释》适用吗")] == [""]


@pytest.mark.parametrize(
    ("title", "text", "expected"),
    [
        ("中华人民共和国社会保险法", "社会保险法第三条", "社会保险法"),
        ("抽查实施细则（2023年版）", "按抽查实施细则怎么判", "抽查实施细则"),
        ("甲办法", "乙办法", ""),
    ],
)
def test_a_title_may_stand_shortened_in_the_text(title: str, text: str, expected: str) -> None:
    assert title_within(title, text) == expected


@pytest.mark.parametrize(
    ("text", "as_of", "preference", "label"),
    [
        ("住院报销比例是多少", "", CURRENT, ""),
        ("目前住院报销比例是多少", "", CURRENT, ""),
        ("2023年的时候住院报销比例是多少", "2023-12-31", CURRENT, ""),
        ("2023年6月那时候起付标准多少", "2023-06-30", CURRENT, ""),
        ("截至2024年2月29日的限额", "2024-02-29", CURRENT, ""),
        ("2024年底的限额", "2024-12-31", CURRENT, ""),
        ("去年居民医保交多少钱", "2025-12-31", CURRENT, ""),
        ("明年居民医保交多少钱", "2027-01-01", CURRENT, ""),
        ("2026年的时候交多少", "", CURRENT, ""),
        ("2023年13月的时候", "", CURRENT, ""),
        ("2023年2月30日的时候", "", CURRENT, ""),
        ("2016年的救助办法还有效吗", "", NAMED, "2016年"),
        ("2024年版目录里有没有", "", NAMED, "2024年版"),
        ("在2009年10月1日以后的行为", "", CURRENT, ""),
        ("修订前怎么规定", "", NAMED, "修订前"),
        ("2024年和2021年的比例有什么变化", "", ALL, ""),
        ("新旧通知有什么区别", "", ALL, ""),
        ("《2021年办法》和《2024年办法》", "", CURRENT, ""),
    ],
)
def test_time_is_read_from_the_wording(
    text: str, as_of: str, preference: plan_pb2.VersionPreference, label: str
) -> None:
    reading = read_time(text, TODAY)
    assert (reading.as_of_date, reading.preference, reading.version_label) == (as_of, preference, label)


@pytest.mark.parametrize(
    ("number", "text", "found"),
    [
        ("云医保发〔2024〕12号", "请看云医保发〔2024〕12号第三条", "云医保发〔2024〕12号"),
        ("云医保发〔2024〕12号", "按照云医保发[2024]12号怎么报", "云医保发[2024]12号"),
        ("云医保发〔2024〕12号", "云医保发（2024） 12号还有效吗", "云医保发（2024） 12号"),
        ("云医保发〔2024〕12号", "云医保发〔2024〕第12号", "云医保发〔2024〕第12号"),
        ("云医保发〔2024〕12号", "云医保发〔2024〕112号", ""),
        ("云医保发〔2024〕12号", "云医保发〔2021〕12号", ""),
        ("云医保发〔2024〕12号", "医保发〔2024〕12号", ""),
    ],
)
def test_numbers_of_the_library_are_found_whatever_the_brackets(number: str, text: str, found: str) -> None:
    assert title_within(number, text) == found
