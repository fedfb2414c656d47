"""Recall@k and MRR@10 over ranked lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["CUTOFFS", "mean_metrics", "query_metrics"]

CUTOFFS = (1, 5, 10, 20, 100)
MRR_CUTOFF = 10


def query_metrics(ranked: Sequence[str], gold: frozenset[str]) -> dict[str, float]:
    """Metrics of one query.

    R@k is the share of the gold ids among the first k; MRR@10 is 1 over the rank of the first gold id, 0 past 10.

    Args:
        ranked: ids, best first, without repeats.
        gold: the ids that answer the query; not empty.
    """
    metrics = {f"R@{k}": len(gold.intersection(ranked[:k])) / len(gold) for k in CUTOFFS}
    first = next((rank for rank, found in enumerate(ranked[:MRR_CUTOFF], start=1) if found in gold), None)
    metrics[f"MRR@{MRR_CUTOFF}"] = 1 / first if first else 0.0
    return metrics


def mean_metrics(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The mean of each metric over queries; empty for no rows."""
    return {name: sum(row[name] for row in rows) / len(rows) for name in rows[0]} if rows else {}
