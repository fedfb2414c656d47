"""PageRank over the reference graph, as percentiles."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

__all__ = ["pagerank_percentiles"]

# Brin and Page, "The Anatomy of a Large-Scale Hypertextual Web Search Engine" (1998).
_DAMPING = 0.85
_TOLERANCE = 1e-10
_MOST_ROUNDS = 100
# Scores closer than this are equal: the last digits depend on the order of summation.
_DIGITS = 12


def pagerank_percentiles(edges: Iterable[tuple[str, str]]) -> dict[str, float]:
    """Where each node stands among those that something refers to.

    Power iteration over the distinct edges; a node without outgoing edges gives to all nodes alike; an edge from a node
    to itself is left out.

    Args:
        edges: (from, to), repeats allowed.

    Returns:
        For each node with an incoming edge, the share of such nodes whose PageRank is at most its own: in (0, 1].
    """
    kept = [(source, target) for source, target in edges if source != target]
    if not kept:
        return {}
    names = sorted({name for edge in kept for name in edge})
    number = {name: index for index, name in enumerate(names)}
    # Each edge as one number: numpy drops the repeats.
    distinct = np.unique([number[source] * len(names) + number[target] for source, target in kept])
    sources, targets = np.divmod(distinct, len(names))
    scores = np.round(_power_iteration(sources, targets, len(names)), _DIGITS)
    referred_to = np.unique(targets)
    ordered = np.sort(scores[referred_to])
    shares = np.searchsorted(ordered, scores[referred_to], side="right") / len(ordered)
    return {names[node]: float(share) for node, share in zip(referred_to, shares, strict=True)}


def _power_iteration(
    sources: np.ndarray[tuple[int], np.dtype[np.int64]], targets: np.ndarray[tuple[int], np.dtype[np.int64]], nodes: int
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    out_degree = np.bincount(sources, minlength=nodes)
    dangling = out_degree == 0
    share = 1.0 / out_degree[sources]
    scores = np.full(nodes, 1.0 / nodes)
    for _ in range(_MOST_ROUNDS):
        received = np.bincount(targets, weights=scores[sources] * share, minlength=nodes)
        updated = (1 - _DAMPING) / nodes + _DAMPING * (received + scores[dangling].sum() / nodes)
        change = float(np.abs(updated - scores).sum())
        scores = updated
        if change < _TOLERANCE:
            break
    return scores
