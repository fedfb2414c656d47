from __future__ import annotations

import numpy as np
import pytest

from orchestrator.router.calibrate import Calibrator


def sample(count: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    features = random.normal(size=(count, 2))
    chance = 1 / (1 + np.exp(-(0.5 + 1.5 * features[:, 0])))
    return features, chance, random.random(count) < chance


def test_confidence_comes_near_the_true_chance() -> None:
    features, _, right = sample(2000, 1)
    fresh, chance, _ = sample(500, 2)
    calibrator = Calibrator(features, right)
    found = np.array([calibrator.confidence(row) for row in fresh])
    assert np.abs(found - chance).mean() < 0.05


def test_votes_that_were_all_right_do_not_make_it_certain() -> None:
    calibrator = Calibrator(np.zeros((20, 1)), np.ones(20, dtype=bool))
    assert calibrator.confidence(np.array([9.0])) == pytest.approx(21 / 22)


def test_features_beyond_those_seen_stay_in_range() -> None:
    features, _, right = sample(200, 3)
    calibrator = Calibrator(features, right)
    for extreme in (-1e9, 1e9):
        assert 0 <= calibrator.confidence(np.array([extreme, 0.0])) <= 1
