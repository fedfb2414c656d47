"""The progress bars of work that is counted: how much of how much, since when, how long still."""

from __future__ import annotations

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

__all__ = ["counting_bars"]


def counting_bars(console: Console, *more: ProgressColumn) -> Progress:
    """Bars on ``console``, with ``more`` columns behind the usual ones."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        *more,
        console=console,
    )
