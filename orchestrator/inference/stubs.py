"""The Python stubs of a tritonserver, seen from outside: which of them have died.

A killed stub stays behind as a zombie, since its server never asks for it; one that was unloaded in order is gone at
once. That tells a crash within a second, where a canary would wait in the dead model's queue.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Set
from pathlib import Path

__all__ = ["StubTable"]

PROCESSES = Path("/proc")
ZOMBIE = "Z"


class StubTable:
    """Follows the stubs of one server process.

    Args:
        server: its process id.
        repository: the model repository that it serves.
    """

    def __init__(self, server: int, repository: Path) -> None:
        self._server = server
        self._repository = repository
        self._models: dict[int, str] = {}
        self._dead: set[int] = set()
        self._reported: set[int] = set()

    def crashed(self) -> frozenset[str]:
        """The models whose stub was found dead by this look and by the one before; each death is told once.

        A stub that ends in order can be a zombie for the moment until its server has asked for it, hence the two.
        """
        dead = self._look()
        confirmed = (dead & self._dead) - self._reported
        self._dead = dead
        self._reported |= confirmed
        return frozenset(self._models[pid] for pid in confirmed if pid in self._models)

    def pids_of(self, model: str) -> frozenset[int]:
        """The stubs of a model that are alive."""
        dead = self._look()
        return frozenset(pid for pid in self._children() - dead if self._models.get(pid) == model)

    def end(self, stale: Set[int]) -> None:
        """Kill stubs that other ones have replaced; none of them is told as a crash."""
        for pid in self._children() & stale:
            self._reported.add(pid)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _look(self) -> set[int]:
        """Learn which stub is whose; those that are dead."""
        dead = set()
        for pid in self._children():
            if _state(pid) == ZOMBIE:
                dead.add(pid)
            elif pid not in self._models:
                model = self._model_of(pid)
                if model:
                    self._models[pid] = model
        return dead

    def _children(self) -> set[int]:
        children: set[int] = set()
        # Threads end while we look; what they started shows up under the main thread by the next look.
        for task in _entries(PROCESSES / str(self._server) / "task"):
            children.update(int(child) for child in _read(task / "children").split())
        return children

    def _model_of(self, pid: int) -> str:
        # The stub's first argument is <repository>/<model>/<version>/<file>.
        arguments = _read(PROCESSES / str(pid) / "cmdline").split("\0")
        path = Path(arguments[1]) if len(arguments) > 1 else Path()
        return path.parts[-3] if path.is_relative_to(self._repository) and len(path.parts) >= 3 else ""


def _state(pid: int) -> str:
    # The name in brackets may hold anything, so the fields are counted from its end.
    fields = _read(PROCESSES / str(pid) / "stat").rpartition(")")[2].split()
    return fields[0] if fields else ""


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []
