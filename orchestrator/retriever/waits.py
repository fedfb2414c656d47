"""When one request waited for the model or for an index, as stretches of its own time.

Searches run side by side, so their durations do not add up. What counts is the time during which at least one call was
outstanding; while the model and an index are waited for at once, the time is the model's.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

__all__ = ["Waits"]

_Stretch = tuple[float, float]


class Waits:
    """The waits of one request. A stretch begins when the call is made and ends when its answer is at hand.

    Queueing for a thread of the index's pool, and the index's own conversion of what it found, are within it.

    Attributes:
        reads_ms: what `for_read` measured, all in all.
    """

    def __init__(self) -> None:
        self._model: list[_Stretch] = []
        self._index: list[_Stretch] = []
        self.reads_ms = 0.0

    @contextmanager
    def for_index(self) -> Iterator[None]:
        """Measures a call of an index."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self._index.append((started, time.perf_counter()))

    @contextmanager
    def for_read(self) -> Iterator[None]:
        """Measures reading the catalogue, an index as any other."""
        with self.for_index():
            yield
        start, end = self._index[-1]
        self.reads_ms += (end - start) * 1000

    def had_model(self, ms: float) -> None:
        """A call of the model that has just ended took so many milliseconds."""
        now = time.perf_counter()
        self._model.append((now - ms / 1000, now))

    def spent_ms(self) -> tuple[float, float]:
        """Milliseconds with a call of the model outstanding, and those with only a call of an index outstanding."""
        model = _covered(self._model)
        return model * 1000, (_covered([*self._model, *self._index]) - model) * 1000


def _covered(stretches: Iterable[_Stretch]) -> float:
    """The length of the union."""
    covered, until = 0.0, float("-inf")
    for start, end in sorted(stretches):
        covered += max(0.0, end - max(start, until))
        until = max(until, end)
    return covered
