"""The ruling order: override, amendment or repeal, newer by a year, authority with age; else both are shown."""

from __future__ import annotations

from typing import Any

import pytest

from trias.v1 import document_pb2, passage_pb2, reasoning_pb2

QUESTION = "三级医院住院报销比例是多少"
TEXT = "参保职工在三级医院住院的支付比例为{}。"


def standing(answer: Any) -> dict[str, Any]:
    """The number of each claim that stands → its ruling."""
    numbers = {claim.claim_id: claim.quantities[0].text for claim in answer.claims}
    return {numbers[ruling.claim_id]: ruling for ruling in answer.rulings}


def test_nothing_contradicts(reason: Any, passage: Any) -> None:
    (ruling,) = reason(QUESTION, [passage(TEXT.format("70%"))]).answer.rulings
    assert ruling.reason == reasoning_pb2.RULING_REASON_UNCONTESTED


def test_the_newer_document_prevails_by_a_year(reason: Any, passage: Any) -> None:
    old = passage(TEXT.format("70%"), title="旧通知", date="2021-09-01")
    new = passage(TEXT.format("75%"), title="新通知", date="2024-05-01")
    answer = reason(QUESTION, [old, new]).answer
    (ruling,) = standing(answer).values()
    assert list(standing(answer)) == ["75%"]
    assert ruling.reason == reasoning_pb2.RULING_REASON_NEWER
    assert len(ruling.beaten_claim_ids) == 1
    assert "2024-05-01" in ruling.explanation
    assert "2021-09-01" in ruling.explanation
    assert ruling.conflict_id == answer.conflicts[0].conflict_id
    assert "“75%”" in answer.text
    assert "“70%”" in answer.text
    assert "以较新的" in answer.text


def test_within_a_year_authority_and_age_decide(reason: Any, passage: Any) -> None:
    province = passage(TEXT.format("70%"), title="省办法", date="2023-09-01")
    city = passage(TEXT.format("75%"), title="市办法", date="2024-05-01", level=document_pb2.AUTHORITY_LEVEL_MUNICIPAL)
    answer = reason(QUESTION, [city, province]).answer
    (ruling,) = standing(answer).values()
    assert list(standing(answer)) == ["70%"]
    assert ruling.reason == reasoning_pb2.RULING_REASON_AUTHORITY
    # 0.7/(1 + 0.1·488/365.25), a provincial rule 488 days old on 2025-01-01
    assert ruling.score == pytest.approx(0.7 / (1 + 0.1 * 488 / 365.25))
    assert f"{ruling.score:.3f}" in ruling.explanation


def test_a_tie_is_undecided_and_both_are_shown(reason: Any, passage: Any) -> None:
    one = passage(TEXT.format("70%"), title="甲通知", date="2024-05-01")
    other = passage(TEXT.format("75%"), title="乙通知", date="2024-05-01")
    answer = reason(QUESTION, [one, other]).answer
    rulings = standing(answer)
    assert set(rulings) == {"70%", "75%"}
    assert {ruling.reason for ruling in rulings.values()} == {reasoning_pb2.RULING_REASON_UNDECIDED}
    assert "70%" in answer.text
    assert "75%" in answer.text
    assert "无法裁定" in answer.text


def test_an_amendment_prevails_within_a_year(reason: Any, passage: Any) -> None:
    new = passage(TEXT.format("75%"), title="修订通知", date="2024-05-01", level=document_pb2.AUTHORITY_LEVEL_MUNICIPAL)
    old = passage(
        TEXT.format("70%"),
        title="原通知",
        date="2024-01-01",
        superseded_by=[new.document.document_id],
        validity=passage_pb2.VALIDITY_AMENDED,
        status=document_pb2.DOCUMENT_STATUS_AMENDED,
    )
    answer = reason(QUESTION, [old, new]).answer
    (ruling,) = standing(answer).values()
    assert list(standing(answer)) == ["75%"]
    assert ruling.reason == reasoning_pb2.RULING_REASON_AMENDMENT
    assert "已被修订" in ruling.explanation


