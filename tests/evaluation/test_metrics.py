from __future__ import annotations

import pytest

from evaluation.metrics import mean_metrics, query_metrics


def test_known_ranks() -> None:
    metrics = query_metrics(["x", "a", "y", "b"], frozenset({"a", "b", "c"}))
    assert metrics["R@1"] == 0.0
    assert metrics["R@5"] == pytest.approx(2 / 3)
    assert metrics["MRR@10"] == 0.5


def test_mrr_stops_at_ten() -> None:
    ranked = [str(place) for place in range(20)]
    assert query_metrics(ranked, frozenset({"9"}))["MRR@10"] == pytest.approx(0.1)
    assert query_metrics(ranked, frozenset({"10"}))["MRR@10"] == 0.0


def test_nothing_found() -> None:
    assert set(query_metrics([], frozenset({"a"})).values()) == {0.0}


def test_means() -> None:
    assert mean_metrics([{"R@1": 0.0}, {"R@1": 1.0}]) == {"R@1": 0.5}
    assert mean_metrics([]) == {}
