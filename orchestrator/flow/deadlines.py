"""Deadlines that hold: work that overruns is cancelled and left behind, never waited for.

``asyncio.wait_for`` waits until the cancelled work has ended, so one agent that is deaf to cancellation would hold up
every tier after it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextvars import ContextVar
from typing import Any, TypeVar

from orchestrator.errors import DeadlineExceededError, TriasError

__all__ = ["Budget", "time_left", "within"]

T = TypeVar("T")

# What the way back to the caller may take: a tenth of the caller's time, at most this.
CALLER_MARGIN_S = 0.1
CALLER_MARGIN_SHARE = 0.1
# Composing an answer from passages at hand takes a few milliseconds; twenty are kept for it on a busy machine.
COMPOSE_S = 0.02
# Of a caller's short deadline: the share that routing may take, and the share kept back for the fallback search.
ROUTE_SHARE = 0.25
FALLBACK_SHARE = 0.2

_deadline: ContextVar[float | None] = ContextVar("trias_deadline", default=None)


def time_left() -> float | None:
    """Seconds until the deadline of the work that calls this; None where it has none. Never negative."""
    deadline = _deadline.get()
    return None if deadline is None else max(0.0, deadline - asyncio.get_running_loop().time())


async def within(work: Coroutine[Any, Any, T], seconds: float, what: str) -> T:
    """Await ``work`` for at most ``seconds``.

    Args:
        work: sees its deadline through `time_left`.
        seconds: from now.
        what: names the work in the error.

    Raises:
        DeadlineExceededError: the time is up; the work was cancelled.
        TriasError: the work cancelled itself, though nobody had asked for it.
    """
    if seconds <= 0:
        work.close()
        raise DeadlineExceededError(f"No time was left for {what}.")
    loop = asyncio.get_running_loop()
    # Set by the work as its last act, or by the clock: cheaper, by a turn of the loop, than `asyncio.wait`.
    ended: asyncio.Future[None] = loop.create_future()
    deadline = loop.time() + seconds
    task = loop.create_task(_bounded(work, deadline, ended))
    clock = loop.call_at(deadline, _end, ended)
    try:
        await ended
    except asyncio.CancelledError:
        _abandon(task)
        raise
    finally:
        clock.cancel()
    if not task.done():
        _abandon(task)
        raise DeadlineExceededError(f"The time for {what} ({seconds:.2f} s) was up.")
    if task.cancelled():
        raise TriasError(f"The work on {what} was cancelled from within.")
    return task.result()


async def _bounded(work: Coroutine[Any, Any, T], deadline: float, ended: asyncio.Future[None]) -> T:
    _deadline.set(deadline)
    try:
        return await work
    finally:
        _end(ended)


def _end(ended: asyncio.Future[None]) -> None:
    if not ended.done():
        ended.set_result(None)


def _abandon(task: asyncio.Task[Any]) -> None:
    task.cancel()
    # Whatever it still raises is read, so that asyncio does not report it as lost.
    task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())


class Budget:
    """The seconds of one question: the configured budgets under the caller's deadline.

    Args:
        total_s: the configured time for the whole question.
        fallback_s: the configured time of the fallback search.
        caller_s: what the caller's own deadline leaves; None where the caller set none.
    """

    def __init__(self, *, total_s: float, fallback_s: float, caller_s: float | None = None) -> None:
        if caller_s is not None:
            total_s = min(total_s, caller_s - min(CALLER_MARGIN_S, CALLER_MARGIN_SHARE * caller_s))
        self._clock = asyncio.get_running_loop().time
        self._total_s = max(0.0, total_s)
        self._end = self._clock() + self._total_s
        self._reserve_s = min(fallback_s, FALLBACK_SHARE * self._total_s)

    @property
    def left_s(self) -> float:
        """Seconds until the whole question must be answered."""
        return self._end - self._clock()

    def for_route(self, wanted_s: float) -> float:
        """Seconds for the router: a short deadline must not be spent on planning."""
        return min(wanted_s, ROUTE_SHARE * self._total_s, self.left_s)

    def for_search(self, wanted_s: float) -> float:
        """Seconds for the retriever: the reserve stays for the fallback search."""
        return min(wanted_s, self.left_s - self._reserve_s)

    def for_fallback(self, wanted_s: float) -> float:
        """Seconds for the fallback search."""
        return min(wanted_s, self.left_s - COMPOSE_S)

    def for_reasoning(self, wanted_s: float) -> float:
        """Seconds for the reasoner: quoting the passages at hand must still fit in."""
        return min(wanted_s, self.left_s - COMPOSE_S)
