from __future__ import annotations

import datetime as dt

import pytest
from pydantic import ValidationError

from orchestrator.domain.schema import ClauseSelector, Matter, Override, SlotType


def grades() -> SlotType:
    return SlotType.model_validate(
        {
            "type": "grade",
            "label": "级别",
            "values": [
                "二级及以上",
                "二级及以下",
                {"value": "三级", "parent": "二级及以上"},
                {"value": "三级甲等", "parent": "三级"},
                {"value": "二级", "parents": ["二级及以上", "二级及以下"]},
                {"value": "一级", "parent": "二级及以下"},
            ],
        }
    )


def test_a_wider_value_covers_a_narrower_one() -> None:
    slot = grades()
    assert slot.covers("二级及以上", "三级甲等")
    assert slot.covers("三级", "三级")
    assert not slot.covers("三级甲等", "三级")
    assert not slot.covers("二级及以下", "三级")


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("三级", "二级", False),
        ("三级", "三级甲等", True),
        ("二级及以上", "二级及以下", True),
        ("二级及以上", "一级", False),
        ("no such value", "三级", False),
        ("no such value", "no such value", True),
    ],
)
def test_compatible_means_that_something_can_be_both(one: str, other: str, expected: bool) -> None:
    assert grades().compatible(one, other) is expected
    assert grades().compatible(other, one) is expected


def test_parent_and_parents_exclude_each_other() -> None:
    with pytest.raises(ValidationError, match="either parent or parents"):
        SlotType.model_validate(
            {"type": "t", "label": "l", "values": ["a", {"value": "b", "parent": "a", "parents": ["a"]}]}
        )


def test_a_slot_type_needs_values_or_patterns() -> None:
    with pytest.raises(ValidationError, match="neither values nor patterns"):
        SlotType.model_validate({"type": "t", "label": "l"})


def test_the_name_of_a_matter_is_one_of_its_terms() -> None:
    assert Matter(name="比例", terms=("报销比例",)).all_terms == ("报销比例", "比例")


def test_a_selector_with_no_conditions_accepts_everything() -> None:
    clause = {"title": "甲办法", "doc_number": "甲〔2024〕1号", "label": "第一条", "scope": {"grade": ["三级"]}}
    assert ClauseSelector().accepts(**clause)  # type: ignore[arg-type]
    assert ClauseSelector(document_titles=("甲办法",), labels=("第一条",)).accepts(**clause)  # type: ignore[arg-type]
    assert ClauseSelector(scope={"grade": ("三级", "二级")}).accepts(**clause)  # type: ignore[arg-type]
    assert not ClauseSelector(labels=("第二条",)).accepts(**clause)  # type: ignore[arg-type]
    assert not ClauseSelector(doc_numbers=("乙〔2024〕1号",)).accepts(**clause)  # type: ignore[arg-type]
    assert not ClauseSelector(scope={"region": ("云川省",)}).accepts(**clause)  # type: ignore[arg-type]


def test_an_override_holds_from_its_first_to_its_last_day() -> None:
    override = Override.model_validate(
        {
            "id": "x",
            "matter": "比例",
            "prevails": {"labels": ["第一条"]},
            "reason": "r",
            "valid_from": "2024-01-01",
            "valid_to": "2024-12-31",
        }
    )
    assert override.holds_on(dt.date(2024, 1, 1))
    assert override.holds_on(dt.date(2024, 12, 31))
    assert not override.holds_on(dt.date(2023, 12, 31))
    assert not override.holds_on(dt.date(2025, 1, 1))
