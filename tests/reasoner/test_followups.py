"""When the reasoner asks for more, and when it doesn't."""

from __future__ import annotations

from typing import Any

from trias.v1 import common_pb2, document_pb2, passage_pb2, plan_pb2

RATE = "参保职工在三级医院住院的支付比例为75%。"


def test_nothing_is_asked_where_the_answer_is_complete(reason: Any, passage: Any) -> None:
    assert not reason("三级医院住院报销比例是多少", [passage(RATE)]).HasField("follow_up")


def test_a_part_without_evidence_is_asked_for(reason: Any, passage: Any) -> None:
    parts = [
        plan_pb2.SubQuestion(sub_question_id="s1", text="三级医院住院报销比例是多少"),
        plan_pb2.SubQuestion(sub_question_id="s2", text="长期护理保险怎么申领"),
    ]
    response = reason("三级医院住院报销比例是多少，长期护理保险怎么申领", [passage(RATE)], sub_questions=parts)
    assert response.follow_up.requery.query == "长期护理保险怎么申领"
    last = reason("…", [passage(RATE)], sub_questions=parts, follow_up_round=2)
    assert not last.HasField("follow_up")


def test_other_regions_only(reason: Any, passage: Any) -> None:
    elsewhere = passage("参保职工住院的支付比例为82%。", title="东霖省办法", region="东霖省")
    request = reason("云川省职工住院报销比例是多少", [elsewhere]).follow_up.requery
    assert "云川省" in request.query
    assert request.reason


def test_a_clause_that_refers_to_the_number(reason: Any, passage: Any) -> None:
    text = "参保职工住院的报销比例，按照《云川省支付标准》第四条执行。"
    start = text.index("《")
    reference = document_pb2.Reference(
        text="《云川省支付标准》第四条",
        target_title="云川省支付标准",
        target_label="第四条",
        target_document_id="doc:standard",
        target_source_id="doc:standard#4",
        start=start,
        end=start + 13,
    )
    request = reason("职工住院报销比例是多少", [passage(text, references=[reference])]).follow_up.requery
    assert "云川省支付标准" in request.query
    assert "第四条" in request.query
    assert list(request.document_ids) == ["doc:standard"]


def test_a_repealed_source_asks_for_its_successor(reason: Any, passage: Any) -> None:
    repealed = passage(
        RATE,
        validity=passage_pb2.VALIDITY_REPEALED,
        status=document_pb2.DOCUMENT_STATUS_REPEALED,
        superseded_by=["doc:new"],
    )
    assert list(reason("三级医院住院报销比例是多少", [repealed]).follow_up.requery.document_ids) == ["doc:new"]


def test_passages_off_the_intent(reason: Any, passage: Any) -> None:
    response = reason(
        "异地就医备案",
        [passage("公司应当每年召开一次股东会。", title="公司法", confidence=0.1)],
        confidence=0.1,
        alternatives=[plan_pb2.Intent(path=["待遇", "报销比例"], intent_id="benefit.rate")],
    )
    assert response.follow_up.refine_intent.hint == "待遇/报销比例"


def test_the_fast_tier_asks_for_nothing(reason: Any, passage: Any) -> None:
    elsewhere = passage("参保职工住院的支付比例为82%。", title="东霖省办法", region="东霖省")
    response = reason("云川省职工住院报销比例是多少", [elsewhere], tier=common_pb2.TIER_FAST)
    assert not response.HasField("follow_up")
