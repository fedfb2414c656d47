from __future__ import annotations

import datetime as dt
from collections.abc import Callable

import pytest

from orchestrator.domain.pack import DomainPack
from orchestrator.router.plan_schema import default_plan, plan_problems
from orchestrator.router.planner import PackPlanner
from trias.v1 import plan_pb2

TEXT = "职工和居民在三级医院住院的起付标准分别是多少？"


@pytest.fixture
def plan(planner: PackPlanner) -> plan_pb2.Plan:
    question = planner.read(TEXT, rewrite=True, today=dt.date(2026, 11, 30), as_of_date="", hint="")
    return planner.plan("p1", question, None, [], {})


def test_a_plan_of_the_router_is_valid(plan: plan_pb2.Plan, medical: DomainPack) -> None:
    assert plan.sub_questions
    assert plan.slots
    assert plan_problems(plan, medical, 4) == []


def test_the_default_plan_is_valid(packs: dict[str, DomainPack]) -> None:
    for pack in packs.values():
        plan = default_plan("p1", "问题", pack.name, "2024-01-01")
        assert plan.is_default
        assert plan.strategy == plan_pb2.STRATEGY_FULL
        assert plan_problems(plan, pack, 4) == []


@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        (lambda plan: plan.ClearField("plan_id"), "plan_id is empty"),
        (lambda plan: plan.ClearField("normalized_question"), "blank"),
        (lambda plan: setattr(plan, "domain", "other"), "domain is 'other'"),
        (lambda plan: setattr(plan, "question_type", 0), "question_type is unspecified"),
        (lambda plan: setattr(plan, "confidence", 1.5), "confidence 1.5"),
        (lambda plan: setattr(plan, "confidence", float("nan")), "confidence nan"),
        (lambda plan: setattr(plan.intent, "intent_id", "no.such"), "no intent 'no.such'"),
        (lambda plan: plan.intent.path.append("更深"), "is not that of"),
        (lambda plan: setattr(plan.slots[0], "type", "no_such"), "no slot type 'no_such'"),
        (lambda plan: setattr(plan.slots[0], "end", 999), "does not stand at"),
        (lambda plan: setattr(plan.slots[0], "start", -1), "does not stand at"),
        (lambda plan: setattr(plan.slots[0], "text", "别的"), "does not stand at"),
        (lambda plan: plan.slots[0].ClearField("value"), "no value"),
        (lambda plan: plan.sub_questions.pop(), "there are none, or 2 to 4"),
        (lambda plan: setattr(plan.sub_questions[1], "sub_question_id", "q1"), "an id stands twice"),
        (lambda plan: setattr(plan.sub_questions[1], "text", " "), "lacks its id, text or type"),
        (lambda plan: setattr(plan, "as_of_date", "2024-02-30"), "is no date"),
        (lambda plan: setattr(plan, "version_label", "2021年版"), "version_label"),
        (lambda plan: setattr(plan, "version_preference", 2), "version_label"),
        (lambda plan: setattr(plan, "version_preference", 0), "version_preference is unspecified"),
        (lambda plan: plan.ClearField("estimates"), "strategy has no estimate"),
        (lambda plan: setattr(plan.estimates[0], "milliseconds", float("inf")), "no number"),
        (lambda plan: plan.estimates.append(plan.estimates[0]), "a strategy stands twice"),
        (lambda plan: plan.clarifications.add(about="weather", question="?"), "neither intent nor slot type"),
        (lambda plan: plan.clarifications.add(about="intent"), "a question is blank"),
        (lambda plan: plan.named_documents.add(), "neither text nor label"),
    ],
)
def test_every_fault_is_found(
    plan: plan_pb2.Plan, medical: DomainPack, spoil: Callable[[plan_pb2.Plan], object], expected: str
) -> None:
    spoil(plan)
    problems = plan_problems(plan, medical, 4)
    assert any(expected in problem for problem in problems), problems
