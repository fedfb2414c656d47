from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.knowledge.text import distinct_grams, fold, tokenize


def test_chinese_becomes_words_and_uni_and_bigrams() -> None:
    tokens = tokenize("统筹基金支付")
    assert Counter(tokens.grams) == Counter(
        ["统", "筹", "基", "金", "支", "付", "统筹", "筹基", "基金", "金支", "支付"]
    )
    assert "".join(tokens.words) == "统筹基金支付"
    assert "基金" in tokens.words


def test_no_bigram_crosses_punctuation() -> None:
    assert "金支" not in tokenize("基金，支付").grams
    assert "金支" not in tokenize("基金 支付").grams
    assert "金支" not in tokenize("基金12支付").grams


def test_numbers_and_latin_words_are_tokens_of_both_streams() -> None:
    tokens = tokenize("ＣＴ检查限1.5万元，报７０％，Type-2糖尿病，版本3.2.1。")
    for token in ("ct", "1.5", "70%", "type", "2", "3.2.1"):
        assert token in tokens.words
        assert token in tokens.grams


def test_rare_ideographs_and_the_zero_are_chinese() -> None:
    assert "二〇" in tokenize("二〇二四年").grams
    assert "𠮷野" in tokenize("𠮷野家").grams


def test_nothing_of_punctuation_or_blank_text_remains() -> None:
    for text in ("", " \n\t", "，。！？《》—…", "\ud800"):
        assert tokenize(text) == tokenize("")
        assert tokenize(text).words == tokenize(text).grams == []


def test_a_very_long_token_is_cut() -> None:
    assert max(map(len, tokenize("a" * 100_000).grams)) <= 64


@given(st.text(max_size=200))
def test_tokens_are_folded_and_hold_no_space(text: str) -> None:
    tokens = tokenize(text)
    for token in (*tokens.words, *tokens.grams):
        assert token
        assert token.split() == [token]
        assert fold(token) == token


@given(st.text(st.sampled_from("医保报销，比例70% abcＡ"), max_size=40))
def test_folding_a_text_first_changes_nothing(text: str) -> None:
    assert tokenize(fold(text)) == tokenize(text)


@given(st.text(max_size=80))
def test_distinct_grams_are_those_of_the_tokens(text: str) -> None:
    assert distinct_grams(text) == len(set(tokenize(text).grams))
