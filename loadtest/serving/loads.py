"""What every system is asked to do, and how often it did it: stdlib only, for it also runs in the other environment."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["LOADS", "Done", "Kind", "Load", "drive_tasks", "drive_threads"]

Kind = Literal["query", "passage"]


@dataclass(frozen=True, slots=True)
class Load:
    """One way to ask.

    Attributes:
        name: as the table shows it.
        kind: of the texts.
        batch: texts a call.
        callers: who call at the same time, each waiting for its answer before it calls again.
    """

    name: str
    kind: Kind
    batch: int
    callers: int

    def batches(self, texts: Sequence[str]) -> list[list[str]]:
        """``texts`` in whole batches; all of them as one where they are too few."""
        whole = len(texts) // self.batch * self.batch
        return [list(texts[start : start + self.batch]) for start in range(0, whole, self.batch)] or [list(texts)]


LOADS = (
    Load("1 query, 1 caller", "query", batch=1, callers=1),
    Load("1 query, 8 callers", "query", batch=1, callers=8),
    Load("32 passages, 1 caller", "passage", batch=32, callers=1),
)


@dataclass(frozen=True, slots=True)
class Done:
    """What was done in a while: ``texts`` in ``seconds``, the last call's end included."""

    texts: int
    seconds: float

    @property
    def rate(self) -> float:
        """Texts a second."""
        return self.texts / self.seconds


def drive_threads(
    call: Callable[[list[str]], Any],
    batches: Sequence[list[str]],
    *,
    callers: int,
    seconds: float,
    enter: Callable[[], None] = lambda: None,
) -> Done:
    """Have ``callers`` threads call for ``seconds``; each ends the call that it has begun, and makes one at least.

    Args:
        call: takes one batch.
        batches: handed out in turn.
        callers: 1 calls from the thread that this is called in.
        seconds: how long calls are begun.
        enter: called once in each thread, before the clock starts.

    Raises:
        Whatever ``call`` raised first.
    """
    turns = itertools.count()
    done: list[int] = []
    failures: list[BaseException] = []
    ready = threading.Barrier(callers + (callers > 1))

    def work() -> None:
        try:
            enter()
            ready.wait()
            end = time.perf_counter() + seconds
            while True:
                batch = batches[next(turns) % len(batches)]
                call(batch)
                done.append(len(batch))
                if time.perf_counter() >= end:
                    return
        except BaseException as error:  # whoever waits for the threads raises it again
            failures.append(error)
            ready.abort()

    if callers == 1:
        start = time.perf_counter()
        work()
    else:
        threads = [threading.Thread(target=work, daemon=True) for _ in range(callers)]
        for thread in threads:
            thread.start()
        with contextlib.suppress(threading.BrokenBarrierError):
            ready.wait()
        start = time.perf_counter()
        for thread in threads:
            thread.join()
    if failures:
        raise failures[0]
    return Done(sum(done), time.perf_counter() - start)


async def drive_tasks(
    call: Callable[[list[str]], Awaitable[Any]], batches: Sequence[list[str]], *, callers: int, seconds: float
) -> Done:
    """As `drive_threads`, with tasks of this event loop."""
    turns = itertools.count()
    done = 0
    start = time.perf_counter()

    async def work() -> None:
        nonlocal done
        while True:
            batch = batches[next(turns) % len(batches)]
            await call(batch)
            done += len(batch)
            if time.perf_counter() >= start + seconds:
                return

    await asyncio.gather(*(work() for _ in range(callers)))
    return Done(done, time.perf_counter() - start)
