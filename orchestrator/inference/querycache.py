"""Query vectors kept in memory, and one computation for equal queries that come at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from cachetools import LRUCache

from orchestrator.errors import TriasError

__all__ = ["Collected", "QueryCache"]

Key = tuple[str, str]  # fingerprint, text


class _Computed(Protocol):
    @property
    def vectors(self) -> npt.NDArray[np.float32]: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def model_ms(self) -> float: ...


Compute = Callable[[Sequence[str]], Coroutine[Any, Any, _Computed]]


@dataclass(frozen=True, slots=True)
class Collected:
    """Vectors of some queries, all of one version.

    Attributes:
        vectors: one row a query, in their order.
        fingerprint: of the version.
        model_ms: of the slowest computation waited for; 0 where none was.
    """

    vectors: list[npt.NDArray[np.float32]]
    fingerprint: str
    model_ms: float


class _Shared:
    """A computation of some texts and the number of those who wait for it; it ends with the last of them."""

    def __init__(self, texts: Sequence[str], work: Coroutine[Any, Any, _Computed]) -> None:
        self.rows = {text: row for row, text in enumerate(texts)}
        self.task = asyncio.ensure_future(work)
        self.waiting = 0


class QueryCache:
    """The last ``entries`` query vectors; 0 keeps none, but equal queries in flight still share a call."""

    def __init__(self, entries: int) -> None:
        self._kept: LRUCache[Key, npt.NDArray[np.float32]] | None = LRUCache(entries) if entries else None
        self._in_flight: dict[Key, _Shared] = {}

    async def collect(self, texts: Sequence[str], fingerprint: str, compute: Compute) -> Collected | None:
        """The vectors of ``texts``: kept ones, those on their way for others, and the rest from ``compute``.

        Args:
            texts: queries, in any number.
            fingerprint: of the version that is thought to answer.
            compute: makes the vectors of the texts it is given.

        Returns:
            None where it must be asked again: another version answered than ``fingerprint`` says, or a computation
            that another caller began (with less time, perhaps) failed in a way that may pass.

        Raises:
            Whatever the computations raise.
        """
        kept, joined, missing = self._sort(texts, fingerprint)
        shared = dict(joined)
        if missing:
            shared.update(dict.fromkeys(missing, self._begin(missing, fingerprint, compute)))
        computations = set(shared.values())
        for computation in computations:
            computation.waiting += 1
        model_ms = 0.0
        try:
            for computation in computations:
                # Shielded: one caller that gives up must not take the answer from the others.
                computed = await asyncio.shield(computation.task)
                model_ms = max(model_ms, computed.model_ms)
                if computed.fingerprint != fingerprint:
                    return None
        except TriasError as error:
            if error.retryable and computation in joined.values():
                return None
            raise
        finally:
            self._leave(computations, fingerprint)
        for text, computation in shared.items():
            kept[text] = computation.task.result().vectors[computation.rows[text]]
        return Collected([kept[text] for text in texts], fingerprint, model_ms)

    async def close(self) -> None:
        """Cancel what is in flight."""
        tasks = {computation.task for computation in self._in_flight.values()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _sort(
        self, texts: Sequence[str], fingerprint: str
    ) -> tuple[dict[str, npt.NDArray[np.float32]], dict[str, _Shared], list[str]]:
        kept: dict[str, npt.NDArray[np.float32]] = {}
        joined: dict[str, _Shared] = {}
        missing: list[str] = []
        for text in dict.fromkeys(texts):
            vector = self._kept.get((fingerprint, text)) if self._kept is not None else None
            if vector is not None:
                kept[text] = vector
            elif (fingerprint, text) in self._in_flight:
                joined[text] = self._in_flight[fingerprint, text]
            else:
                missing.append(text)
        return kept, joined, missing

    def _begin(self, texts: Sequence[str], fingerprint: str, compute: Compute) -> _Shared:
        shared = _Shared(texts, compute(texts))
        for text in texts:
            self._in_flight[fingerprint, text] = shared
        shared.task.add_done_callback(lambda _: self._finish(shared, fingerprint))
        return shared

    def _leave(self, computations: set[_Shared], fingerprint: str) -> None:
        for computation in computations:
            computation.waiting -= 1
            if not computation.waiting and not computation.task.done():
                # Forgotten at once: who asks from now on must not join a computation that is being cancelled.
                self._forget(computation, fingerprint)
                computation.task.cancel()

    def _finish(self, shared: _Shared, fingerprint: str) -> None:
        self._forget(shared, fingerprint)
        # Asking for the error keeps asyncio from reporting it as lost where nobody waits any more.
        if shared.task.cancelled() or shared.task.exception() is not None or self._kept is None:
            return
        computed = shared.task.result()
        for text, row in shared.rows.items():
            # A copy: a row alone would keep its whole batch alive.
            self._kept[computed.fingerprint, text] = computed.vectors[row].copy()

    def _forget(self, shared: _Shared, fingerprint: str) -> None:
        for text in shared.rows:
            if self._in_flight.get((fingerprint, text)) is shared:
                del self._in_flight[fingerprint, text]
