"""How often the router is right on questions that stand in no pack; `-rP` shows the figures."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from orchestrator.domain.lexicon import SlotMatcher
from orchestrator.domain.pack import DomainPack
from orchestrator.domain.schema import IntentNode
from orchestrator.inference.models import Embedder, Embedding
from orchestrator.router.normalise import Normaliser, clean
from orchestrator.router.planner import PackPlanner
from orchestrator.settings import RouterSettings
from tests.router.conftest import TODAY, labelled
from trias.v1 import plan_pb2

FILES = ("development.yaml", "held_out.yaml")
BATCH = 32


def without_rules(nodes: Sequence[IntentNode]) -> tuple[IntentNode, ...]:
    silenced = {"keywords": (), "patterns": ()}
    return tuple(node.model_copy(update={**silenced, "children": without_rules(node.children)}) for node in nodes)


class Vectors:
    """Each text is embedded once."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, Any] = {}
        self._fingerprint = ""

    async def of(self, texts: Sequence[str]) -> Embedding:
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        for start in range(0, len(new), BATCH):
            batch = new[start : start + BATCH]
            found = await self._embedder.embed(batch, kind="query", timeout_s=120)
            self._known |= dict(zip(batch, found.vectors, strict=True))
            self._fingerprint = found.fingerprint
        return Embedding(np.stack([self._known[text] for text in texts]), self._fingerprint, 0.0)


async def plans(pack: DomainPack, items: list[dict[str, Any]], embed: Vectors | None) -> list[plan_pb2.Plan]:
    planner = PackPlanner(pack, RouterSettings())
    questions = [planner.read(item["q"], rewrite=True, today=TODAY, as_of_date="", hint="") for item in items]
    vectors: Sequence[Any] = [None] * len(items)
    if embed is not None:
        planner.learn([await embed.of(planner.teaching)])
        vectors = list((await embed.of([question.compared for question in questions])).vectors)
    return [planner.plan("p", question, vector, [], {}) for question, vector in zip(questions, vectors, strict=True)]


def leaf_is_right(plan: plan_pb2.Plan, item: dict[str, Any]) -> bool:
    return bool(plan.intent.intent_id == item["intent"])


def within_is_right(plan: plan_pb2.Plan, item: dict[str, Any]) -> bool:
    """The intent, or the wider one that was chosen in doubt, holds the right one."""
    return item["intent"] == plan.intent.intent_id or item["intent"].startswith(f"{plan.intent.intent_id}.")


def named_is_right(plan: plan_pb2.Plan, item: dict[str, Any]) -> bool:
    return within_is_right(plan, item) or item["intent"] in {guess.intent_id for guess in plan.alternatives}


@pytest.mark.parametrize("name", FILES)
def test_slots(medical: DomainPack, name: str) -> None:
    normaliser, matcher = Normaliser(medical), SlotMatcher(medical)
    right = extra = missed = 0
    for item in labelled(name):
        found = {(slot.slot_type, slot.value) for slot in matcher.find(normaliser.rewrite(clean(item["q"])).text)}
        wanted = {
            (slot_type, value)
            for slot_type, values in item["slots"].items()
            for value in (values if isinstance(values, list) else [values])
        }
        right, extra, missed = right + len(found & wanted), extra + len(found - wanted), missed + len(wanted - found)
    f1 = 2 * right / (2 * right + extra + missed)
    print(f"{name}: slots P {right / (right + extra):.3f} R {right / (right + missed):.3f} F1 {f1:.3f}")  # noqa: T201
    assert f1 > 0.9


@pytest.mark.parametrize("name", FILES)
async def test_rules_alone_speak_for_formal_wording_only(medical: DomainPack, name: str) -> None:
    items = labelled(name)
    made = await plans(medical, items, None)
    right = [leaf_is_right(plan, item) for plan, item in zip(made, items, strict=True)]
    sure = [ok for plan, ok in zip(made, right, strict=True) if plan.confidence >= 0.75]
    print(f"{name}: rules alone {np.mean(right):.3f}; where they are sure {np.mean(sure):.3f} of {len(sure)}")  # noqa: T201
    assert np.mean(right) > 0.2
    assert np.mean(sure) > 0.55


@pytest.mark.triton
async def test_rules_and_examples_together(medical: DomainPack, embedder: Embedder) -> None:
    silenced = dataclasses.replace(medical, intents=without_rules(medical.intents))
    vectors = Vectors(embedder)
    for name in FILES:
        items = labelled(name)
        alone = await plans(silenced, items, vectors)
        made = await plans(medical, items, vectors)
        check(name, items, alone, made)


def check(name: str, items: list[dict[str, Any]], alone: list[plan_pb2.Plan], made: list[plan_pb2.Plan]) -> None:
    def share(judge: Callable[[plan_pb2.Plan, dict[str, Any]], bool], some: list[plan_pb2.Plan]) -> float:
        return float(np.mean([judge(plan, item) for plan, item in zip(some, items, strict=True)]))

    within = np.array([within_is_right(plan, item) for plan, item in zip(made, items, strict=True)])
    confidence = np.array([plan.confidence for plan in made])
    print(  # noqa: T201
        f"{name}: leaf, examples alone {share(leaf_is_right, alone):.3f}, both {share(leaf_is_right, made):.3f}; "
        f"wider intent counted {within.mean():.3f}; named among the alternatives {share(named_is_right, made):.3f}; "
        f"mean confidence {confidence.mean():.3f}, Brier {np.mean((confidence - within) ** 2):.3f}"
    )
    assert within.mean() > 0.7
    assert share(named_is_right, made) > 0.85
    # Calibrated: sure plans are right more often than doubtful ones, and on the whole confidence is no boast.
    sure = confidence >= 0.75
    assert within[sure].mean() > within[~sure].mean()
    assert confidence.mean() - within.mean() < 0.15
