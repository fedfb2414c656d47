"""Work under a deadline ends with it, and nothing of it is reported as lost."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from typing import Any

import pytest

from orchestrator.errors import DeadlineExceededError, ModelError
from orchestrator.inference.deadline import Deadline, finish_within


async def fail() -> None:
    raise ModelError("it failed.")


async def test_results_and_errors_come_through() -> None:
    async def work() -> int:
        return 7

    assert await finish_within(work(), Deadline.after(5), "Work") == 7
    with pytest.raises(ModelError, match="it failed"):
        await finish_within(fail(), Deadline.after(5), "Work")


async def test_work_that_is_late_is_cancelled() -> None:
    ended = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    with pytest.raises(DeadlineExceededError, match="Work did not finish in time"):
        await finish_within(work(), Deadline.after(0.01), "Work")
    await ended.wait()


@pytest.mark.parametrize("turns", range(1, 6))
async def test_a_caller_cancelled_as_the_work_fails_loses_no_error(turns: int) -> None:
    lost: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: lost.append(context))
    caller = asyncio.ensure_future(finish_within(fail(), Deadline.after(5), "Work"))
    for _ in range(turns):
        await asyncio.sleep(0)
    caller.cancel()
    with contextlib.suppress(asyncio.CancelledError, ModelError):
        await caller
    del caller
    gc.collect()
    await asyncio.sleep(0)
    assert lost == []
