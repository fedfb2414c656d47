from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.retriever import waits
from orchestrator.retriever.waits import Waits


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(waits, "time", made)
    return made


def test_calls_side_by_side_are_waited_for_once(clock: Clock) -> None:
    spent = Waits()
    with spent.for_index():
        clock.now += 0.010
        with spent.for_index():
            clock.now += 0.005
    clock.now += 0.100
    with spent.for_index():
        clock.now += 0.002
    assert spent.spent_ms() == pytest.approx((0.0, 17.0))


def test_what_overlaps_the_model_is_the_models(clock: Clock) -> None:
    spent = Waits()
    with spent.for_index():
        clock.now += 0.010
        spent.had_model(8.0)
        clock.now += 0.001
    assert spent.spent_ms() == pytest.approx((8.0, 3.0))


def test_reads_are_added_up_and_are_waits_of_an_index(clock: Clock) -> None:
    spent = Waits()
    for seconds in (0.003, 0.002):
        with spent.for_read():
            clock.now += seconds
    assert spent.reads_ms == pytest.approx(5.0)
    assert spent.spent_ms() == pytest.approx((0.0, 5.0))


def test_a_call_that_fails_was_waited_for_too(clock: Clock) -> None:
    spent = Waits()

    def call() -> None:
        clock.now += 0.004
        raise ValueError("gone")

    with pytest.raises(ValueError, match="gone"), spent.for_index():
        call()
    assert spent.spent_ms() == pytest.approx((0.0, 4.0))


stretches = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20)), max_size=12)


@given(stretches)
def test_the_union_is_as_long_as_the_ticks_that_some_stretch_covers(found: list[tuple[int, int]]) -> None:
    ticks = {tick for start, length in found for tick in range(start, start + length)}
    assert waits._covered((start, start + length) for start, length in found) == len(ticks)
