"""How `trias ingest` runs: which library, which embedder, what is shown."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from ingest.dryrun import dry_run
from ingest.pipeline import Pipeline
from ingest.report import Entry, Outcome, Report
from ingest.sources import Ignored, Source, find_sources
from orchestrator.commands.library_access import on_signal, open_embedder, open_sink
from orchestrator.errors import ModelNotFoundError
from orchestrator.inference.embedder import TritonEmbedder
from orchestrator.settings import Settings

__all__ = ["run_ingest"]

EXIT_SKIPPED = 3
EXIT_INTERRUPTED = 130
# Without a terminal, progress is a line now and then, not one a file.
PLAIN_EVERY_S = 5.0


def run_ingest(
    settings: Settings,
    paths: list[Path],
    *,
    to: str,
    base: Path | None,
    report_file: Path | None,
    dry: bool,
    again: bool,
) -> int:
    """Run `trias ingest`; see there for the arguments.

    Returns:
        The exit code.
    """
    sources = list(find_sources(paths, base))
    watcher = _Watcher(Console(stderr=True), len(sources))
    outcome = asyncio.run(_ingest(settings, sources, watcher, to=to, dry=dry, again=again, report_file=report_file))
    _print(Console(), outcome, report_file)
    if outcome.interrupted:
        return EXIT_INTERRUPTED
    return EXIT_SKIPPED if outcome.count(Outcome.SKIPPED) else 0


async def _ingest(
    settings: Settings,
    sources: list[Source | Ignored],
    watcher: _Watcher,
    *,
    to: str,
    dry: bool,
    again: bool,
    report_file: Path | None,
) -> Report:
    if dry:
        stopping = asyncio.Event()
        with watcher, on_signal(stopping.set):
            outcome = await dry_run(settings.ingest, sources, stopping=stopping, on_entry=watcher.note)
        if report_file is not None:
            outcome.write(report_file)
        return outcome
    async with open_sink(settings, to) as sink, open_embedder(settings, watcher.console) as embedder:
        watcher.say(f"into {sink.target}")
        await _follow(embedder, await sink.fingerprint())
        pipeline = Pipeline(settings.ingest, sink, embedder, again=again, on_entry=watcher.note)
        try:
            with watcher, on_signal(pipeline.stop):
                return await pipeline.run(sources)
        finally:
            if report_file is not None:
                pipeline.report.write(report_file)


async def _follow(embedder: TritonEmbedder, filled_by: str) -> None:
    """Embed with the version that filled the library, where it is served, whichever is live."""
    embedder.follow(filled_by or None)
    try:
        await embedder.fingerprint()
    except ModelNotFoundError:
        embedder.follow(None)  # the pipeline tells what is served instead


class _Watcher:
    """Shows how far the run is: a bar on a terminal, lines elsewhere; skipped files always get a line."""

    def __init__(self, console: Console, total: int) -> None:
        self.console = console
        self._total = total
        self._done = 0
        self._clauses = 0
        self._last_line = time.monotonic()
        self._progress = Progress(
            TextColumn("[progress.description]{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task("ingest", total=total)

    def __enter__(self) -> None:
        self._progress.start()

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def say(self, text: str) -> None:
        """A line above the bar."""
        self._progress.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def note(self, entry: Entry) -> None:
        """One file is done."""
        self._done += 1
        self._clauses += entry.clauses
        self._progress.update(self._task, advance=1, description=f"{self._clauses} clauses")
        if entry.outcome is Outcome.SKIPPED:
            self.say(f"skipped {entry.source}: {entry.kind}: {entry.message} {entry.hint}".rstrip())
        now = time.monotonic()
        if not self.console.is_terminal and (now - self._last_line > PLAIN_EVERY_S or self._done == self._total):
            self._last_line = now
            self.say(f"{self._done}/{self._total} files, {self._clauses} clauses")


def _print(console: Console, report: Report, file: Path | None) -> None:
    console.print(f"[bold]ingest[/bold]: {report.target}", highlight=False, soft_wrap=True)
    table = Table(show_header=False)
    table.add_column(style="bold")
    table.add_column(justify="right")
    for outcome in Outcome:
        count = report.count(outcome)
        if count or outcome in (Outcome.INGESTED, Outcome.SKIPPED):
            table.add_row(outcome.value, str(count))
    for (outcome, kind), count in sorted(report.reasons().items(), key=str):
        table.add_row(f"  {outcome.value}: {kind}", str(count))
    if report.missing:
        table.add_row("not reached", str(report.missing))
    table.add_row("clauses", str(report.clauses))
    table.add_row("seconds", f"{report.seconds:.1f}")
    table.add_row("documents a second", f"{report.documents_per_second:.1f}")
    console.print(table)
    if report.count(Outcome.SKIPPED) and file is None:
        console.print("--report FILE writes why each file was skipped", highlight=False)
    if file is not None:
        console.print(f"report: {file}", highlight=False, markup=False, soft_wrap=True)
    if report.interrupted:
        console.print("interrupted: the same command goes on where it stopped", highlight=False)
