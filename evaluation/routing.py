"""The router on labelled questions: what it replaces, the trained model alone, and the vote of both."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from orchestrator.domain.pack import DomainPack
from orchestrator.inference.models import Classification, Classifier, Embedder, Embedding
from orchestrator.router.planner import PackPlanner, Question
from orchestrator.settings import RouterSettings

__all__ = ["EXAMPLES", "MODEL", "VOTE", "RoutedQuestion", "judge_router"]

EXAMPLES, MODEL, VOTE = "rules and examples", "model alone", "vote of all"
BATCH = 32
PATIENT_S = 120.0
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class RoutedQuestion:
    """A question with its intent and its slots, (type, canonical value)."""

    text: str
    intent: str
    slots: frozenset[tuple[str, str]]


@dataclass
class _Tally:
    leaf: list[bool] = field(default_factory=list)
    within: list[bool] = field(default_factory=list)
    confidence: list[float] = field(default_factory=list)
    asked_back: int = 0
    hits: int = 0
    found: int = 0
    wanted: int = 0

    def intent(self, leaf: str, chosen: str, confidence: float, wanted: str) -> None:
        self.leaf.append(leaf == wanted)
        self.within.append(bool(chosen) and (wanted == chosen or wanted.startswith(f"{chosen}.")))
        self.confidence.append(confidence)

    def slots(self, found: set[tuple[str, str]], wanted: frozenset[tuple[str, str]]) -> None:
        self.hits += len(found & wanted)
        self.found += len(found)
        self.wanted += len(wanted)

    def figures(self) -> dict[str, float]:
        right = np.array(self.within, dtype=float)
        confidence = np.array(self.confidence)
        return {
            "intent": float(np.mean(self.leaf)),
            "intent or wider": float(np.mean(self.within)),
            "asked back": self.asked_back / len(self.leaf),
            "confidence": float(confidence.mean()),
            "Brier": float(np.mean((confidence - right) ** 2)),
            "slot P": self.hits / self.found if self.found else 1.0,
            "slot R": self.hits / self.wanted if self.wanted else 1.0,
            "slot F1": 2 * self.hits / (self.found + self.wanted) if self.found + self.wanted else 1.0,
        }


async def judge_router(
    pack: DomainPack, questions: Sequence[RoutedQuestion], embedder: Embedder, classifier: Classifier | None
) -> dict[str, dict[str, float]]:
    """Figures of each system on the questions: ``{"vote of all": {"intent": …, "slot F1": …}, …}``.

    *intent*: the likeliest leaf is right; *intent or wider*: what the plan goes on with is, in doubt a wider intent;
    *asked back*: the plan asks which intent is meant; *Brier*: the mean squared distance of the confidence from being
    right; slots are right where type and canonical value are.

    Raises:
        ModelNotFoundError: the classifier is not served.
    """
    planner = PackPlanner(pack, RouterSettings())
    read = [
        planner.read(question.text, rewrite=True, today=dt.date.today(), as_of_date="", hint="")
        for question in questions
    ]
    planner.learn(await _embedded(embedder, planner.teaching))
    vectors = np.concatenate([batch.vectors for batch in await _embedded(embedder, [one.compared for one in read])])
    before = _judge(planner, questions, read, vectors, [None] * len(read))
    if classifier is None:
        return {EXAMPLES: before}
    taught = [planner.examples[place] for place in planner.read_by_model()]
    planner.learn_model([await _classified(classifier, batch) for batch in _batches(taught)])
    readings = [await _classified(classifier, [one.compared]) for one in read]
    return {
        EXAMPLES: before,
        MODEL: _judge_alone(planner, questions, read, readings),
        VOTE: _judge(planner, questions, read, vectors, readings),
    }


def _judge(
    planner: PackPlanner,
    questions: Sequence[RoutedQuestion],
    read: Sequence[Question],
    vectors: np.ndarray[tuple[int, int], np.dtype[np.float32]],
    readings: Sequence[Classification | None],
) -> dict[str, float]:
    tally = _Tally()
    for question, one, vector, reading in zip(questions, read, vectors, readings, strict=True):
        model = planner.model_reading(reading, one)
        words = planner.read_words(one)
        best = planner.vote(words, vector, model).best
        plan = planner.plan("evaluated", one, vector, [], {}, words=words, model=model)
        tally.intent(best.intent_id if best else "", plan.intent.intent_id, plan.confidence, question.intent)
        tally.asked_back += any(item.about == "intent" for item in plan.clarifications)
        tally.slots({(slot.type, slot.value) for slot in plan.slots}, question.slots)
    return tally.figures()


def _judge_alone(
    planner: PackPlanner,
    questions: Sequence[RoutedQuestion],
    read: Sequence[Question],
    readings: Sequence[Classification],
) -> dict[str, float]:
    tally = _Tally()
    for question, one, reading in zip(questions, read, readings, strict=True):
        model = planner.model_reading(reading, one)
        if model is None:
            tally.intent("", "", 0.0, question.intent)
            tally.slots(set(), question.slots)
            continue
        place = int(model.shares.argmax())
        tally.intent(planner.leaves[place], planner.leaves[place], float(model.shares[place]), question.intent)
        found = planner.slots.resolve(one.text, model.spans)
        tally.slots({(slot.slot_type, slot.value) for slot in found}, question.slots)
    return tally.figures()


async def _embedded(embedder: Embedder, texts: Sequence[str]) -> list[Embedding]:
    return [await embedder.embed(batch, kind="query", timeout_s=PATIENT_S) for batch in _batches(texts)]


async def _classified(classifier: Classifier, texts: Sequence[str]) -> Classification:
    return await classifier.classify(texts, timeout_s=PATIENT_S)


def _batches(items: Sequence[Item]) -> list[Sequence[Item]]:
    return [items[start : start + BATCH] for start in range(0, len(items), BATCH)]
