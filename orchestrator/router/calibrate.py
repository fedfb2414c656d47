"""Turns votes into a confidence: the chance that the intent is right, learnt from the pack's own examples."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["Calibrator"]

Matrix = npt.NDArray[np.float64]

# Keeps the weights finite where the features tell right from wrong without a miss.
RIDGE = 1.0
# Newton's method on a convex function of a few weights; it settles within a handful of steps.
STEPS = 25
# Votes that are all right, or nearly none: a fit would be certain of everything.
FEWEST_OF_EITHER = 3


class Calibrator:
    """Logistic regression (Platt, 1999) from a vote's features to the chance that it is right.

    Args:
        features: float64, shape [votes, features].
        right: bool, shape [votes].
    """

    def __init__(self, features: Matrix, right: npt.NDArray[np.bool_]) -> None:
        self._mean = features.mean(axis=0)
        self._scale = np.maximum(features.std(axis=0), 1e-6)
        counts = (int(right.sum()), int((~right).sum()))
        if min(counts) < FEWEST_OF_EITHER:
            # The rule of succession: with no misses seen, still not certain.
            share = (counts[0] + 1) / (len(right) + 2)
            self._weights = np.zeros(features.shape[1] + 1)
            self._weights[0] = np.log(share / (1 - share))
        else:
            self._weights = _fit(self._design(features), right.astype(np.float64))

    def confidence(self, features: npt.NDArray[np.float64]) -> float:
        """The chance, in [0,1], that a vote with these features (shape [features]) is right."""
        return float(_logistic(self._design(features[None]) @ self._weights)[0])

    def _design(self, features: Matrix) -> Matrix:
        # Features far from those seen say no more than the farthest ones seen.
        standard = np.clip((features - self._mean) / self._scale, -3, 3)
        return np.hstack([np.ones((len(standard), 1)), standard])


def _fit(design: Matrix, target: Matrix) -> Matrix:
    weights = np.zeros(design.shape[1])
    penalty = np.full(design.shape[1], RIDGE)
    penalty[0] = 0.0
    for _ in range(STEPS):
        chance = _logistic(design @ weights)
        gradient = design.T @ (chance - target) + penalty * weights
        curvature = (design * (chance * (1 - chance) + 1e-9)[:, None]).T @ design + np.diag(penalty)
        weights = weights - np.linalg.solve(curvature, gradient)
    return weights


def _logistic(value: Matrix) -> Matrix:
    return 1 / (1 + np.exp(-np.clip(value, -30, 30)))
