from __future__ import annotations

import numpy as np
import pytest

from loadtest.serving.ratios import Ratio, agreement, ratios


def test_each_round_is_compared_with_itself() -> None:
    # The machine was four times slower in the second round, for both.
    found = ratios([{"ours": 100, "theirs": 50}, {"ours": 25, "theirs": 10}, {"ours": 100, "theirs": 40}], "ours")
    assert found == {"theirs": Ratio(median=2.5, lowest=2.0, highest=2.5)}


def test_one_odd_round_does_not_decide() -> None:
    found = ratios([{"ours": 10, "theirs": 10}, {"ours": 10, "theirs": 1}, {"ours": 11, "theirs": 10}], "ours")
    assert found["theirs"].median == pytest.approx(1.1)
    assert found["theirs"].highest == pytest.approx(10)


@pytest.mark.parametrize("rounds", [[], [{"theirs": 1.0}], [{"ours": 1.0, "theirs": 1.0}, {"ours": 1.0}]])
def test_rounds_must_hold_the_same_systems(rounds: list[dict[str, float]]) -> None:
    with pytest.raises(ValueError, match="round"):
        ratios(rounds, "ours")


def test_agreement_is_of_directions() -> None:
    reference = np.array([[1.0, 0.0], [0.0, 1.0]])
    same = agreement(reference * [[3.0], [0.5]], reference)
    assert (same.worst, same.mean) == pytest.approx((1.0, 1.0))
    turned = agreement(np.array([[1.0, 0.0], [1.0, 0.0]]), reference)
    assert (turned.worst, turned.mean) == pytest.approx((0.0, 0.5))


def test_other_shapes_do_not_agree() -> None:
    with pytest.raises(ValueError, match="compared"):
        agreement(np.ones((2, 3)), np.ones((2, 4)))
