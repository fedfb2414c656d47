"""How many requests are worked on at a time: a bounded number, a bounded queue, then a clear no.

grpc's own `maximum_concurrent_rpcs` counts health checks too and was seen to miscount; this counts what costs.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from orchestrator.errors import AdmissionError
from orchestrator.settings import AdmissionSettings

__all__ = ["Admission"]


class Admission:
    """Admits ``max_in_flight`` at a time; ``max_waiting`` more wait their turn for at most ``max_wait_s``."""

    def __init__(self, settings: AdmissionSettings) -> None:
        self._settings = settings
        self._in_flight = 0
        self._queue: deque[asyncio.Future[None]] = deque()

    @property
    def in_flight(self) -> int:
        """Requests being worked on."""
        return self._in_flight

    @property
    def waiting(self) -> int:
        """Requests whose turn has not come."""
        return sum(not turn.done() for turn in self._queue)

    @asynccontextmanager
    async def admitted(self) -> AsyncIterator[None]:
        """Hold a place while the body runs.

        Raises:
            AdmissionError: the queue is full, or the turn did not come in time.
        """
        if self._in_flight >= self._settings.max_in_flight:
            await self._wait()
        else:
            self._in_flight += 1
        try:
            yield
        finally:
            self._leave()

    async def _wait(self) -> None:
        if self.waiting >= self._settings.max_waiting:
            raise self._refusal(f"{self._in_flight} requests are in flight and {self.waiting} wait.")
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        try:
            await asyncio.wait({turn}, timeout=self._settings.max_wait_s)
        except asyncio.CancelledError:
            if turn.done():  # the place was handed over in the very moment of cancellation
                self._leave()
            raise
        finally:
            if not turn.done():
                turn.cancel()
                self._queue.remove(turn)
        if turn.cancelled():
            raise self._refusal(f"No place became free within {self._settings.max_wait_s:g} s.")

    def _leave(self) -> None:
        """Hand the place to who waits longest, else give it up."""
        while self._queue:
            turn = self._queue.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._in_flight -= 1

    def _refusal(self, message: str) -> AdmissionError:
        return AdmissionError(message, retry_after_s=self._settings.retry_after_s)
