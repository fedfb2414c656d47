"""When two quantities say the same, and when they cannot both be the rule."""

from __future__ import annotations

import pytest

from orchestrator.domain.quantity import Quantity, Relation, contradicts, equal, exclusive, relation
from orchestrator.domain.quantity_text import parse_quantities


def one(text: str) -> Quantity:
    quantities = parse_quantities(text)
    assert len(quantities) == 1, (text, quantities)
    return quantities[0]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("70%", "百分之七十"),
        ("70％", "七成"),
        ("百分之零点五", "千分之五"),
        ("0.5万元", "5000元"),
        ("５千元", "五千元"),
        ("1年", "12个月"),
        ("半年", "六个月"),
        ("一年半", "18个月"),
        ("1个季度", "三个月"),
        ("24小时", "1日"),
        ("一周", "7天"),
        ("2公里", "2000米"),
        ("1吨", "1000公斤"),
        ("二〇二四年一月一日", "2024-01-01"),
        ("2024年1月1日", "2024/1/1"),
        ("不超过十五日", "15日以内"),
        ("不低于三人", "3人以上"),
        ("五千元以上二万元以下", "5000元至2万元"),
        ("2倍", "百分之二百"),
        ("1/3以上", "三分之一以上"),
    ],
)
def test_the_same_said_differently(first: str, second: str) -> None:
    assert equal(one(first), one(second))
    assert not contradicts(one(first), one(second))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("70%", "75%"),
        ("5日", "5日以上"),  # a bound is not its value
        ("5日", "5个工作日"),
        ("30日", "1个月"),
        ("100元", "100美元"),
        ("3人", "3次"),
    ],
)
def test_not_the_same(first: str, second: str) -> None:
    assert not equal(one(first), one(second))


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("70%", "75%", Relation.CONTRADICTORY),
        ("15日", "20日", Relation.CONTRADICTORY),
        # a limit is stated: another limit is another rule
        ("不超过15日", "不超过20日", Relation.CONTRADICTORY),
        ("至少3人", "5人以上", Relation.CONTRADICTORY),
        ("五千元以上二万元以下", "一万元以上五万元以下", Relation.CONTRADICTORY),
        # an exact value within the limit is no contradiction
        ("不超过20日", "15日", Relation.COMPATIBLE),
        ("不超过20日", "30日", Relation.CONTRADICTORY),
        ("70%以上", "80%", Relation.COMPATIBLE),
        ("不低于80%", "70%", Relation.CONTRADICTORY),
        ("不低于80%", "不超过70%", Relation.CONTRADICTORY),
        ("不低于60%", "不超过70%", Relation.COMPATIBLE),
        # the value itself is out of an open bound, and in a closed one
        ("超过5年", "5年", Relation.CONTRADICTORY),
        ("5年以上", "5年", Relation.COMPATIBLE),
        ("未满18周岁", "18周岁", Relation.CONTRADICTORY),
        ("18周岁以下", "18周岁", Relation.COMPATIBLE),
        ("一倍以上五倍以下", "三倍", Relation.COMPATIBLE),
        ("一倍以上五倍以下", "六倍", Relation.CONTRADICTORY),
        ("约30日", "31日", Relation.COMPATIBLE),
        ("约30日", "45日", Relation.CONTRADICTORY),
        # days and months only where no month is long or short enough
        ("30日", "1个月", Relation.COMPATIBLE),
        ("30日", "三个月", Relation.CONTRADICTORY),
        ("90日", "三个月", Relation.COMPATIBLE),
        # different measures
        ("15日", "15个工作日", Relation.INCOMPARABLE),
        ("每月50元", "每年600元", Relation.INCOMPARABLE),
        ("70%", "70元", Relation.INCOMPARABLE),
        ("100元", "100美元", Relation.INCOMPARABLE),
        # dates
        ("2024年5月", "2024年", Relation.COMPATIBLE),
        ("2024年5月", "2025年", Relation.CONTRADICTORY),
        ("2024年5月3日", "2024年5月", Relation.COMPATIBLE),
        ("2024年12月31日前", "2025年6月30日前", Relation.CONTRADICTORY),
    ],
)
def test_relation(first: str, second: str, expected: Relation) -> None:
    assert relation(one(first), one(second)) is expected
    assert relation(one(second), one(first)) is expected


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("超过5000元", "5000元以下", True),
        ("5000元以上", "5000元以下", False),
        ("1万元以上", "5000元以上", False),
        ("不满5年", "5年以上", True),
        ("15日以下", "3个月以上", True),
        ("15日以下", "3个工作日以上", False),
    ],
)
def test_cases_that_exclude_each_other(first: str, second: str, expected: bool) -> None:
    assert exclusive(one(first), one(second)) is expected
    assert exclusive(one(second), one(first)) is expected
