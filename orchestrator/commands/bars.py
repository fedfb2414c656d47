"""The progress of work that is counted: how much of how much, since when, how long still.

Bars on a terminal; elsewhere, in a log say, a line now and then.
"""

from __future__ import annotations

import time
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

__all__ = ["LINE_EVERY_S", "counting_bars"]

LINE_EVERY_S = 10.0


def counting_bars(console: Console, *more: ProgressColumn) -> Progress:
    """Bars on ``console``, with ``more`` columns behind the usual ones."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        *more,
    )
    return Progress(*columns, console=console) if console.is_terminal else _Lines(*columns, console=console)


class _Lines(Progress):
    """Tells of each bar every so often, and when it is full."""

    def __init__(self, *columns: ProgressColumn, console: Console) -> None:
        super().__init__(*columns, console=console, disable=True)
        self._told: dict[TaskID, float] = {}
        self._full: set[TaskID] = set()

    def add_task(self, description: str, **fields: Any) -> TaskID:  # type: ignore[override]  # handed on as they are
        """See `Progress.add_task`."""
        task_id = super().add_task(description, **fields)
        self._told[task_id] = time.monotonic()
        return task_id

    def advance(self, task_id: TaskID, advance: float = 1) -> None:
        """See `Progress.advance`."""
        self.update(task_id, advance=advance)

    def update(self, task_id: TaskID, **changes: Any) -> None:
        """See `Progress.update`; a line where one is due."""
        super().update(task_id, **changes)
        task, now = self.tasks[self.task_ids.index(task_id)], time.monotonic()
        newly_full = task.finished and task_id not in self._full
        # A total may grow: what was full once is not for ever.
        (self._full.add if task.finished else self._full.discard)(task_id)
        if newly_full or (not task.finished and now - self._told[task_id] >= LINE_EVERY_S):
            self._told[task_id] = now
            self.console.print(_line(task), markup=False, highlight=False, soft_wrap=True)


def _line(task: Task) -> str:
    total = "?" if task.total is None else f"{task.total:.0f}"
    left = f", {task.time_remaining:.0f} s left" if task.time_remaining else ""
    loss = f", {task.fields['loss']}" if task.fields.get("loss") else ""
    return f"{task.description}: {task.completed:.0f}/{total} after {task.elapsed or 0:.0f} s{left}{loss}"
