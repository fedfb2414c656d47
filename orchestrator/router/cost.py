"""What each strategy is predicted to cost, and which of those that would do is the cheapest."""

from __future__ import annotations

from collections.abc import Collection

from trias.v1 import plan_pb2

__all__ = ["cheapest", "estimate"]

# Milliseconds on two cores: [per question, per further sub-question]. Orders of magnitude to choose by, not promises.
_MILLISECONDS: dict[plan_pb2.Strategy, tuple[float, float]] = {
    plan_pb2.STRATEGY_NO_RETRIEVAL: (1.0, 0.0),
    plan_pb2.STRATEGY_CACHED: (2.0, 0.0),
    plan_pb2.STRATEGY_FAQ: (150.0, 0.0),
    plan_pb2.STRATEGY_FULL: (600.0, 150.0),
}
# Clauses read per search, and the tokens of a typical one.
_CLAUSES = {plan_pb2.STRATEGY_FAQ: 3, plan_pb2.STRATEGY_FULL: 10}
TOKENS_PER_CLAUSE = 120
# An encoder for Chinese makes about two tokens of three characters.
TOKENS_PER_CHARACTER = 0.7


def estimate(question_chars: int, parts: int) -> list[plan_pb2.CostEstimate]:
    """The cost of every strategy for a question of that length that falls into ``parts`` sub-questions (at least 1)."""
    asked = int(question_chars * TOKENS_PER_CHARACTER) + 1
    return [
        plan_pb2.CostEstimate(
            strategy=strategy,
            milliseconds=first + further * (parts - 1),
            tokens=asked + _CLAUSES.get(strategy, 0) * TOKENS_PER_CLAUSE * parts,
        )
        for strategy, (first, further) in _MILLISECONDS.items()
    ]


def cheapest(
    estimates: Collection[plan_pb2.CostEstimate], admissible: Collection[plan_pb2.Strategy]
) -> plan_pb2.Strategy:
    """The strategy that costs the fewest milliseconds of those that would answer the question."""
    return min((item for item in estimates if item.strategy in admissible), key=lambda item: item.milliseconds).strategy
