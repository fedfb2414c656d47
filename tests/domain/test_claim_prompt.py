"""Prompts, and the pieces that a claim may be made of."""

from __future__ import annotations

import json

import pytest

from orchestrator.domain.claim_prompt import claim_grammar, number_prompt, pieces_of, rewrite_prompt, rule_prompt

SENTENCE = "居民在乡镇卫生院住院，起付线100元，县医院400元，市级医院不超过900元。"


def test_prompts_mark_the_number_where_it_stands() -> None:
    start = SENTENCE.index("400元")
    prompt = number_prompt(SENTENCE, start, start + 4)
    assert prompt.count("【") == 1
    assert "县医院【400元】，市级" in prompt
    assert prompt.endswith("主张：")
    assert rule_prompt("甲。", "乙？") == "条文：甲。\n问题：乙？\n主张："
    assert rewrite_prompt("咋办") == "口语：咋办\n规范："


@pytest.mark.parametrize(
    ("claim", "numbers", "pieces"),
    [
        ("县医院起付线400元", ["400元"], ("县医院", "起付线", "400元")),
        ("市级医院不超过900元", ["不超过900元", "900元"], ("市级医院", "不超过900元")),
        ("起付线100元住院", ["100元"], ("起付线", "100元", "住院")),
        ("400元", ["400元"], ("400元",)),
        # Another number, a word of the model's own, a single character, punctuation, too many pieces.
        ("县医院起付线100元", ["400元"], None),
        ("县医院门槛费400元", ["400元"], None),
        ("县起付线400元", ["400元"], None),
        ("县医院，起付线400元", ["400元"], None),
        ("居民住院县医院起付线400元", ["400元"], None),
        ("县医院900元400元", ["400元"], None),
        ("", ["400元"], None),
    ],
)
def test_pieces_of_a_claim_with_a_number(claim: str, numbers: list[str], pieces: tuple[str, ...] | None) -> None:
    assert pieces_of(claim, SENTENCE, numbers) == pieces


def test_pieces_of_a_claim_without_a_number() -> None:
    sentence = "平台不得向药店指定品牌，也不得收取流转费。"
    assert pieces_of("平台不得收取流转费", sentence, ()) == ("平台不得", "收取流转费")
    assert pieces_of("平台可以收费", sentence, ()) is None
    assert pieces_of("", sentence, ()) is None


def test_the_grammar_quotes_whatever_stands_in_a_sentence() -> None:
    sentence = '引号" 反斜杠\\ 换行符70%'
    grammar = claim_grammar(sentence, ["70%"], 15)
    line = next(line for line in grammar.splitlines() if line.startswith("PART"))
    assert "".join(json.loads(line.removeprefix("PART: %regex "))["substring_chunks"]) == sentence
    assert 'NUMBER: "70%"' in grammar
    assert "NUMBER" not in claim_grammar(sentence, [], 15)
