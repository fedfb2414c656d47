"""What a version scores on a golden set, by hand-made outputs; and how far it may fall."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from export.golden import LabelledText, Question, RetrievalSet, RoutingSet
from export.quality import check_quality, measure
from export.spec import load_spec
from orchestrator.errors import ConfigurationError, GateError

PASSAGES = ("甲 报销", "乙 比例", "丙 门诊", "丁 住院")


@pytest.fixture
def folder(tiny_checkpoints: Any) -> Path:
    made: Path = tiny_checkpoints.make("any")
    return made


@pytest.fixture
def retrieval() -> RetrievalSet:
    questions = tuple(Question(text, frozenset({place})) for place, text in enumerate(PASSAGES))
    return RetrievalSet("tiny", "0", PASSAGES, questions)


def vectors_of(order: list[int]) -> Any:
    """Outputs whose question i is the passage order[i]."""

    def run(_folder: Path, rows: Any, outputs: Mapping[str, str]) -> dict[str, list[Any]]:
        unit = np.eye(4, dtype=np.float32)
        assert len(rows) == 8
        return {"dense": [*(unit[place] for place in order), *unit]}

    return run


def test_vectors_are_ranked(folder: Path, retrieval: RetrievalSet) -> None:
    spec = load_spec("embedder")
    assert measure(spec, folder, retrieval, run=vectors_of([0, 1, 2, 3])) == {"recall@10": 1, "mrr@10": 1}
    wrong = measure(spec, folder, retrieval, run=vectors_of([0, 1, 3, 2]))
    # Two right ones first; the other two behind all that score alike.
    assert wrong == {"recall@10": 1, "mrr@10": round((1 + 1 + 0.25 + 0.25) / 4, 4)}


def test_pairs_are_ranked_among_the_likeliest(folder: Path, retrieval: RetrievalSet) -> None:
    spec = load_spec("reranker")

    def run(_folder: Path, rows: Any, outputs: Mapping[str, str]) -> dict[str, list[Any]]:
        # Each question's right passage comes first among its candidates: the others get more.
        assert len(rows) == 16
        return {"score": [np.asarray([row % 4], np.float32) for row in range(16)]}

    assert measure(spec, folder, retrieval, run=run)["mrr@10"] == 0.25


def test_intents_and_slots_are_counted(folder: Path) -> None:
    spec = load_spec("router")
    (folder / "labels.json").write_text(json.dumps({"intents": ["rate", "apply"], "slots": ["O", "B-who", "I-who"]}))
    golden = RoutingSet(
        "tiny",
        "0",
        (
            LabelledText("甲 乙 丙", "rate", frozenset({("who", 0, 3)})),
            LabelledText("丁", "rate", frozenset({("who", 0, 1)})),
        ),
    )

    def run(_folder: Path, rows: Any, outputs: Mapping[str, str]) -> dict[str, list[Any]]:
        # <s> query: 甲 乙 丙 </s>, then <s> query: 丁 </s>
        assert [row.shape for row in rows] == [(1, 6), (1, 4)]
        tags = np.eye(3, dtype=np.float32)
        return {
            "intent": list(np.eye(2, dtype=np.float32)),
            "slots": [tags[[0, 0, 1, 2, 0, 0]], tags[[0, 1, 0, 0]]],
        }

    # One intent of two; one slot of two wanted, and none that isn't there ("query:" is not of the text).
    assert measure(spec, folder, golden, run=run) == {"intent_accuracy": 0.5, "slot_f1": round(2 / 3, 4)}


def test_a_set_of_another_kind_is_refused(folder: Path, retrieval: RetrievalSet) -> None:
    with pytest.raises(ConfigurationError, match="not one for model router"):
        measure(load_spec("router"), folder, retrieval)


def test_a_fall_is_named_with_how_far() -> None:
    spec = load_spec("embedder").model_copy(update={"quality": {"mrr@10": 0.02}})
    live = {"mrr@10": 0.5, "recall@10": 0.9}
    assert check_quality(spec, {"mrr@10": 0.49, "recall@10": 0.1}, live, against="live version 3") == {
        "quality.mrr@10": 0.49,
        "quality.recall@10": 0.1,
    }
    with pytest.raises(GateError, match=r"quality\.mrr@10 failed: measured 0\.47, .*0\.0300 less than live version 3"):
        check_quality(spec, {"mrr@10": 0.47, "recall@10": 1}, live, against="live version 3")
    with pytest.raises(GateError):
        check_quality(spec, {"mrr@10": float("nan"), "recall@10": 1}, live, against="live version 3")
    assert check_quality(spec, {"mrr@10": 0.1}, None, against="") == {"quality.mrr@10": 0.1}
    with pytest.raises(ConfigurationError, match=r"limits the loss of mrr@10, but measured are recall@10"):
        check_quality(spec, {"recall@10": 1}, None, against="")
