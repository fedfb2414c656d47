from __future__ import annotations

import math

import numpy as np
import pytest

from export.gates import Vectors, check_onnx, check_quantised, cosines, lowest_cosine, prefixed
from export.probes import PASSAGES, QUERIES
from export.spec import load_spec
from orchestrator.errors import GateError


def test_cosines_do_not_depend_on_length() -> None:
    left = np.array([[1, 0], [1, 1], [0, 2]], np.float32)
    right = np.array([[5, 0], [0, 3], [0, -1]], np.float32)
    np.testing.assert_allclose(cosines(left, right), [1, math.sqrt(0.5), -1], atol=1e-6)
    assert lowest_cosine(left, right) == pytest.approx(-1)


def test_probes_come_in_pairs_and_under_their_prefixes() -> None:
    assert len(QUERIES) == len(PASSAGES)
    texts = prefixed(load_spec("embedder"))
    assert texts[: len(QUERIES)] == ["query: " + text for text in QUERIES]
    assert all(text.startswith("passage: ") for text in texts[len(QUERIES) :])


def vectors(seed: int = 1) -> Vectors:
    return np.random.default_rng(seed).normal(size=(len(prefixed(load_spec("embedder"))), 384)).astype(np.float32)


def test_equal_vectors_pass_every_gate() -> None:
    spec, same = load_spec("embedder"), vectors()
    assert check_onnx(spec, same, same) == {"cosine_onnx": 1.0}
    assert check_quantised(spec, same, same) == {
        "cosine_quantised": 1.0,
        "cosine_quantised_mean": 1.0,
        "rank_agreement": 1.0,
    }


def test_one_bad_text_fails_and_the_error_names_gate_and_figure() -> None:
    spec, reference, worse = load_spec("embedder"), vectors(), vectors()
    worse[-1] = -worse[-1]
    with pytest.raises(GateError, match=r"cosine_quantised failed: measured -[\d.]+, wanted >= 0\.9") as caught:
        check_quantised(spec, worse, reference)
    assert caught.value.metadata["gate"] == "cosine_quantised"


def test_what_is_no_number_fails() -> None:
    spec, reference, worse = load_spec("embedder"), vectors(), vectors()
    worse[3] = np.nan
    with pytest.raises(GateError, match="cosine_onnx"):
        check_onnx(spec, worse, reference)
