from __future__ import annotations

import numpy as np
import pytest

from orchestrator.router.examples import ExampleBank
from tests.router.conftest import hashed_vector

TEXTS = ["住院报销多少", "住院报销比例", "住院能报几成", "门诊起付标准", "门诊起付线多少", "备案要几天"]
LABELS = [0, 0, 0, 1, 1, 2]


def bank(offset: float = 0.0) -> ExampleBank:
    vectors = np.stack([hashed_vector(text) for text in TEXTS]) + np.float32(offset)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return ExampleBank(LABELS, 4, vectors, "x", 3)


def test_the_nearest_intent_wins_and_shares_sum_to_one() -> None:
    vote = bank().vote(hashed_vector("住院报销的比例多少"))
    assert int(vote.shares.argmax()) == 0
    assert vote.shares.sum() == pytest.approx(1)
    assert vote.nearest > 0.4


def test_an_intent_without_examples_gets_nothing() -> None:
    assert bank().vote(hashed_vector("备案要几天")).shares[3] == 0


def test_a_common_direction_of_all_vectors_does_not_matter() -> None:
    # What E5 does to cosines: one large component that all texts share.
    offset = 1.0
    vector = hashed_vector("门诊起付多少") + np.float32(offset)
    vector /= np.linalg.norm(vector)
    assert int(bank(offset).vote(vector).shares.argmax()) == 1


def test_leaving_an_example_out_takes_it_from_neighbours_and_centroid() -> None:
    with_it = bank().vote(hashed_vector(TEXTS[5]))
    without = bank().vote_without(5)
    assert with_it.shares[2] > 0.5
    assert without.shares[2] < with_it.shares[2] / 2
    assert without.nearest < with_it.nearest
