"""The worker processes as the bench sees them: started, asked, ended."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from loadtest.serving.loads import Done, Load
from loadtest.serving.material import Texts
from loadtest.serving.systems import INSTALL, System
from orchestrator.errors import TriasError
from orchestrator.settings import PROJECT

__all__ = ["BenchError", "Skipped", "Worker", "available_cores", "on_cores"]

# Opening imports torch and reads half a gigabyte, on one core of a busy machine perhaps.
ANSWER_TIMEOUT_S = 300.0
END_TIMEOUT_S = 20.0
# One line holds the vectors of some texts, or all texts there are.
LINE_BYTES = 1 << 24


class BenchError(TriasError):
    """The comparison cannot be made."""

    reason = "BENCH_FAILED"


class Skipped(Exception):  # noqa: N818 (no error: what is not installed is left out)
    """A system cannot take part; says why and what to install."""


class Worker:
    """A system in a process of its own; a context manager that ends it."""

    def __init__(self, system: System, process: asyncio.subprocess.Process, log: Path, *, threads: int) -> None:
        self.system = system
        self.threads = threads
        self.libraries: dict[str, str] = {}
        self._process = process
        self._log = log

    @classmethod
    async def start(cls, system: System, texts: Texts, *, threads: int, logs: Path) -> Worker:
        """Start it on the cores that this thread may use.

        Args:
            system: what to run.
            texts: what it will be asked.
            threads: its engine may use.
            logs: a folder, for what its libraries print.

        Raises:
            Skipped: it, or a library of it, is not installed.
            BenchError: it failed.
        """
        if system.absent:
            raise Skipped(f"{system.name}: {system.absent}; install it: {INSTALL}")
        log = logs / f"{system.name.replace(', ', '-')}.log"
        with log.open("wb") as output:
            process = await asyncio.create_subprocess_exec(
                *(system.python, "-m", "loadtest.serving.worker"),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=output,
                env=_environment(threads),
                cwd=PROJECT,
                limit=LINE_BYTES,
                # Ctrl-C reaches this process alone, which ends its workers in order.
                start_new_session=True,
            )
        worker = cls(system, process, log, threads=threads)
        try:
            answer = await worker._ask(
                engine=system.engine,
                threads=threads,
                options=dict(system.options),
                texts={"query": list(texts.queries), "passage": list(texts.passages)},
            )
        except BaseException:
            await worker.end()
            raise
        if missing := answer.get("missing"):
            await worker.end()
            raise Skipped(f"{system.name}: {missing} is not installed; install it: {INSTALL}")
        worker.libraries = answer["libraries"]
        return worker

    async def choose(self, load: Load, seconds: float) -> str:
        """Warm up, try its ways to do ``load``, keep the quickest; returns that one's name."""
        return str((await self._ask(do="choose", load=asdict(load), seconds=seconds))["way"])

    async def embed(self, load: Load, texts: list[str]) -> npt.NDArray[np.float64]:
        """Vectors by the way that was chosen for ``load``: [texts, dimension]."""
        return np.asarray((await self._ask(do="embed", load=asdict(load), texts=texts))["vectors"], np.float64)

    async def run(self, load: Load, seconds: float) -> Done:
        """Do ``load`` for a while."""
        return Done(**await self._ask(do="run", load=asdict(load), seconds=seconds))

    async def end(self) -> None:
        """Close its input, at which it leaves; kill it where it does not."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), END_TIMEOUT_S)
        except asyncio.TimeoutError:
            self._process.kill()
            await self._process.wait()

    async def _ask(self, **request: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            await self._process.stdin.drain()
            line = await asyncio.wait_for(self._process.stdout.readline(), ANSWER_TIMEOUT_S)
        except asyncio.TimeoutError:
            raise BenchError(
                f"{self.system.name} did not answer within {ANSWER_TIMEOUT_S:g} s; see {self._log}."
            ) from None
        except ConnectionError:
            line = b""
        if not line:
            raise BenchError(f"{self.system.name} ended early; see {self._log}.")
        answer: dict[str, Any] = json.loads(line)
        if error := answer.get("error"):
            raise BenchError(f"{self.system.name} failed: {error}", hint=f"See {self._log}.")
        return answer


def available_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0))


@contextlib.contextmanager
def on_cores(count: int) -> Iterator[None]:
    """Have what this thread starts in the meantime run on ``count`` of its cores alone, for good."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:count])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _environment(threads: int) -> dict[str, str]:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONHOME"}
    return environment | {
        "PYTHONPATH": str(PROJECT),
        "OMP_NUM_THREADS": str(threads),
        # Nothing is fetched and nothing is told to anyone: all lies on this disk.
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "DO_NOT_TRACK": "1",
        "INFINITY_ANONYMOUS_USAGE_STATS": "0",
    }
