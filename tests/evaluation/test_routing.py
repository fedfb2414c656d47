from __future__ import annotations

import pytest

from evaluation.routing import EXAMPLES, MODEL, VOTE, RoutedQuestion, judge_router
from orchestrator.domain.pack import DomainPack, load_pack
from orchestrator.inference.models import SlotSpan
from orchestrator.settings import PathSettings
from tests.router.conftest import ExampleClassifier, HashedEmbedder

QUESTIONS = [
    RoutedQuestion("大病保险要另外交钱吗", "benefit.major.scope", frozenset({("insurance", "大病保险")})),
    RoutedQuestion(
        "上班族看门诊报多少", "benefit.outpatient", frozenset({("population", "职工"), ("service", "门诊")})
    ),
    RoutedQuestion("谢谢", "enrol.scope", frozenset()),
]


@pytest.fixture(scope="module")
def pack() -> DomainPack:
    return load_pack(PathSettings().domains / "medical_insurance")


@pytest.fixture(scope="module")
def examples(pack: DomainPack) -> list[tuple[str, str]]:
    return [(one.question, intent_id) for intent_id, path in pack.intent_paths.items() for one in path[-1].examples]


async def test_without_a_model_there_is_nothing_to_compare(pack: DomainPack) -> None:
    figures = await judge_router(pack, QUESTIONS, HashedEmbedder(), None)
    assert figures.keys() == {EXAMPLES}
    assert figures[EXAMPLES]["intent"] == pytest.approx(2 / 3)


async def test_each_system_is_judged(pack: DomainPack, examples: list[tuple[str, str]]) -> None:
    model = ExampleClassifier(examples)
    # The pack's own rules make 职工 of 上班族 before the model reads it.
    model.spans["职工门诊报销比例是多少"] = (SlotSpan("population", 0, 2, 0.9),)
    figures = await judge_router(pack, QUESTIONS, HashedEmbedder(), model)
    assert figures.keys() == {EXAMPLES, MODEL, VOTE}
    assert figures[VOTE]["intent"] == pytest.approx(2 / 3)
    assert figures[VOTE]["slot F1"] == pytest.approx(1.0)
    assert figures[MODEL]["slot R"] == pytest.approx(1 / 3)
    for row in figures.values():
        assert all(0 <= figure <= 1 for figure in row.values())
