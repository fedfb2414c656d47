"""Splitting long texts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ingest.split import split_text

TEXT = st.text(alphabet="参保人员。；，\n但是其中（一）1.", max_size=600)


@given(TEXT, st.integers(min_value=5, max_value=120))
def test_the_parts_are_the_text_and_none_is_too_long(text: str, limit: int) -> None:
    parts = split_text(text, limit)
    assert "".join(text[start:end] for start, end in parts) == text
    assert all(end - start <= limit for start, end in parts)
    assert all(start < end for start, end in parts) or text == ""


def test_a_turning_word_is_a_better_border_than_a_comma() -> None:
    text = "甲" * 20 + "，" + "乙" * 20 + "，但是" + "丙" * 25
    (_, end), _ = split_text(text, 60)
    assert text[end:].startswith("但是")


def test_a_sentence_is_not_cut_where_its_end_is_near() -> None:
    text = "参保人员应当如实申报。" * 9
    assert all(text[:end].endswith("。") for _, end in split_text(text, 50))


def test_a_paragraph_border_wins() -> None:
    text = "甲" * 30 + "。\n" + "乙" * 10 + "。" + "丙" * 30 + "。"
    (_, end), _ = split_text(text, 60)
    assert text[:end].endswith("。\n")


def test_text_without_any_border_is_cut_hard() -> None:
    assert split_text("甲" * 25, 10) == [(0, 10), (10, 20), (20, 25)]
