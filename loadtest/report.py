"""The figures of a run, as tables for a person and as JSON for a machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from loadtest.gates import Measured, Verdict
from loadtest.stages import StageRow

__all__ = ["as_json", "print_report"]


def print_report(measured: Sequence[Measured], verdicts: Sequence[Verdict], stages: Sequence[StageRow]) -> None:
    """Print calls against their gates, then where the server's time went."""
    console = Console(width=110)
    judged = {verdict.gate.event: verdict for verdict in verdicts}
    calls = Table(title="Calls (milliseconds, at the client)")
    for column in ("call", "count", "failed", "P50", "P95", "P99", "P95 limit", "verdict"):
        calls.add_column(column, justify="left" if column in ("call", "verdict") else "right")
    for row in sorted(measured, key=lambda item: item.event):
        verdict = judged.get(row.event)
        calls.add_row(
            row.event,
            str(row.count),
            str(row.failures),
            f"{row.p50_ms:.0f}",
            f"{row.p95_ms:.0f}",
            f"{row.p99_ms:.0f}",
            f"{verdict.gate.p95_ms:.0f}" if verdict else "",
            ("kept" if verdict.kept else f"BROKEN: {verdict.reason}") if verdict else "no gate",
        )
    console.print(calls)
    if stages:
        console.print(_stage_table(stages))


def as_json(measured: Sequence[Measured], verdicts: Sequence[Verdict], stages: Sequence[StageRow]) -> dict[str, Any]:
    """The same figures: ``{"calls": {…}, "gates": […], "stages": {…}, "kept": …}``."""
    return {
        "calls": {row.event: asdict(row) for row in measured},
        "gates": [{**asdict(verdict.gate), "kept": verdict.kept, "reason": verdict.reason} for verdict in verdicts],
        "stages": {row.stage: asdict(row) for row in stages},
        "kept": all(verdict.kept for verdict in verdicts),
    }


def _stage_table(stages: Sequence[StageRow]) -> Table:
    table = Table(title="Inside the server, to the deep answer (milliseconds; stages overlap)")
    for column in ("part", "count", "P50", "P95", "mean", "share"):
        table.add_column(column, justify="left" if column == "part" else "right")
    for row in stages:
        table.add_row(
            row.stage,
            str(row.count),
            f"{row.p50_ms:.1f}",
            f"{row.p95_ms:.1f}",
            f"{row.mean_ms:.1f}",
            f"{row.share:.0%}",
        )
    return table
