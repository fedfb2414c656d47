"""What conflicts and what doesn't: same matter, compatible scope, numbers or predicates that cannot both hold."""

from __future__ import annotations

from typing import Any

import pytest

from trias.v1 import passage_pb2

NEW, OLD = "2024年通知", "2021年通知"


def conflicts(reason: Any, first: Any, second: Any, question: str = "住院报销比例是多少") -> list[Any]:
    return list(reason(question, [first, second]).answer.conflicts)


def pair(passage: Any, one: str, other: str, **both: Any) -> tuple[Any, Any]:
    return (
        passage(one, title=OLD, date="2021-09-01", **both),
        passage(other, title=NEW, date="2024-05-01", **both),
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("参保职工在三级医院住院的支付比例为70%。", "参保职工在三级医院住院的支付比例为75%。"),
        # the same matter in quite other words
        (
            "参保职工在三级医院住院发生的政策范围内医疗费用，统筹基金支付比例为70%。",
            "职工三级医院住院费用由基金报销75%。",
        ),
        # percentages written differently
        ("参保职工住院的支付比例为百分之七十。", "参保职工住院的支付比例为七成五。"),
        # limits: another limit is another rule
        ("经办机构应当自受理申请之日起15日内办结。", "经办机构应当自受理申请之日起20日内办结。"),
        # days and working days are not the same period
        ("经办机构应当自受理申请之日起15日内办结。", "经办机构应当自受理申请之日起15个工作日内办结。"),
        # no matter of the pack, general text
        ("违反本规定转借凭证的，处五百元以上一千元以下罚款。", "违反本规定转借凭证的，处一千元以上五千元以下罚款。"),
    ],
)
def test_numbers_that_cannot_both_hold(reason: Any, passage: Any, one: str, other: str) -> None:
    (conflict,) = conflicts(reason, *pair(passage, one, other), question="支付比例、办结时限和罚款是多少")
    assert len(conflict.claim_ids) == 2
    assert NEW in conflict.explanation
    assert OLD in conflict.explanation


@pytest.mark.parametrize(
    ("one", "other"),
    [
        # other grades, other services, other groups
        ("参保职工在三级医院住院的支付比例为70%。", "参保职工在二级医院住院的支付比例为80%。"),
        ("参保职工住院的支付比例为70%。", "参保职工普通门诊的支付比例为50%。"),
        ("职工住院的支付比例为70%。", "城乡居民住院的支付比例为60%。"),
        # the same number written differently
        ("参保职工住院的支付比例为70%。", "参保职工住院的支付比例为百分之七十。"),
        # another matter
        ("住院的支付比例为70%。", "住院的个人自付比例为30%。"),
        # an increment is not a value
        ("住院的支付比例为70%。", "住院的支付比例提高5个百分点。"),
        # an exact value within a limit
        ("经办机构应当在20日内办结备案申请。", "经办机构办结备案申请的期限为15日。"),
        # tiers of one rule
        ("住院费用超过5000元的部分，支付比例为80%。", "住院费用5000元以下的部分，支付比例为70%。"),
        # years
        ("2023年度居民个人缴费标准为380元。", "2024年度居民个人缴费标准为400元。"),
        # unlike sentences with numbers of one kind
        ("定点医疗机构应当保存资料30日。", "参保人员应当在5日内补办备案手续。"),
    ],
)
def test_numbers_that_can_both_hold(reason: Any, passage: Any, one: str, other: str) -> None:
    assert conflicts(reason, *pair(passage, one, other), question="支付比例、缴费标准和期限是多少") == []


def test_regions_apart_and_regions_within(reason: Any, passage: Any) -> None:
    text = "参保职工在三级医院住院的支付比例为{}。"
    province = passage(text.format("70%"), title="云川省通知", region="云川省")
    elsewhere = passage(text.format("82%"), title="东霖省通知", region="东霖省")
    city = passage(text.format("75%"), title="青岚市通知", region="青岚市")
    assert conflicts(reason, province, elsewhere) == []
    assert len(conflicts(reason, province, city)) == 1


def test_a_list_item_is_scoped_by_its_lead_in(reason: Any, passage: Any) -> None:
    one = passage(
        "参保职工在三级医院住院的，按照下列规定支付：\n（一）支付比例为70%；\n（二）不设起付标准。", title=OLD
    )
    other = passage(
        "参保职工在二级医院住院的，按照下列规定支付：\n（一）支付比例为80%；\n（二）不设起付标准。", title=NEW
    )
    assert conflicts(reason, one, other) == []


def test_a_heading_scopes_what_stands_under_it(reason: Any, passage: Any) -> None:
    one = passage("支付比例为70%，由统筹基金支付。", title=OLD, headings=["普通门诊待遇"])
    other = passage("支付比例为75%，由统筹基金支付。", title=NEW, headings=["住院待遇"])
    same = passage("支付比例为75%，由统筹基金支付。", title=NEW, headings=["普通门诊待遇"])
    assert conflicts(reason, one, other, question="报销比例是多少") == []
    assert len(conflicts(reason, one, same, question="报销比例是多少")) == 1


def test_one_clause_never_contradicts_itself(reason: Any, passage: Any) -> None:
    text = "参保职工住院的支付比例为70%。参保职工住院的支付比例为75%。"
    assert list(reason("住院支付比例是多少", [passage(text)]).answer.conflicts) == []


def test_a_rule_and_its_denial(reason: Any, passage: Any) -> None:
    one, other = pair(
        passage, "参保人员可以委托他人代办异地就医备案手续。", "参保人员不得委托他人代办异地就医备案手续。"
    )
    (conflict,) = conflicts(reason, one, other, question="可以委托他人代办备案吗")
    assert len(conflict.claim_ids) == 2


def test_validity_that_does_not_overlap_is_no_conflict(reason: Any, passage: Any) -> None:
    text = "参保职工住院的支付比例为{}。"
    old = passage(text.format("70%"), title=OLD, date="2018-01-01", expiry_date="2020-12-31")
    new = passage(text.format("75%"), title=NEW, date="2021-01-01")
    assert conflicts(reason, old, new) == []


def test_what_is_not_yet_in_force_contradicts_nothing(reason: Any, passage: Any) -> None:
    text = "参保职工住院的支付比例为{}。"
    now = passage(text.format("70%"), title=OLD, date="2021-01-01")
    later = passage(text.format("75%"), title=NEW, date="2026-01-01", validity=passage_pb2.VALIDITY_NOT_YET_EFFECTIVE)
    answer = reason("住院支付比例是多少", [now, later]).answer
    assert list(answer.conflicts) == []
    assert "70%" in answer.text
    assert "75%" not in answer.text
    assert any("尚未生效" in line for line in answer.verification.unverified)
