"""What `trias deploy …` does: partitions and their budgets as tables, files, and a watch over running Tritons."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections import defaultdict
from pathlib import Path, PurePosixPath

import typer
from rich.console import Console
from rich.table import Table

from deploy.budget import Budget, reckon
from deploy.partition import known_partitions, load_partition
from deploy.render import render
from export.engine import engine_commands
from export.spec import GenerativeSpec, load_spec
from orchestrator.errors import ConfigurationError
from orchestrator.inference.hosts import RemoteTriton
from orchestrator.inference.watchdog import Watchdog
from orchestrator.settings import Settings

__all__ = ["engine_script", "partitions_table", "render_partition", "show_budgets", "watch_endpoints"]

EVERY_OTHER = "*"


def partitions_table() -> Table:
    """The partitions that Trias comes with."""
    table = Table("partition", "what it is", "slices")
    for name in known_partitions():
        partition = load_partition(name)
        table.add_row(name, partition.description, ", ".join(part.name for part in partition.slices))
    return table


def render_partition(partition: str, out: Path) -> tuple[Path, ...]:
    """Write a partition's files into ``out``; returns their paths."""
    return render(load_partition(partition), out)


def show_budgets(partition: str, console: Console) -> bool:
    """Print what memory each slice's models take; returns whether all of them fit."""
    budgets = reckon(load_partition(partition))
    if not budgets:
        console.print("No slice is on a GPU.")
    for item in budgets:
        console.print(_budget_table(item))
        for problem in item.problems:
            console.print(f"[red]does not fit:[/red] {problem}", highlight=False)
    return not any(item.problems for item in budgets)


def engine_script(spec: str, checkpoint: Path, work: str) -> str:
    """The commands that build an engine.

    Raises:
        ConfigurationError: the spec is no language model's.
    """
    found = load_spec(spec)
    if not isinstance(found, GenerativeSpec):
        raise ConfigurationError(f"{spec} is no language model, so it has no engine.")
    return engine_commands(found, checkpoint, PurePosixPath(work)).as_script()


def _budget_table(budget: Budget) -> Table:
    table = Table("item", "reckoned as", "MiB", title=f"{budget.slice}: {budget.device}", title_justify="left")
    for line in budget.lines:
        table.add_row(line.item, line.arithmetic, f"{line.mb}")
    table.add_section()
    style = "red" if budget.problems else "green"
    table.add_row("needed", f"of {budget.memory_mb}", f"[{style}]{budget.needed_mb}[/{style}]")
    table.add_section()
    for line in budget.details:
        table.add_row(f"[dim]{line.item}[/dim]", f"[dim]{line.arithmetic}[/dim]", f"[dim]{line.mb}[/dim]")
    return table


async def watch_endpoints(settings: Settings) -> None:
    """Load the models of inference.endpoints and heal what fails, until SIGINT or SIGTERM.

    Raises:
        ConfigurationError: inference.endpoints names no model.
    """
    models: dict[str, list[str]] = defaultdict(list)
    for model, address in settings.inference.endpoints.items():
        if model != EVERY_OTHER:
            models[address].append(model)
    if not models:
        raise ConfigurationError(
            "inference.endpoints names no model, so there is nothing to load.",
            hint="`trias deploy render` writes a trias.yaml that does.",
        )
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with contextlib.AsyncExitStack() as stack:
        for address, names in models.items():
            host = RemoteTriton(address, repository=settings.paths.model_repository, models=tuple(names))
            stack.push_async_callback(host.close)
            await stack.enter_async_context(Watchdog(host, settings.canary))
            typer.echo(f"watching {', '.join(names)} on {address}")
        await stop.wait()
