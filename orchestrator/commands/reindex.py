"""`trias ingest reindex`: another embedder's vectors for everything in the library, then the switch."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer
from rich.console import Console

from orchestrator.commands.bars import counting_bars
from orchestrator.commands.extras import PARSERS, extra_needed
from orchestrator.settings import Settings

__all__ = ["reindex"]

EXIT_INTERRUPTED = 130


def reindex(
    context: typer.Context,
    to: Annotated[
        str, typer.Option("--to", metavar="HOST:PORT", help="Only through the Trias server at this address")
    ] = "",
    version: Annotated[
        int | None,
        typer.Option(min=1, help="The embedder's version to build for; default: the candidate, else the live one"),
    ] = None,
) -> None:
    """Build the vectors of another embedder beside the old ones, then let both switch in one step.

    `trias publish embedder …` makes a new embedder a candidate; this command embeds every clause of the library with
    it. Questions are answered with the old vectors all the while. When no document is lacking, the library and the
    embedder switch together, and the candidate is live. What is done stays done: an interrupted run is simply started
    again. `trias rollback embedder` goes back, both at once.

    Exit codes: 0 the new vectors answer; 130 interrupted by Ctrl-C, the old ones answer still; 1 it could not be done.
    """
    # The parsers are an extra; without them every other command works.
    with extra_needed(PARSERS):
        from orchestrator.commands.reindexing import Reindexing  # noqa: PLC0415
    settings: Settings = context.obj
    console = Console(stderr=True)
    with counting_bars(console) as bar:
        done = asyncio.run(Reindexing(settings, console, bar).run(to=to, version=version))
    if not done:
        console.print("interrupted: the old vectors answer; the same command goes on where it stopped")
        raise typer.Exit(EXIT_INTERRUPTED)
