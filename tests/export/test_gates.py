from __future__ import annotations

import math

import numpy as np
import pytest

from export.gates import check_onnx, check_served, cosines
from export.probes import AWKWARD, PASSAGES, QUERIES
from export.runs import STEPS, Outputs, prompts
from export.spec import EncoderSpec, load_spec
from orchestrator.errors import GateError


def spec_of(model: str) -> EncoderSpec:
    spec = load_spec(model)
    assert isinstance(spec, EncoderSpec)
    return spec


def outputs(model: str, seed: int = 1) -> Outputs:
    """Random outputs of the right shapes."""
    random = np.random.default_rng(seed)
    shapes = {"dense": (384,), "score": (1,), "intent": (7,), "slots": (5, 9)}
    spec = spec_of(model)
    texts = prompts(spec)
    return {role: [random.normal(size=shapes[role]).astype(np.float32) for _ in texts] for role in spec.outputs}


def test_cosines_do_not_depend_on_length() -> None:
    left = np.array([[1, 0], [1, 1], [0, 2]], np.float32)
    right = np.array([[5, 0], [0, 3], [0, -1]], np.float32)
    np.testing.assert_allclose(cosines(left, right), [1, math.sqrt(0.5), -1], atol=1e-6)


def test_probes_come_in_pairs_and_under_their_prefixes() -> None:
    assert len(QUERIES) == len(PASSAGES)
    texts = [text for text in prompts(spec_of("embedder")) if isinstance(text, str)]
    assert texts[: len(QUERIES)] == ["query: " + text for text in QUERIES]
    assert all(text.startswith("passage: ") for text in texts[len(QUERIES) :])
    pairs = prompts(spec_of("reranker"))
    assert len(pairs) == len(set(pairs)) == len(QUERIES) * len(STEPS)
    assert pairs[0] == (QUERIES[0], PASSAGES[0])
    assert prompts(spec_of("router")) == ["query: " + text for text in (*QUERIES, *AWKWARD)]


@pytest.mark.parametrize("model", ["embedder", "reranker", "router"])
def test_equal_outputs_pass_every_gate(model: str) -> None:
    spec, same = spec_of(model), outputs(model)
    checks = check_onnx(spec, same, same) | check_served(spec, same, same)
    wanted = {
        "embedder": {"cosine_onnx": 1, "cosine_quantised": 1, "cosine_quantised_mean": 1, "rank_agreement": 1},
        "reranker": {"score_gap_onnx": 0, "score_gap_quantised": 0, "order_agreement": 1},
        "router": {"logit_gap_onnx": 0, "intent_agreement": 1, "intent_gap": 0, "slot_agreement": 1},
    }
    assert checks == wanted[model]


@pytest.mark.parametrize(
    ("model", "role", "gate"),
    [
        ("embedder", "dense", "cosine_quantised"),
        ("reranker", "score", "score_gap_quantised"),
        ("router", "intent", "intent_agreement"),
        ("router", "slots", "slot_agreement"),
    ],
)
def test_other_outputs_fail_and_the_error_names_gate_and_figure(model: str, role: str, gate: str) -> None:
    reference = outputs(model)
    worse = {**reference, role: outputs(model, seed=2)[role]}
    with pytest.raises(GateError, match=rf"{gate} failed: measured -?[\d.]+, wanted [<>]= [\d.]+") as caught:
        check_served(spec_of(model), worse, reference)
    assert caught.value.metadata["gate"] == gate


def test_one_bad_text_of_many_is_enough() -> None:
    reference, worse = outputs("embedder"), outputs("embedder")
    worse["dense"][-1] = -worse["dense"][-1]
    with pytest.raises(GateError, match="cosine_quantised"):
        check_served(spec_of("embedder"), worse, reference)


def test_scores_near_each_other_in_another_order_fail() -> None:
    reference = outputs("reranker")
    small = {"score": [score * 0.1 for score in reference["score"]]}
    turned = {"score": [-score for score in small["score"]]}
    with pytest.raises(GateError, match="order_agreement"):
        check_served(spec_of("reranker"), turned, small)


@pytest.mark.parametrize("model", ["embedder", "reranker", "router"])
def test_what_is_no_number_fails(model: str) -> None:
    reference, worse = outputs(model), outputs(model)
    next(iter(worse.values()))[3] = np.full_like(next(iter(worse.values()))[3], np.nan)
    for check in (check_onnx, check_served):
        with pytest.raises(GateError):
            check(spec_of(model), worse, reference)
