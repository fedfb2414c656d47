from __future__ import annotations

import dataclasses
import re

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from orchestrator.domain.pack import DomainPack
from orchestrator.domain.schema import ColloquialRule
from orchestrator.router.normalise import Normaliser, clean


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("  住院\t报销\n多少 ", "住院 报销 多少"),
        ("１２％ ＡＢＣ，对吗？", "12% ABC，对吗？"),
        ("住\u200b院\x00报\ufeff销", "住院报销"),
        ("\x00\x01\u202e", ""),
        ("", ""),
    ],
)
def test_cleaning_leaves_one_line_of_visible_text(asked: str, expected: str) -> None:
    assert clean(asked) == expected


@hypothesis_settings(deadline=None)
@given(st.text())
def test_cleaning_twice_changes_nothing(text: str) -> None:
    assert clean(clean(text)) == clean(text)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("看病能报多少", "门诊报销比例是多少"),
        ("请问一下，三甲医院住院能报百分之几？", "三甲医院住院报销比例是多少？"),
        ("俺们新农合封顶线是啥", "我们城乡居民基本医疗保险最高支付限额是什么"),
        ("刚出生的宝宝咋参保", "新生儿怎么参保"),
        ("去外省看病没备案报几成", "异地就医未备案报销比例是多少"),
        ("住院报销比例是多少", "住院报销比例是多少"),
    ],
)
def test_everyday_wording_becomes_that_of_documents(medical: DomainPack, asked: str, expected: str) -> None:
    assert Normaliser(medical).rewrite(asked).text == expected


def test_every_replacement_is_recorded(medical: DomainPack) -> None:
    found = Normaliser(medical).rewrite("门槛费和封顶线")
    assert found.text == "起付标准和最高支付限额"
    assert {(item.before, item.after) for item in found.replacements} == {
        ("封顶线", "最高支付限额"),
        ("门槛费", "起付标准"),
    }


def test_titles_are_left_as_they_are(medical: DomainPack) -> None:
    found = Normaliser(medical).rewrite("《新农合封顶线办法》里新农合怎么说")
    assert found.text == "《新农合封顶线办法》里城乡居民基本医疗保险怎么说"


def with_rules(pack: DomainPack, *rules: ColloquialRule) -> Normaliser:
    return Normaliser(dataclasses.replace(pack, colloquial=rules))


def test_a_rule_may_not_eat_the_question(medical: DomainPack) -> None:
    assert with_rules(medical, ColloquialRule(pattern=".+", to="")).rewrite("报销？").text == "报销？"


def test_rules_that_feed_on_each_other_are_stopped(medical: DomainPack) -> None:
    doubling = [ColloquialRule(pattern="报", to="报报报报报报报报")] * 10
    assert len(with_rules(medical, *doubling).rewrite("报销").text) < 1000


def test_a_phrase_is_literal(medical: DomainPack) -> None:
    assert with_rules(medical, ColloquialRule(phrase="a.c", to=r"\1")).rewrite("abc a.c").text == r"abc \1"


@pytest.mark.parametrize("name", ["medical_insurance", "general"])
def test_rewriting_is_settled_after_one_pass(packs: dict[str, DomainPack], name: str) -> None:
    normaliser = Normaliser(packs[name])
    for path in packs[name].intent_paths.values():
        for example in path[-1].examples:
            once = normaliser.rewrite(example.question).text
            assert normaliser.rewrite(once).text == once


def test_no_rule_takes_long_on_hostile_text(medical: DomainPack) -> None:
    normaliser = Normaliser(medical)
    for unit in ("去到在外省", "我想请问", "没备案", "能报", "交多少", "刚出生的"):
        text = (unit * 2000)[:2000]
        assert re.search(r"\S", normaliser.rewrite(text).text)