def test_a_repealed_document_loses_though_it_is_newer(reason: Any, passage: Any) -> None:
    repealed = passage(
        TEXT.format("75%"),
        title="试行办法",
        date="2024-05-01",
        validity=passage_pb2.VALIDITY_REPEALED,
        status=document_pb2.DOCUMENT_STATUS_REPEALED,
    )
    standing_rule = passage(TEXT.format("70%"), title="办法", date="2020-05-01")
    answer = reason(QUESTION, [repealed, standing_rule]).answer
    assert list(standing(answer)) == ["70%"]
    assert standing(answer)["70%"].reason == reasoning_pb2.RULING_REASON_AMENDMENT


def test_an_override_comes_first(reason: Any, passage: Any) -> None:
    text = "参保职工门诊慢特病的支付比例为{}。"
    general = passage(text.format("70%"), title="云川省职工医保办法", label="第十一条", date="2024-06-01")
    special = passage(text.format("85%"), title="青岚市慢特病办法", label="第六条", date="2020-06-01")
    answer = reason("门诊慢特病报销比例是多少", [general, special]).answer
    (ruling,) = standing(answer).values()
    assert list(standing(answer)) == ["85%"]
    assert ruling.reason == reasoning_pb2.RULING_REASON_OVERRIDE
    assert ruling.override_id == "chronic-special"
    assert "统筹地区专门规定" in ruling.explanation


def test_an_override_holds_only_in_its_time(reason: Any, passage: Any) -> None:
    text = "参保职工门诊慢特病的支付比例为{}。"
    general = passage(text.format("70%"), title="云川省职工医保办法", label="第十一条", date="2024-06-01")
    special = passage(text.format("85%"), title="青岚市慢特病办法", label="第六条", date="2020-06-01")
    answer = reason("门诊慢特病报销比例是多少", [general, special], as_of_date="2031-01-01").answer
    assert list(standing(answer)) == ["70%"]


def test_three_documents_the_newest_beats_both(reason: Any, passage: Any) -> None:
    passages = [
        passage(TEXT.format(number), title=f"{year}年通知", date=f"{year}-01-01")
        for number, year in (("65%", 2018), ("75%", 2024), ("70%", 2021))
    ]
    answer = reason(QUESTION, passages).answer
    (ruling,) = answer.rulings
    assert list(standing(answer)) == ["75%"]
    assert len(ruling.beaten_claim_ids) == 2
    assert len(answer.conflicts) == 3


def test_an_old_rule_that_the_newest_restores_stands_with_it(reason: Any, passage: Any) -> None:
    passages = [
        passage(TEXT.format(number), title=f"{year}年通知", date=f"{year}-01-01")
        for number, year in (("70%", 2018), ("75%", 2021), ("70%", 2024))
    ]
    answer = reason(QUESTION, passages).answer
    assert {claim.quantities[0].text for claim in answer.claims} == {"70%", "75%"}
    beaten = {name for ruling in answer.rulings for name in ruling.beaten_claim_ids}
    numbers = {claim.claim_id: claim.quantities[0].text for claim in answer.claims}
    assert {numbers[name] for name in beaten} == {"75%"}
    assert [numbers[ruling.claim_id] for ruling in answer.rulings] == ["70%", "70%"]


def test_a_document_without_a_date_is_ruled_on_by_authority(reason: Any, passage: Any) -> None:
    dated = passage(TEXT.format("70%"), title="省办法", date="2015-01-01")
    undated = passage(TEXT.format("75%"), title="说明", date="", level=document_pb2.AUTHORITY_LEVEL_COUNTY)
    answer = reason(QUESTION, [dated, undated]).answer
    (ruling,) = standing(answer).values()
    assert ruling.reason == reasoning_pb2.RULING_REASON_AUTHORITY
