"""`trias deploy …`: what runs where, from one partition file."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from collections import defaultdict
from pathlib import Path, PurePosixPath
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from deploy.budget import Budget, reckon
from deploy.partition import known_partitions, load_partition
from deploy.render import render as render_files
from export.engine import engine_commands
from export.spec import GenerativeSpec, load_spec
from orchestrator.errors import ConfigurationError
from orchestrator.inference.hosts import RemoteTriton
from orchestrator.inference.watchdog import Watchdog
from orchestrator.settings import Settings

__all__ = ["app"]

app = typer.Typer(help="Render what starts one Triton per GPU slice, and watch them.", no_args_is_help=True)

EVERY_OTHER = "*"
PartitionName = Annotated[str, typer.Argument(help="A partition that Trias comes with, or a .yaml file")]


@app.command("list")
def list_() -> None:
    """Show the partitions that Trias comes with."""
    table = Table("partition", "what it is", "slices")
    for name in known_partitions():
        partition = load_partition(name)
        table.add_row(name, partition.description, ", ".join(part.name for part in partition.slices))
    Console().print(table)


@app.command()
def render(partition: PartitionName, out: Annotated[Path, typer.Option("--out", help="Folder to write into")]) -> None:
    """Write compose file, Helm values, settings with the endpoint map, model configurations and memory budget."""
    found = load_partition(partition)
    for path in render_files(found, out):
        typer.echo(str(path))


@app.command()
def budget(partition: PartitionName) -> None:
    """Show what memory each slice's models take, and how that was reckoned; exit code 1 where one does not fit."""
    console = Console()
    budgets = reckon(load_partition(partition))
    if not budgets:
        console.print("No slice is on a GPU.")
    for item in budgets:
        console.print(_budget_table(item))
        for problem in item.problems:
            console.print(f"[red]does not fit:[/red] {problem}", highlight=False)
    raise typer.Exit(1 if any(item.problems for item in budgets) else 0)


@app.command()
def watch(context: typer.Context) -> None:
    """Load the models of inference.endpoints into the Tritons there, and heal what fails, until stopped."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    asyncio.run(_watch(context.obj))


@app.command()
def engine(
    spec: Annotated[str, typer.Argument(help="A spec of a language model: gpu/gemma-3")],
    checkpoint: Annotated[Path, typer.Argument(help="Its merged checkpoint: the `checkpoint` folder of a version")],
    work: Annotated[str, typer.Option(help="Folder in NVIDIA's image for what is built")] = "/engines",
) -> None:
    """Print the commands that build a TensorRT engine, for TensorRT-LLM up to 1.2.1; they run in NVIDIA's image."""
    found = load_spec(spec)
    if not isinstance(found, GenerativeSpec):
        raise ConfigurationError(f"{spec} is no language model, so it has no engine.")
    typer.echo(engine_commands(found, checkpoint, PurePosixPath(work)).as_script(), nl=False)


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


async def _watch(settings: Settings) -> None:
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
