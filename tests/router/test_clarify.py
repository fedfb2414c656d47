from __future__ import annotations

import pytest

from orchestrator.domain.pack import DomainPack
from orchestrator.router.clarify import ask_intent, ask_slots, is_vague, points_outside


@pytest.mark.parametrize("text", ["怎么办", "报销", "多少钱？", "这个怎么弄", "我想问一下", "可以吗", "？？？"])
def test_vague_questions_name_nothing(text: str) -> None:
    assert is_vague(text)


@pytest.mark.parametrize(
    "text", ["起付标准", "备案要几天", "什么是童工？", "种植牙限价多少钱", "谁发明了电灯", "住院报销比例"]
)
def test_short_questions_need_not_be_vague(text: str) -> None:
    assert not is_vague(text)


def test_pointing_words() -> None:
    assert points_outside("这个药能报多少")
    assert not points_outside("2023年那时候报多少")


def test_alternatives_are_named_by_their_path(medical: DomainPack) -> None:
    asked = ask_intent(medical, ["claim.time", "claim.reimburse"], required=True)
    assert list(asked.alternatives) == ["报销经办 › 报销审核时限", "报销经办 › 零星报销"]
    assert asked.required


def test_without_a_guess_the_fields_of_the_pack_are_offered(medical: DomainPack) -> None:
    assert "待遇" in ask_intent(medical, [], required=True).alternatives
    assert "闲聊" not in ask_intent(medical, [], required=True).alternatives


def test_short_lists_of_values_are_offered(medical: DomainPack) -> None:
    grade, drug = ask_slots(medical, ["hospital_grade", "drug"], required=False)
    assert "三级" in grade.alternatives
    assert not drug.alternatives
    assert drug.question == medical.slot_types["drug"].ask
