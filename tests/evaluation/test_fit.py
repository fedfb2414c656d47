from __future__ import annotations

import numpy as np
import pytest

from evaluation.fit import Judgements, fit
from orchestrator.errors import ConfigurationError
from orchestrator.retriever.scoring import Features, final_score
from orchestrator.retriever.trust import confidence_of
from orchestrator.settings import RetrieverSettings, ScoringSettings


def sampled(by_cosine: float, by_bm25: float, rows: int = 40_000) -> Judgements:
    """Judgements drawn from a known logistic model."""
    random = np.random.default_rng(7)
    cosine, bm25 = random.uniform(0.8, 0.9, rows), random.uniform(0.0, 4.0, rows)
    odds = by_cosine * (cosine - 0.85) + by_bm25 * (bm25 - 2.0)
    relevant = (random.uniform(size=rows) < 1 / (1 + np.exp(-odds))).astype(float)
    return Judgements(cosine, bm25, relevant)


def test_the_known_model_is_found_again() -> None:
    scoring = ScoringSettings()
    fitted = fit(sampled(by_cosine=60, by_bm25=1.5), scoring)
    per_cosine = scoring.semantic / (fitted.cosine_high - fitted.cosine_low) * fitted.confidence_slope
    per_bm25 = scoring.bm25 / fitted.bm25_full * fitted.confidence_slope
    assert per_cosine == pytest.approx(60, rel=0.15)
    assert per_bm25 == pytest.approx(1.5, rel=0.1)


def test_fitted_settings_give_calibrated_confidence() -> None:
    judgements = sampled(by_cosine=60, by_bm25=1.5)
    fitted = fit(judgements, ScoringSettings())
    scoring = ScoringSettings(cosine_low=fitted.cosine_low, cosine_high=fitted.cosine_high, bm25_full=fitted.bm25_full)
    retriever = RetrieverSettings(
        confidence_slope=fitted.confidence_slope, confidence_midpoint=fitted.confidence_midpoint
    )
    rows = range(0, len(judgements.relevant), 20)
    confidence = np.array(
        [
            confidence_of(
                final_score(Features(cosine=judgements.cosine[row], bm25=judgements.bm25[row]), scoring), retriever
            )
            for row in rows
        ]
    )
    relevant = judgements.relevant[::20]
    for low in (0.0, 0.25, 0.5, 0.75):
        bin_ = (confidence >= low) & (confidence < low + 0.25)
        assert relevant[bin_].mean() == pytest.approx(confidence[bin_].mean(), abs=0.08)


def test_a_signal_that_misleads_is_named() -> None:
    with pytest.raises(ConfigurationError, match="does not help"):
        fit(sampled(by_cosine=60, by_bm25=-1.5), ScoringSettings())


def test_judgements_without_relevant_ones_are_refused() -> None:
    nothing = np.zeros(3)
    with pytest.raises(ConfigurationError, match="relevant"):
        fit(Judgements(nothing, nothing, nothing), ScoringSettings())
