"""Nothing passes that its source does not say: changed numbers, dropped negations, forged quotes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.reasoner.drafts import Draft, Support
from orchestrator.reasoner.evidence import read_sources
from orchestrator.reasoner.reading import PackReader
from orchestrator.reasoner.sentences import Sentence
from orchestrator.reasoner.verifier import Checked, Verifier

TEXT = "参保人员在三级医院住院的，支付比例为70%，起付标准为1000元；未经备案的，不得报销，逾期15日不再受理。"


@pytest.fixture
def support(passage: Any, reader: PackReader) -> Support:
    (source,) = read_sources([passage(TEXT)], reader)
    return Support(source, source.sentences[0])


def check(text: str, *supports: Support, frames: tuple[str, ...] = ()) -> Checked:
    return Verifier(0.9).check(Draft(text, supports, frames))


def test_the_sentence_itself_passes(support: Support) -> None:
    verifier = Verifier(0.9)
    checked = verifier.check(Draft(TEXT, (support,)))
    assert checked.passed
    assert checked.citations == (1,)
    assert checked.numbers == checked.equal_numbers == 3
    (citation,) = verifier.buffer
    assert citation.sentence == TEXT
    assert citation.display == "《云川省职工医保办法》第一条，第3页"
    assert citation.snippet_hash == support.source.passage.snippet_hash


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("70%", "75%"),
        ("70%", "7%"),
        ("1000元", "10000元"),
        ("1000元", "1000万元"),
        ("15日", "15个工作日"),
        ("15日", "5日"),
        ("不得报销", "可以报销"),
        ("不得报销", "得报销"),
        ("不再受理", "再受理"),
        ("未经备案", "已经备案"),
        ("三级医院", "所有私立诊所"),
    ],
)
def test_tampering_is_caught(support: Support, before: str, after: str) -> None:
    checked = check(TEXT.replace(before, after), support)
    assert not checked.passed
    assert checked.reason
    assert checked.citations == ()


@pytest.mark.parametrize("quote", ["得报销", "再受理", "经备案的", "5日不再受理"])
def test_a_quote_torn_out_of_its_word_is_caught(support: Support, quote: str) -> None:
    assert not check(quote, support).passed


def test_a_part_of_the_sentence_passes(support: Support) -> None:
    assert check("支付比例为70%", support).passed


def test_the_writers_own_words_need_no_source_but_numbers_beside_them_do(support: Support) -> None:
    assert check("是。支付比例为70%", support, frames=("是。",)).passed
    assert not check("是。支付比例为80%", support, frames=("是。",)).passed


def test_a_number_written_otherwise_is_the_same_number(support: Support) -> None:
    assert check(TEXT.replace("70%", "70％"), support).passed


def test_a_forged_quote_is_caught(support: Support) -> None:
    forged = replace(support, sentence=Sentence("支付比例为95%。", "支付比例为95%。", 0, 9))
    assert "不符" in check("支付比例为95%。", forged).reason


def test_a_clause_that_is_not_the_fingerprinted_one_is_caught(support: Support) -> None:
    support.source.passage.clause.text = TEXT + "另行规定。"
    assert "指纹" in check(TEXT, support).reason


def test_a_notice_needs_no_source() -> None:
    assert check("现有资料中没有关于宠物的规定。").passed


def test_the_same_sentence_is_cited_under_one_number(support: Support) -> None:
    verifier = Verifier(0.9)
    first = verifier.check(Draft("支付比例为70%", (support,)))
    second = verifier.check(Draft("起付标准为1000元", (support,)))
    assert first.citations == second.citations == (1,)
    assert len(verifier.buffer) == 1
