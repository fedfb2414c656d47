"""Claims are short, extractive, and keep number, bound, matter, scope and negation."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.reasoner.claims import CLAIM_CHARACTERS
from orchestrator.reasoner.negation import is_negated
from orchestrator.reasoner.phrases import key_phrase, pieces


def subsequence(part: str, whole: str) -> bool:
    rest = iter(whole)
    return all(character in rest for character in part)


SENTENCES = [
    "参保职工在三级医院住院发生的政策范围内医疗费用，统筹基金支付比例为70%。",
    "经办机构应当自受理异地就医备案申请之日起5个工作日内办结。",
    "违反本办法规定的，由医疗保障行政部门责令改正，处骗取金额2倍以上5倍以下的罚款。",
    "参保人员不得将本人的医疗保障凭证交由他人冒名使用。",
    "任何单位和个人有权对侵害医疗保障基金的违法违规行为进行举报、投诉。",
    "（二）身份证明。",
    "年度最高支付限额为30万元，超过部分由大病保险按照60%支付。",
]


def test_claims_are_short_and_made_of_their_sentence(reason: Any, passage: Any) -> None:
    passages = [passage(text, label=f"第{number}条") for number, text in enumerate(SENTENCES, 1)]
    answer = reason("住院报销比例和备案时限是多少", passages).answer
    assert answer.claims
    for claim in answer.claims:
        assert 0 < len(claim.text) <= CLAIM_CHARACTERS
        assert subsequence(claim.text, claim.sentence)
        source = next(item for item in passages if item.source_id == claim.source_id)
        assert source.clause.text[claim.start : claim.end] == claim.sentence
        assert claim.decided_by == "extractive"


def test_a_number_keeps_matter_and_scope(reason: Any, passage: Any) -> None:
    answer = reason("三级医院报销比例是多少", [passage(SENTENCES[0])]).answer
    (claim,) = answer.claims
    assert claim.matter == "报销比例"
    assert "三级医院" in claim.text
    assert claim.text.endswith("支付比例70%")
    assert {scope.dimension: list(scope.values) for scope in claim.scopes} == {
        "hospital_grade": ["三级"],
        "population": ["职工"],
        "region": ["云川省"],
        "service": ["住院"],
    }
    (quantity,) = claim.quantities
    assert (quantity.value, quantity.unit, claim.sentence[quantity.start : quantity.end]) == ("0.7", "1", "70%")


def test_each_number_of_a_sentence_has_its_own_scope(reason: Any, passage: Any) -> None:
    text = "参保职工住院的起付标准为：三级医院800元，二级医院500元，一级医院200元。"
    answer = reason("起付标准是多少", [passage(text)]).answer
    grades = {
        claim.quantities[0].value: next(list(s.values) for s in claim.scopes if s.dimension == "hospital_grade")
        for claim in answer.claims
    }
    assert grades == {"800": ["三级"], "500": ["二级"], "200": ["一级"]}


def test_a_deadline_keeps_its_bound(reason: Any, passage: Any) -> None:
    (claim,) = reason("备案几天办结", [passage(SENTENCES[1])]).answer.claims
    assert "5个工作日内办结" in claim.text


@pytest.mark.parametrize(
    ("text", "negated"),
    [
        ("参保人员不得转借凭证。", True),
        ("超出目录的费用不予支付。", True),
        ("禁止重复收费。", True),
        ("期限不得超过15日。", False),
        ("不足5年的，补缴。", False),
        ("参保人员应当备案。", False),
        ("美容项目不纳入支付范围。", True),
    ],
)
def test_negation(text: str, negated: bool) -> None:
    assert is_negated(text) is negated


def test_a_rule_without_a_number_keeps_its_negation(reason: Any, passage: Any) -> None:
    (claim,) = reason("凭证可以交由他人冒名使用吗", [passage(SENTENCES[3])]).answer.claims
    assert claim.negated
    assert "不得" in claim.text


def test_pieces_are_not_cut_within_words() -> None:
    text = "公办学校不得举办或者参与举办营利性民办学校"
    cut = {text[start:end] for segment in pieces(text) for start, end in segment}
    assert "参与举办营利性民办学校" in {piece.removeprefix("或者") for piece in cut}


def test_a_phrase_drops_item_numbers_and_conjunctions() -> None:
    phrase, (start, end) = key_phrase("（二）或者转借凭证。", {"转借"}, 15)
    assert phrase == "转借凭证"
    assert "（二）或者转借凭证。"[start:end] == phrase


def test_conditions_are_not_what_a_claim_states(reason: Any, passage: Any) -> None:
    text = "参保职工连续缴费满10年的，年度最高支付限额提高2万元。"
    (claim,) = reason("最高支付限额提高多少", [passage(text)]).answer.claims
    assert [quantity.text for quantity in claim.quantities] == ["2万元", "10年"]
