"""What no source carries is refused, in the question's own words; lay wording of what one carries is not."""

from __future__ import annotations

from typing import Any

import pytest

from trias.v1 import common_pb2, reasoning_pb2

CLAUSES = [
    "第八条　参保职工在三级医院住院的，统筹基金支付比例为75%，起付标准为1000元。",
    "第九条　参保人员到外地就医的，应当办理异地就医备案。经办机构应当自受理之日起5个工作日内办结。",
    "第十条　未按照规定缴纳基本医疗保险费的，自欠费次月起停止享受医疗保险待遇。",
    "第十一条　医疗保险费由用人单位和职工共同缴纳，用人单位按照职工工资总额的8%缴纳。",
    "第十二条　美容、健身和预防性体检的费用不予报销。",
]


@pytest.fixture
def passages(passage: Any) -> list[Any]:
    return [passage(text, label=text.split("　")[0], confidence=0.55) for text in CLAUSES]


@pytest.mark.parametrize("tier", [common_pb2.TIER_FAST, common_pb2.TIER_DEEP])
@pytest.mark.parametrize(
    ("question", "subject"),
    [
        ("宠物医疗保险能报销多少", "宠物"),
        ("火星移民的医保待遇", "火星移民"),
        ("比特币怎么交税", "比特币"),
        ("驾驶证丢失以后如何补领", "驾驶证"),
        ("股票账户住院能报销吗", "股票账户"),
    ],
)
def test_what_no_source_knows_is_refused(reason: Any, passages: Any, question: str, subject: str, tier: int) -> None:
    answer = reason(question, passages, tier=tier, confidence=0.55).answer
    assert answer.status == reasoning_pb2.ANSWER_STATUS_REFUSED
    assert answer.notice.startswith("我不知道")
    assert subject in answer.notice
    assert answer.text == answer.notice
    assert not answer.citations
    assert not answer.conflicts


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("三级医院住院报销多少", "75%"),
        ("在大医院三级的那种住院，能给报百分之多少呀", "75%"),
        ("异地就医怎么备案，几天能办好", "5个工作日"),
        ("单位给职工交多少医疗保险费", "8%"),
        ("健身的费用能不能报销", "不予报销"),
        ("欠费以后还能享受医疗保险待遇吗", "停止享受"),
    ],
)
def test_lay_wording_is_answered(reason: Any, passages: Any, question: str, expected: str) -> None:
    answer = reason(question, passages, confidence=0.45).answer
    assert answer.status == reasoning_pb2.ANSWER_STATUS_ANSWERED
    assert expected in answer.text


def test_no_passages_no_answer(reason: Any) -> None:
    answer = reason("三级医院住院报销多少", []).answer
    assert answer.status == reasoning_pb2.ANSWER_STATUS_REFUSED


def test_a_question_of_fillers_only_is_refused(reason: Any, passages: Any) -> None:
    assert reason("请问是什么？", passages).answer.status == reasoning_pb2.ANSWER_STATUS_REFUSED


def test_evidence_for_another_region_is_no_answer(reason: Any, passage: Any) -> None:
    elsewhere = passage("参保职工住院的支付比例为82%。", title="东霖省办法", region="东霖省")
    answer = reason("云川省职工住院报销比例是多少", [elsewhere]).answer
    assert answer.status == reasoning_pb2.ANSWER_STATUS_REFUSED
    assert "82%" not in answer.text
