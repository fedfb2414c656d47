"""A comparison as a table for a person and as JSON for a machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rich.console import Console
from rich.table import Table

from loadtest.serving.loads import Load
from loadtest.serving.ratios import Agreement, Ratio, ratios
from loadtest.serving.systems import OURS

__all__ = ["Comparison", "as_json", "print_comparison"]

WIDTH = 120


@dataclass(frozen=True, slots=True)
class Comparison:
    """What one run on so many cores measured.

    Attributes:
        cores: that everything ran on.
        agreements: system → how its vectors agree with the checkpoint's.
        libraries: system → the versions of its libraries.
        ways: system → load → the way that was quickest.
        rounds: load → one mapping a round, system → texts a second.
        skipped: why others did not take part.
    """

    cores: int
    agreements: Mapping[str, Agreement]
    libraries: Mapping[str, Mapping[str, str]]
    ways: Mapping[str, Mapping[str, str]]
    rounds: Mapping[str, Sequence[Mapping[str, float]]]
    skipped: Sequence[str] = field(default=())

    def ratios(self, load: str) -> dict[str, Ratio]:
        """Our throughput over each other system's."""
        return ratios(self.rounds[load], OURS)


def print_comparison(comparison: Comparison, loads: Sequence[Load], console: Console | None = None) -> None:
    """Print ratios, agreement, how each system ran, and what was left out."""
    console = console or Console(width=WIDTH)
    cores = "one core" if comparison.cores == 1 else f"the same {comparison.cores} cores"
    table = Table(
        title=f"On {cores}: how many times its throughput {OURS}'s is",
        caption="Median of the rounds' ratios (lowest to highest); above 1 Triton does more. "
        "Cosine with the float32 checkpoint: worst text (mean).",
        show_lines=True,
    )
    table.add_column("system")
    table.add_column("cosine", justify="right")
    for load in loads:
        table.add_column(load.name, justify="right")
    found = {load.name: comparison.ratios(load.name) for load in loads}
    for system, agreed in comparison.agreements.items():
        cells = [_cell(found[load.name].get(system)) for load in loads]
        table.add_row(system, f"{agreed.worst:.4f} ({agreed.mean:.4f})", *cells)
    console.print(table)
    for system, ways in comparison.ways.items():
        libraries = ", ".join(f"{name} {version}" for name, version in comparison.libraries[system].items())
        chosen = "; ".join(f"{load}: {way}" for load, way in ways.items())
        console.print(f"{system} ({libraries})", highlight=False)
        console.print(f"  {chosen}", style="dim", highlight=False)
    for reason in comparison.skipped:
        console.print(f"left out: {reason}", style="yellow", highlight=False)


def as_json(comparison: Comparison) -> dict[str, Any]:
    """The same, with every round's texts a second."""
    return {
        **asdict(comparison),
        "ratios": {
            load: {system: asdict(ratio) for system, ratio in comparison.ratios(load).items()}
            for load in comparison.rounds
        },
    }


def _cell(ratio: Ratio | None) -> str:
    return "1" if ratio is None else f"{ratio.median:.2f} ({ratio.lowest:.2f}–{ratio.highest:.2f})"
