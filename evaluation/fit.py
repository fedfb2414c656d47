"""Re-fit the hybrid score's normalisation to labelled questions.

The weights of the score say how much each signal is worth; the normalisations say what "full" means for each. With
weights given, this fits the normalisations: a logistic regression of relevance on the cosine and on the BM25 per query
token, whose ratio of coefficients then equals that of the weighted, normalised terms. A second regression, of whether
the ten best candidates of a question hold an answer on the final score of its best, gives the curve of confidence.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from orchestrator.errors import ConfigurationError
from orchestrator.settings import ScoringSettings

__all__ = ["Fit", "Judgements", "fit"]

# The range of cosines that is stretched to [0,1]: below the first percentile of candidates, above the last of gold.
LOW_PERCENTILE = 5.0
HIGH_PERCENTILE = 99.0
ANSWER_DEPTH = 10
NEWTON_STEPS = 50
RIDGE = 1e-6
CONVERGED = 1e-9

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Judgements:
    """Candidates of many questions, one row each.

    Attributes:
        query: the question's number, int64, shape [n].
        cosine: shape [n]; NaN where the vector search did not find the clause.
        bm25: BM25 per query token, shape [n]; 0 where the keyword search did not find it.
        relevant: 1.0 or 0.0, shape [n].
    """

    query: npt.NDArray[np.int64]
    cosine: FloatArray
    bm25: FloatArray
    relevant: FloatArray


@dataclass(frozen=True, slots=True)
class Fit:
    """Fitted settings, and how well they explain the judgements."""

    cosine_low: float
    cosine_high: float
    bm25_full: float
    confidence_slope: float
    confidence_midpoint: float
    log_loss: float
    rows: int


def fit(judgements: Judgements, scoring: ScoringSettings) -> Fit:
    """Fit the normalisations for the weights of ``scoring``.

    Raises:
        ConfigurationError: the judgements hold no relevant candidate, or a signal does not help: its coefficient is
            not positive, so no normalisation can express it.
    """
    relevant = judgements.relevant
    if not 0 < relevant.sum() < len(relevant):
        raise ConfigurationError("The judgements need relevant and irrelevant candidates to be fitted.")
    known = judgements.cosine[~np.isnan(judgements.cosine)]
    low = float(np.percentile(known, LOW_PERCENTILE))
    gold = judgements.cosine[(relevant > 0) & ~np.isnan(judgements.cosine)]
    high = float(np.percentile(gold, HIGH_PERCENTILE))
    semantic = np.clip((np.nan_to_num(judgements.cosine, nan=low) - low) / (high - low), 0.0, 1.0)
    weights, log_loss = _logistic(np.column_stack([semantic, judgements.bm25]), relevant)
    by_semantic, by_bm25 = float(weights[1]), float(weights[2])
    if by_semantic <= 0 or by_bm25 <= 0:
        raise ConfigurationError(
            f"A signal does not help on these judgements (semantic {by_semantic:.3g}, bm25 {by_bm25:.3g}).",
            hint="Set its weight to 0 instead.",
        )
    # final = w_s·semantic + w_b·bm25/full + position: choose `full` so that both pull in the fitted ratio.
    full = scoring.bm25 * by_semantic / (scoring.semantic * by_bm25)
    final = scoring.semantic * semantic + scoring.bm25 * np.clip(judgements.bm25 / full, 0.0, 1.0) + scoring.position
    slope, midpoint = _confidence(judgements.query, final, relevant)
    return Fit(
        cosine_low=low,
        cosine_high=high,
        bm25_full=full,
        confidence_slope=slope,
        confidence_midpoint=midpoint,
        log_loss=log_loss,
        rows=len(relevant),
    )


def _confidence(query: npt.NDArray[np.int64], final: FloatArray, relevant: FloatArray) -> tuple[float, float]:
    """The logistic curve from a question's best final score to whether its ten best candidates hold an answer."""
    order = np.lexsort((-final, query))
    _, starts = np.unique(query[order], return_index=True)
    best = final[order][starts]
    answered = np.array([float(rows[:ANSWER_DEPTH].any()) for rows in np.split(relevant[order], starts[1:])])
    if not 0 < answered.sum() < len(answered):
        raise ConfigurationError("The questions need some that are answered and some that are not, to fit confidence.")
    (bias, slope), _ = _logistic(best[:, None], answered)
    return float(slope), float(-bias / slope)


def _logistic(features: FloatArray, relevant: FloatArray) -> tuple[FloatArray, float]:
    """Newton's method on the log loss; returns [bias, weights…] and the mean log loss."""
    design = np.column_stack([np.ones(len(features)), features])
    weights = np.zeros(design.shape[1])
    for _ in range(NEWTON_STEPS):
        predicted = _sigmoid(design @ weights)
        gradient = design.T @ (relevant - predicted)
        curvature = (design * (predicted * (1 - predicted))[:, None]).T @ design + RIDGE * np.eye(len(weights))
        step = np.linalg.solve(curvature, gradient)
        weights = weights + step
        if float(np.abs(step).max()) < CONVERGED:
            break
    predicted = np.clip(_sigmoid(design @ weights), RIDGE, 1 - RIDGE)
    loss = -(relevant * np.log(predicted) + (1 - relevant) * np.log(1 - predicted)).mean()
    return weights, float(loss)


def _sigmoid(values: FloatArray) -> FloatArray:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * values)), dtype=np.float64)
