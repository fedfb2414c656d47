"""How `trias ingest` runs: which library, which embedder, what is shown."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import grpc
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from ingest.dryrun import dry_run
from ingest.pipeline import Pipeline
from ingest.report import Entry, Outcome, Report
from ingest.sinks import DocumentSink, GrpcSink, LibrarySink
from ingest.sources import Ignored, Source, find_sources
from orchestrator.errors import ConfigurationError, LibraryLockedError, ModelUnavailableError
from orchestrator.inference.embedder import TritonEmbedder, endpoint_of
from orchestrator.inference.launcher import TritonServer
from orchestrator.inference.models import Embedder
from orchestrator.knowledge.opening import open_library
from orchestrator.settings import Settings
from trias.v1 import knowledge_service_pb2, knowledge_service_pb2_grpc

__all__ = ["run_ingest"]

EXIT_SKIPPED = 3
EXIT_INTERRUPTED = 130
# Refusals come at once; a busy server that is there gets this long.
PROBE_TIMEOUT_S = 10.0
EMBEDDER = "embedder"
# A model that was restarted is back within seconds; the time for a batch (ingest.embed_timeout_s) ends the tries.
EMBED_ATTEMPTS = 1000
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
        with watcher, _on_signal(stopping.set):
            outcome = await dry_run(settings.ingest, sources, stopping=stopping, on_entry=watcher.note)
        if report_file is not None:
            outcome.write(report_file)
        return outcome
    async with _open_sink(settings, to) as sink, _open_embedder(settings, watcher.console) as embedder:
        watcher.say(f"into {sink.target}")
        pipeline = Pipeline(settings.ingest, sink, embedder, again=again, on_entry=watcher.note)
        try:
            with watcher, _on_signal(pipeline.stop):
                return await pipeline.run(sources)
        finally:
            if report_file is not None:
                pipeline.report.write(report_file)


@asynccontextmanager
async def _open_sink(settings: Settings, to: str) -> AsyncIterator[DocumentSink]:
    """The server that runs, else the library itself."""
    address = to or f"{settings.server.host}:{settings.server.port}"
    async with AsyncExitStack() as stack:
        most = settings.server.max_message_mb * 1024 * 1024
        options = [("grpc.max_receive_message_length", most), ("grpc.max_send_message_length", most)]
        channel = await stack.enter_async_context(grpc.aio.insecure_channel(address, options=options))
        if await _is_trias(channel, address, required=bool(to)):
            # The server's package loads every agent: only where a server is spoken to.
            from orchestrator.server.status import error_from  # noqa: PLC0415

            yield GrpcSink(
                channel,
                address,
                max_message_mb=settings.server.max_message_mb,
                timeout_s=settings.ingest.embed_timeout_s,
                wait_s=settings.ingest.server_wait_s,
                error_from=error_from,
            )
            return
        try:
            library = await open_library(settings)
        except LibraryLockedError as error:
            raise LibraryLockedError(
                error.message, hint="If that is a Trias server at another address, name it: --to HOST:PORT."
            ) from None
        stack.push_async_callback(library.close)
        yield LibrarySink(library, f"the library {settings.paths.data / settings.knowledge.name}")


async def _is_trias(channel: grpc.aio.Channel, address: str, *, required: bool) -> bool:
    """Whether a Trias server with a library answers at an address.

    Raises:
        ConfigurationError: something else answers there, or nothing where a server is required.
    """
    stub = knowledge_service_pb2_grpc.KnowledgeServiceStub(channel)
    try:
        await stub.CheckDocuments(knowledge_service_pb2.CheckDocumentsRequest(), timeout=PROBE_TIMEOUT_S)
    except grpc.aio.AioRpcError as error:
        code = error.code()
        if code is grpc.StatusCode.UNAVAILABLE and not required:
            return False
        if code is grpc.StatusCode.UNIMPLEMENTED:
            raise ConfigurationError(
                f"What answers at {address} has no library.", hint="Check --to, or server.host and server.port."
            ) from None
        raise ConfigurationError(
            f"The Trias server at {address} does not answer: {error.details()}.",
            hint="Start it with `trias serve`, or check --to.",
        ) from None
    return True


@asynccontextmanager
async def _open_embedder(settings: Settings, console: Console) -> AsyncIterator[Embedder]:
    """The embedder of the Triton that runs, else of one that is started for the time of the run."""
    patient = settings.inference.model_copy(
        update={"attempts": EMBED_ATTEMPTS, "deadline_s": settings.ingest.embed_timeout_s}
    )
    async with AsyncExitStack() as stack:
        address = endpoint_of(settings.inference, EMBEDDER)
        if not await _serves_embedder(settings):
            console.print(f"no Triton at {address}: starting one", highlight=False)
            free = settings.launcher.model_copy(update={"grpc_port": 0, "http_port": 0, "metrics_port": 0})
            server = await stack.enter_async_context(
                TritonServer(
                    free, repository=settings.paths.model_repository, data=settings.paths.data, models=[EMBEDDER]
                )
            )
            patient = patient.model_copy(update={"endpoints": {EMBEDDER: server.grpc_address}})
        yield await stack.enter_async_context(TritonEmbedder(patient, settings.paths.model_repository))


async def _serves_embedder(settings: Settings) -> bool:
    """Whether a Triton answers at the configured endpoint; one without the model is an error that says so."""
    impatient = settings.inference.model_copy(update={"deadline_s": PROBE_TIMEOUT_S, "attempts": 1})
    async with TritonEmbedder(impatient, settings.paths.model_repository) as probe:
        try:
            await probe.fingerprint()
        except ModelUnavailableError:
            return False
    return True


class _on_signal:  # noqa: N801 (reads as a with statement)
    """Calls something on the first Ctrl-C or SIGTERM, and lets the second one end the process."""

    def __init__(self, call: Callable[[], None]) -> None:
        self._call = call
        self._signals = (signal.SIGINT, signal.SIGTERM)

    def __enter__(self) -> None:
        for number in self._signals:
            asyncio.get_running_loop().add_signal_handler(number, self._stop)

    def __exit__(self, *_: object) -> None:
        self._restore()

    def _stop(self) -> None:
        self._restore()
        self._call()

    def _restore(self) -> None:
        for number in self._signals:
            asyncio.get_running_loop().remove_signal_handler(number)


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
