from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from orchestrator.domain.lexicon import SlotMatcher, fold
from orchestrator.domain.pack import load_pack
from orchestrator.settings import PathSettings

MATCHER = SlotMatcher(load_pack(PathSettings().domains / "medical_insurance"))


def found(text: str) -> list[tuple[str, str, str]]:
    return [(match.slot_type, match.text, match.value) for match in MATCHER.find(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("三级甲等医院", [("hospital_grade", "三级甲等医院", "三级甲等")]),
        ("二级及以上医院", [("hospital_grade", "二级及以上医院", "二级及以上")]),
        ("青岚的糖尿病患者", [("region", "青岚", "青岚市"), ("disease", "糖尿病", "糖尿病")]),
        ("职工医保", [("insurance", "职工医保", "基本医疗保险"), ("population", "职工医保", "职工")]),
        ("２０２３年", [("date", "２０２３年", "2023年")]),
        ("2024年5月1日起", [("date", "2024年5月1日", "2024年5月1日")]),
        ("花了3.5万元", [("amount", "3.5万元", "3.5万元")]),
        ("没有可填的", []),
        ("", []),
    ],
)
def test_the_longest_spelling_wins(text: str, expected: list[tuple[str, str, str]]) -> None:
    assert found(text) == expected


def test_brackets_of_costs_are_conditions() -> None:
    matches = found("5万元以上10万元以下（含10万元）的部分，支付比例为65%")
    assert ("bracket", "5万元以上10万元以下", "5万元以上10万元以下") in matches


@hypothesis_settings(deadline=None)
@given(st.text(alphabet="职工居民三二一级医院住院2024年5月１２万元《》 aＡ", max_size=60))
def test_matches_stand_where_they_say_and_never_overlap(text: str) -> None:
    matches = MATCHER.find(text)
    for match in matches:
        assert text[match.start : match.end] == match.text
    spans = sorted({(match.start, match.end) for match in matches})
    for (_, end), (start, _) in itertools.pairwise(spans):
        assert end <= start


@hypothesis_settings(deadline=None)
@given(st.text(max_size=40))
def test_folding_keeps_the_length(text: str) -> None:
    assert len(fold(text)) == len(text)
