"""Tasks that succeed or fail together."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

__all__ = ["all_of"]


async def all_of(work: Sequence[Coroutine[Any, Any, None]]) -> None:
    """Await all; the first failure cancels the rest and is raised (a task group, which Python 3.10 has not)."""
    tasks = [asyncio.ensure_future(item) for item in work]
    if not tasks:
        return
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()
