from __future__ import annotations

from orchestrator.router.cost import cheapest, estimate
from trias.v1 import plan_pb2


def by_strategy(chars: int, parts: int) -> dict[int, plan_pb2.CostEstimate]:
    return {item.strategy: item for item in estimate(chars, parts)}


def test_every_strategy_has_an_estimate() -> None:
    assert set(by_strategy(10, 1)) == set(plan_pb2.Strategy.values()) - {0}


def test_more_parts_cost_more_where_they_are_searched_for() -> None:
    one, three = by_strategy(30, 1), by_strategy(30, 3)
    assert three[plan_pb2.STRATEGY_FULL].milliseconds > one[plan_pb2.STRATEGY_FULL].milliseconds
    assert three[plan_pb2.STRATEGY_FULL].tokens > one[plan_pb2.STRATEGY_FULL].tokens
    assert three[plan_pb2.STRATEGY_NO_RETRIEVAL].tokens == one[plan_pb2.STRATEGY_NO_RETRIEVAL].tokens


def test_the_cheapest_admissible_strategy_is_chosen() -> None:
    estimates = estimate(20, 1)
    assert cheapest(estimates, {plan_pb2.STRATEGY_FULL}) == plan_pb2.STRATEGY_FULL
    assert cheapest(estimates, {plan_pb2.STRATEGY_FULL, plan_pb2.STRATEGY_FAQ}) == plan_pb2.STRATEGY_FAQ
