"""`trias deploy …`: what runs where, from one partition file."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

__all__ = ["app"]

app = typer.Typer(help="Render what starts one Triton per GPU slice, and watch them.", no_args_is_help=True)

PartitionName = Annotated[str, typer.Argument(help="A partition that Trias comes with, or a .yaml file")]


@app.command("list")
def list_() -> None:
    """Show the partitions that Trias comes with."""
    from orchestrator.commands.deploying import partitions_table  # noqa: PLC0415 (other commands start without it)

    Console().print(partitions_table())


@app.command()
def render(partition: PartitionName, out: Annotated[Path, typer.Option("--out", help="Folder to write into")]) -> None:
    """Write compose file, Helm values, settings with the endpoint map, model configurations and memory budget."""
    from orchestrator.commands.deploying import render_partition  # noqa: PLC0415 (other commands start without it)

    for path in render_partition(partition, out):
        typer.echo(str(path))


@app.command()
def budget(partition: PartitionName) -> None:
    """Show what memory each slice's models take, and how that was reckoned; exit code 1 where one does not fit."""
    from orchestrator.commands.deploying import show_budgets  # noqa: PLC0415 (other commands start without it)

    raise typer.Exit(0 if show_budgets(partition, Console()) else 1)


@app.command()
def watch(context: typer.Context) -> None:
    """Load the models of inference.endpoints into the Tritons there, and heal what fails, until stopped."""
    from orchestrator.commands.deploying import watch_endpoints  # noqa: PLC0415 (other commands start without it)

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    asyncio.run(watch_endpoints(context.obj))


@app.command()
def engine(
    spec: Annotated[str, typer.Argument(help="A spec of a language model: gpu/gemma-3")],
    checkpoint: Annotated[Path, typer.Argument(help="Its merged checkpoint: the `checkpoint` folder of a version")],
    work: Annotated[str, typer.Option(help="Folder in NVIDIA's image for what is built")] = "/engines",
) -> None:
    """Print the commands that build a TensorRT engine, for TensorRT-LLM up to 1.2.1; they run in NVIDIA's image."""
    from orchestrator.commands.deploying import engine_script  # noqa: PLC0415 (other commands start without it)

    typer.echo(engine_script(spec, checkpoint, work), nl=False)
