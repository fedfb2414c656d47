"""Whole requests: compound questions, lists, tables, procedures, yes and no, tiers, stops, bad input."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from orchestrator.errors import InvalidFieldError
from orchestrator.reasoner.agent import SHORT_CHARACTERS, ReasonerAgent
from orchestrator.settings import ReasonerSettings
from trias.v1 import common_pb2, document_pb2, passage_pb2, plan_pb2, reasoner_service_pb2, reasoning_pb2

RATE = "参保职工在三级医院住院的支付比例为75%。"
FILING = "经办机构应当自受理异地就医备案申请之日起5个工作日内办结。"
LIST = "有下列情形之一的，备案终止：\n（一）参保人员申请取消的；\n（二）备案有效期满的；\n（三）参保关系转出的。"


def test_an_answer_with_its_whole_evidence(reason: Any, passage: Any) -> None:
    response = reason("三级医院住院报销比例是多少", [passage(RATE), passage(FILING, label="第二条")])
    answer = response.answer
    assert answer.status == reasoning_pb2.ANSWER_STATUS_ANSWERED
    assert answer.text == f"{RATE}[#1]"
    assert not answer.provisional
    (sentence,) = answer.sentences
    assert sentence.status == reasoning_pb2.SENTENCE_STATUS_VERIFIED
    (chain,) = answer.evidence
    (citation,) = answer.citations
    rulings = {ruling.ruling_id: ruling for ruling in answer.rulings}
    claims = {claim.claim_id: claim for claim in answer.claims}
    assert rulings[chain.ruling_id].claim_id == chain.claim_id
    assert claims[chain.claim_id].sentence == RATE
    assert (chain.citation_number, chain.clause_label, chain.place.page) == (1, "第一条", 3)
    assert citation.sentence == RATE
    summary = answer.verification
    assert (summary.sentences_checked, summary.sentences_verified, summary.sentences_withheld) == (1, 1, 0)
    assert summary.numbers_checked == summary.numbers_equal == 1
    assert [source.title for source in summary.sources] == ["云川省职工医保办法"]
    assert summary.as_of_date == "2025-01-01"


def test_timing_names_its_stages(reason: Any, passage: Any) -> None:
    timing = reason("三级医院住院报销比例是多少", [passage(RATE)]).timing
    stages = {stage.stage for stage in timing.stages}
    assert {"read", "weigh", "claims", "rule", "judge", "write", "verify"} <= stages
    assert timing.total_ms == timing.overhead_ms > 0


def test_a_compound_question_is_answered_part_by_part(reason: Any, passage: Any) -> None:
    parts = [
        plan_pb2.SubQuestion(sub_question_id="s1", text="三级医院住院报销比例是多少"),
        plan_pb2.SubQuestion(sub_question_id="s2", text="异地就医备案几天办结"),
        plan_pb2.SubQuestion(sub_question_id="s3", text="比特币怎么交税"),
    ]
    answer = reason("…", [passage(RATE), passage(FILING, label="第二条")], sub_questions=parts).answer
    lines = answer.text.splitlines()
    assert lines[0] == "关于“三级医院住院报销比例是多少”："
    assert lines[1].startswith(RATE)
    assert lines[2] == "关于“异地就医备案几天办结”："
    assert lines[3].startswith(FILING)
    assert "我不知道" in lines[5]
    assert any("比特币" in line for line in answer.verification.unverified)


def test_an_enumeration_gets_the_whole_list(reason: Any, passage: Any) -> None:
    answer = reason("备案终止的情形有哪些", [passage(LIST)], kind=plan_pb2.QUESTION_TYPE_ENUMERATION).answer
    assert answer.text == f"{LIST}[#1]"
    assert answer.citations[0].sentence == LIST


def test_one_item_comes_with_its_lead_in(reason: Any, passage: Any) -> None:
    answer = reason("备案有效期满的会怎样", [passage(LIST)]).answer
    assert answer.text.startswith("有下列情形之一的，备案终止：")
    assert "（二）备案有效期满的" in answer.text


def test_a_table_row_is_read_under_its_headers(reason: Any, passage: Any) -> None:
    table = document_pb2.Table(
        headers=["药品名称", "支付标准（元）", "个人自付比例"],
        rows=[
            document_pb2.TableRow(cells=["甲注射液", "3800", "20%"]),
            document_pb2.TableRow(cells=["乙缓释片", "12.5", "10%"]),
        ],
    )
    text = "药品名称 | 支付标准（元） | 个人自付比例\n甲注射液 | 3800 | 20%\n乙缓释片 | 12.5 | 10%"
    answer = reason("乙缓释片的个人自付比例是多少", [passage(text, table=table)]).answer
    assert answer.status == reasoning_pb2.ANSWER_STATUS_ANSWERED
    assert answer.text == "药品名称：乙缓释片，支付标准（元）：12.5，个人自付比例：10%[#1]"
    assert answer.citations[0].sentence == "乙缓释片 | 12.5 | 10%"


def test_a_procedure_keeps_the_order_of_the_document(reason: Any, passage: Any) -> None:
    text = "备案申请人应当先填写备案申请表。备案申请表由经办机构审核。审核通过的备案申请即时生效。"
    answer = reason("备案申请如何办理", [passage(text)], kind=plan_pb2.QUESTION_TYPE_PROCEDURE).answer
    order = [text.index(sentence.text) for sentence in answer.sentences]
    assert len(order) == 3
    assert order == sorted(order)


@pytest.mark.parametrize(
    ("text", "lead"),
    [
        ("参保人员可以委托他人代办异地就医备案。", "是。"),
        ("参保人员不得委托他人代办异地就医备案。", "否。"),
        ("参保人员委托他人代办异地就医备案的办法另行制定。", "参保人员"),
        ("经经办机构同意，参保人员可以委托他人代办异地就医备案。", "经经办机构同意"),
        ("参保人员不得有下列行为：（一）委托他人代办异地就医备案；（二）转借凭证。", "否。"),
    ],
)
def test_yes_or_no_only_where_the_sentence_says_so(reason: Any, passage: Any, text: str, lead: str) -> None:
    answer = reason("可以委托他人代办异地就医备案吗", [passage(text)], kind=plan_pb2.QUESTION_TYPE_YES_NO).answer
    assert answer.status == reasoning_pb2.ANSWER_STATUS_ANSWERED
    assert answer.text.startswith(lead)


def test_several_documents_are_named(reason: Any, passage: Any) -> None:
    one = passage("参保职工在三级医院住院的支付比例为75%。", title="云川省通知", region="云川省")
    other = passage("参保职工在三级医院住院的支付比例为82%。", title="东霖省通知", region="东霖省")
    text = reason("三级医院住院报销比例是多少", [one, other]).answer.text
    assert "《云川省通知》规定：" in text
    assert "《东霖省通知》规定：" in text


def test_the_fast_tier_reads_the_first_passages_and_is_provisional(reason: Any, passage: Any) -> None:
    fillers = [passage(f"第{n}类机构应当公示价格。", label=f"第{n}条") for n in "二三四"]
    answer = reason("三级医院住院报销比例是多少", [*fillers, passage(RATE)], tier=common_pb2.TIER_FAST).answer
    assert answer.provisional
    assert "75%" not in answer.text
    answer = reason("三级医院住院报销比例是多少", [passage(RATE), *fillers], tier=common_pb2.TIER_FAST).answer
    assert answer.tier == common_pb2.TIER_FAST
    assert answer.text == f"{RATE}[#1]"


def repealed(passage: Any, **rest: Any) -> Any:
    return passage(
        RATE,
        title="旧办法",
        date="2016-01-01",
        validity=passage_pb2.VALIDITY_REPEALED,
        status=document_pb2.DOCUMENT_STATUS_REPEALED,
        **rest,
    )


def test_a_repealed_source_alone_stops_the_answer(reason: Any, passage: Any) -> None:
    new = passage("本办法所称经办机构，是指医疗保障经办机构。", title="新办法", date="2023-01-01")
    old = repealed(passage, superseded_by=[new.document.document_id])
    answer = reason("三级医院住院报销比例是多少", [old, new]).answer
    assert answer.status == reasoning_pb2.ANSWER_STATUS_STOPPED
    assert "《旧办法》已废止" in answer.notice
    assert "《新办法》" in answer.notice
    assert "75%" not in answer.text
    (degradation,) = answer.degradations
    assert (degradation.level, degradation.reason) == (common_pb2.FAULT_LEVEL_STOP, "SOURCE_REPEALED")


def test_an_expired_source_says_so(reason: Any, passage: Any) -> None:
    old = passage(RATE, validity=passage_pb2.VALIDITY_EXPIRED, expiry_date="2020-12-31")
    answer = reason("三级医院住院报销比例是多少", [old]).answer
    assert answer.status == reasoning_pb2.ANSWER_STATUS_STOPPED
    assert answer.degradations[0].reason == "SOURCE_EXPIRED"


def test_a_repealed_source_may_be_asked_for(reason: Any, passage: Any) -> None:
    answer = reason(
        "2016年三级医院住院报销比例是多少",
        [repealed(passage)],
        version_preference=plan_pb2.VERSION_PREFERENCE_NAMED,
    ).answer
    assert answer.status == reasoning_pb2.ANSWER_STATUS_ANSWERED
    assert "75%" in answer.text


def test_a_clause_that_was_changed_after_its_fingerprint_needs_review(reason: Any, passage: Any) -> None:
    forged = passage(RATE)
    forged.clause.text = RATE.replace("75%", "95%")
    answer = reason("三级医院住院报销比例是多少", [forged]).answer
    assert answer.status == reasoning_pb2.ANSWER_STATUS_NEEDS_REVIEW
    assert "95%" not in answer.text
    assert answer.sentences[0].status == reasoning_pb2.SENTENCE_STATUS_WITHHELD
    assert answer.verification.sentences_withheld == 1
    assert answer.verification.unverified


@pytest.mark.parametrize(("clauses", "submitted"), [(1, 0), (SHORT_CHARACTERS // len(RATE) + 1, 1)])
def test_long_work_runs_in_the_executor(
    pack: Any, request_for: Any, passage: Any, clauses: int, submitted: int
) -> None:
    names: list[str] = []

    class Recording(ThreadPoolExecutor):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
            names.append("submitted")
            return super().submit(fn, *args, **kwargs)

    passages = [passage(RATE, label=f"第{number}条") for number in range(1, clauses + 1)]
    with Recording(1) as executor:
        agent = ReasonerAgent(ReasonerSettings(), {"medical": pack}, "medical", executor)
        response = asyncio.run(agent.reason(request_for("三级医院住院报销比例是多少", passages)))
    assert len(names) == submitted
    assert response.answer.citations


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"plan": plan_pb2.Plan(question=" ")}, "plan.question"),
        ({"plan": plan_pb2.Plan(question="q", domain="other")}, "plan.domain"),
        ({"plan": plan_pb2.Plan(question="q", as_of_date="2024-13-01")}, "plan.as_of_date"),
        ({"tier": common_pb2.TIER_FALLBACK}, "tier"),
        ({"follow_up_round": 3}, "follow_up_round"),
        ({"retrieval_confidence": float("nan")}, "retrieval_confidence"),
        ({"retrieval_confidence": 1.5}, "retrieval_confidence"),
        ({"passages": [passage_pb2.Passage()] * 101}, "passages"),
    ],
)
async def test_bad_input_names_its_field(agent: ReasonerAgent, change: dict[str, Any], field: str) -> None:
    good: dict[str, Any] = {"plan": plan_pb2.Plan(question="q"), "tier": common_pb2.TIER_DEEP}
    with pytest.raises(InvalidFieldError) as caught:
        await agent.reason(reasoner_service_pb2.ReasonRequest(**{**good, **change}))
    assert caught.value.field == field


@pytest.mark.parametrize(
    "text",
    ["", "。。；；\n\n", "（" * 5000, "一二三四五六七八九十" * 2000, "1" * 20000, "\x00\x1f\ue000", "。" * 20000],
)
def test_hostile_clauses_are_survived(reason: Any, passage: Any, text: str) -> None:
    answer = reason("三级医院住院报销比例是多少", [passage(text, label="第二条"), passage(RATE)]).answer
    assert RATE in answer.text


def test_passages_beyond_the_reading_limit_are_named(reason: Any, passage: Any) -> None:
    huge = passage("长" * 250_000, label="第二条")
    answer = reason("三级医院住院报销比例是多少", [passage(RATE), huge]).answer
    assert RATE in answer.text
    assert any("未读" in line for line in answer.verification.unverified)


def test_an_unset_document_is_no_error(reason: Any) -> None:
    bare = passage_pb2.Passage(source_id="c", clause=document_pb2.Clause(source_id="c", text=RATE), confidence=0.5)
    answer = reason("三级医院住院报销比例是多少", [bare]).answer
    assert RATE in answer.text
    assert any("未注明" in line for line in answer.verification.unverified)
