"""One system in a process of its own: `python -m loadtest.serving.worker`, a JSON line in, a JSON line out.

The first line opens the engine; each later one is a task. Times are taken here, so that what crosses the pipe costs no
system anything. A missing library is answered ``{"missing": …}``, any other failure ``{"error": …}``; the end of the
input ends the process.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable
from contextlib import AsyncExitStack
from dataclasses import asdict
from typing import Any, TextIO, cast

import numpy as np

from loadtest.serving.engines import ENGINES, TASKS, Engine, Vectors, Way, versions_of
from loadtest.serving.loads import Done, Load, drive_tasks, drive_threads

__all__ = ["Session", "main"]


class Session:
    """An open engine, the texts it is asked, and the way that was quickest for each load."""

    def __init__(self, engine: Engine, texts: dict[str, list[str]]) -> None:
        self._engine = engine
        self._texts = texts
        self._chosen: dict[str, Way] = {}

    async def answer(self, task: dict[str, Any]) -> dict[str, Any]:
        """Do one task: ``choose``, ``embed`` or ``run``."""
        load = Load(**task["load"])
        if task["do"] == "choose":
            return await self._choose(load, float(task["seconds"]))
        way = self._chosen[load.name]
        if task["do"] == "embed":
            found = await self._once(way, list(task["texts"]))
            return {"vectors": np.asarray(found, np.float64).tolist()}
        return asdict(await self._drive(way, load, float(task["seconds"])))

    async def _choose(self, load: Load, seconds: float) -> dict[str, Any]:
        rates: dict[str, float] = {}
        ways = {way.name: way for way in self._engine.ways(load)}
        for way in ways.values():
            await self._drive(way, load, 0)  # each caller once, unmeasured: first calls allocate
            rates[way.name] = (await self._drive(way, load, seconds)).rate
        best = max(rates, key=rates.__getitem__)
        self._chosen[load.name] = ways[best]
        return {"way": best, "rates": rates}

    async def _drive(self, way: Way, load: Load, seconds: float) -> Done:
        batches = load.batches(self._texts[load.kind])
        if way.at_once == TASKS:
            call: Any = way.call
            return await drive_tasks(call, batches, callers=load.callers, seconds=seconds)
        # A caller that waits for another's call to end would only be one thread more.
        callers = min(load.callers, way.at_once)
        return drive_threads(way.call, batches, callers=callers, seconds=seconds, enter=way.enter)

    @staticmethod
    async def _once(way: Way, texts: list[str]) -> Vectors:
        found = way.call(texts)
        return await found if isinstance(found, Awaitable) else found


async def _serve(requests: TextIO, answers: TextIO) -> None:
    def say(**answer: Any) -> None:
        print(json.dumps(answer), file=answers, flush=True)

    opening = json.loads(await asyncio.to_thread(requests.readline))
    async with AsyncExitStack() as stack:
        try:
            engine = await ENGINES[opening["engine"]](stack, int(opening["threads"]), opening["options"])
            session = Session(engine, opening["texts"])
            say(libraries=versions_of(engine))
        except ModuleNotFoundError as error:
            return say(missing=error.name or str(error))
        except Exception as error:
            return say(error=f"{type(error).__name__}: {error}")
        while line := await asyncio.to_thread(requests.readline):
            try:
                say(**await session.answer(json.loads(line)))
            except Exception as error:
                return say(error=f"{type(error).__name__}: {error}")
    return None


def main() -> None:
    """Serve standard input; what libraries print goes to standard error."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    try:
        import uvloop  # noqa: PLC0415 (not in every environment; where it is, it is what the product runs on)
    except ModuleNotFoundError:
        asyncio.run(_serve(cast("TextIO", sys.stdin), answers))
    else:
        uvloop.run(_serve(cast("TextIO", sys.stdin), answers))


if __name__ == "__main__":
    main()
