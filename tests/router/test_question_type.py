from __future__ import annotations

import dataclasses
import re

import pytest

from orchestrator.domain.pack import DomainPack
from orchestrator.domain.schema import QUESTION_TYPES
from orchestrator.router.question_type import QuestionTyper, question_type_of_word
from trias.v1 import plan_pb2


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("住院报销比例是多少", "fact"),
        ("备案几天办结", "fact"),
        ("日间手术要不要起付标准", "yes_no"),
        ("二甲双胍能报销吗", "yes_no"),
        ("救助办法废止了没有", "yes_no"),
        ("什么是统筹基金", "definition"),
        ("门诊慢特病是指什么", "definition"),
        ("异地就医如何办理备案", "procedure"),
        ("申请救助的流程", "procedure"),
        ("三级和二级的比例有什么区别", "comparison"),
        ("新通知和旧通知哪个为准", "comparison"),
        ("门诊慢特病包括哪些病种", "enumeration"),
        ("为什么降低二十个百分点", "reason"),
    ],
)
def test_the_wording_tells_the_type(medical: DomainPack, text: str, word: str) -> None:
    assert QuestionTyper(medical).classify(text) == question_type_of_word(word)


def test_the_intent_decides_where_the_wording_does_not(medical: DomainPack) -> None:
    typer = QuestionTyper(medical)
    assert typer.classify("慢特病申请", "procedure") == plan_pb2.QUESTION_TYPE_PROCEDURE
    assert typer.classify("慢特病申请") == plan_pb2.QUESTION_TYPE_FACT


def test_the_cues_of_the_pack_come_first(medical: DomainPack) -> None:
    own = dataclasses.replace(medical, question_cues={"reason": (re.compile("多少"),)})
    assert QuestionTyper(own).classify("报销多少") == plan_pb2.QUESTION_TYPE_REASON


def test_every_word_of_a_pack_is_a_type_of_the_contract() -> None:
    assert {question_type_of_word(word) for word in QUESTION_TYPES} == set(plan_pb2.QuestionType.values()) - {0}
