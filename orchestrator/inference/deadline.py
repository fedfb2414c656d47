"""Time limits for work on the event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from orchestrator.errors import DeadlineExceededError

__all__ = ["Deadline", "finish_within"]

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment by which work must be done, on the monotonic clock."""

    end: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """The deadline ``seconds`` from now."""
        return cls(time.monotonic() + seconds)

    @property
    def remaining_s(self) -> float:
        """Seconds left; never below 0."""
        return max(0.0, self.end - time.monotonic())


async def finish_within(work: Coroutine[Any, Any, Result], deadline: Deadline, what: str) -> Result:
    """Run ``work`` until it ends or the deadline passes; whichever way it is left, it does not go on behind.

    Raises:
        DeadlineExceededError: the time is up; names ``what``.
    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=deadline.remaining_s)
    finally:
        ended = task.done()
        if not ended:
            task.cancel()
        # Also where it has ended: whoever is cancelled in the moment in which it fails does not ask for its outcome.
        task.add_done_callback(_ignore)
    if not ended:
        raise DeadlineExceededError(f"{what} did not finish in time.")
    return task.result()


def _ignore(task: asyncio.Task[Any]) -> None:
    # Its outcome interests nobody any more; asking for it keeps asyncio from reporting it as lost.
    if not task.cancelled():
        task.exception()
