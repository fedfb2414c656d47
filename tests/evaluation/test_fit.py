from __future__ import annotations

import numpy as np
import pytest

from evaluation.fit import Judgements, fit
from orchestrator.errors import ConfigurationError
from orchestrator.retriever.scoring import Features, final_score
from orchestrator.retriever.trust import confidence_of
from orchestrator.settings import RetrieverSettings, ScoringSettings

CANDIDATES = 4


def sampled(by_cosine: float, by_bm25: float, rows: int = 40_000) -> Judgements:
    """Judgements drawn from a known logistic model."""
    random = np.random.default_rng(7)
    cosine, bm25 = random.uniform(0.8, 0.9, rows), random.uniform(0.0, 4.0, rows)
    odds = by_cosine * (cosine - 0.87) + by_bm25 * (bm25 - 2.5)
    relevant = (random.uniform(size=rows) < 1 / (1 + np.exp(-odds))).astype(float)
    return Judgements(np.arange(rows) // CANDIDATES, cosine, bm25, relevant)


def test_the_known_model_is_found_again() -> None:
    scoring = ScoringSettings()
    fitted = fit(sampled(by_cosine=60, by_bm25=1.5), scoring)
    per_cosine = scoring.semantic / (fitted.cosine_high - fitted.cosine_low)
    per_bm25 = scoring.bm25 / fitted.bm25_full
    assert per_cosine / per_bm25 == pytest.approx(60 / 1.5, rel=0.2)


def test_confidence_is_the_chance_that_the_ten_best_hold_an_answer() -> None:
    judgements = sampled(by_cosine=60, by_bm25=1.5)
    fitted = fit(judgements, ScoringSettings())
    scoring = ScoringSettings(cosine_low=fitted.cosine_low, cosine_high=fitted.cosine_high, bm25_full=fitted.bm25_full)
    retriever = RetrieverSettings(
        confidence_slope=fitted.confidence_slope, confidence_midpoint=max(0.0, fitted.confidence_midpoint)
    )
    confidence, answered = [], []
    for number in range(judgements.query.max() + 1):
        rows = np.flatnonzero(judgements.query == number)
        finals = [
            final_score(Features(cosine=judgements.cosine[row], bm25=judgements.bm25[row]), scoring) for row in rows
        ]
        ranked = rows[np.argsort(finals)[::-1]]
        confidence.append(confidence_of(max(finals), retriever))
        answered.append(judgements.relevant[ranked[:10]].max())
    assert np.mean(confidence) == pytest.approx(np.mean(answered), abs=0.03)


def test_a_signal_that_misleads_is_named() -> None:
    with pytest.raises(ConfigurationError, match="does not help"):
        fit(sampled(by_cosine=60, by_bm25=-1.5), ScoringSettings())


def test_judgements_without_relevant_ones_are_refused() -> None:
    nothing = np.zeros(3)
    with pytest.raises(ConfigurationError, match="relevant"):
        fit(Judgements(np.zeros(3, dtype=np.int64), nothing, nothing, nothing), ScoringSettings())
