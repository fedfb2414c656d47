"""Try again what may be tried again, within a deadline."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from orchestrator.errors import TriasError
from orchestrator.inference.deadline import Deadline

__all__ = ["retrying"]

Result = TypeVar("Result")

# 0.1, 0.2, 0.4 … seconds: a crashed model is back after one or two, and nobody hammers it meanwhile.
FIRST_WAIT_S = 0.1
LONGEST_WAIT_S = 2.0


async def retrying(
    call: Callable[[], Awaitable[Result]],
    *,
    attempts: int,
    deadline: Deadline,
    may_retry: Callable[[TriasError], bool],
) -> Result:
    """Await ``call()`` until it succeeds, fails for good, or no time is left for another try.

    Waits double from try to try, with full jitter over their upper half. Where the next wait would pass the deadline,
    the last error is raised at once: it says more than "time is up" and leaves the caller time for a fallback.
    """
    wait = FIRST_WAIT_S
    for attempt in range(1, attempts + 1):
        try:
            return await call()
        except TriasError as error:
            pause = wait * random.uniform(0.5, 1)  # noqa: S311 (no secret depends on it)
            if attempt == attempts or not may_retry(error) or pause >= deadline.remaining_s:
                raise
        await asyncio.sleep(pause)
        wait = min(2 * wait, LONGEST_WAIT_S)
    raise AssertionError("unreachable: attempts is at least 1")
