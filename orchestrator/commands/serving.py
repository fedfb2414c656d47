"""What `trias serve` does: logs, signals, models, the server, and what is printed meanwhile."""

from __future__ import annotations

import asyncio
import logging
import logging.handlers
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import uvloop
from rich.console import Console

from orchestrator.commands.interpreter import one_blas_thread, settle_heap
from orchestrator.errors import ConfigurationError
from orchestrator.server.models import ServedModels, served_models
from orchestrator.server.running import RunningServer, running_server
from orchestrator.settings import Settings

__all__ = ["run"]

logger = logging.getLogger(__name__)

LOG_FILE = Path("logs") / "serve.log"
LOG_BYTES = 20_000_000
LOG_FILES = 5


def run(settings: Settings, *, own_triton: bool) -> None:
    """Serve until told to stop.

    Args:
        settings: flags included.
        own_triton: whether a tritonserver may be started where none answers.

    Raises:
        TriasError: it cannot start; says why.
    """
    log_file = _log_to(settings.paths.data / LOG_FILE)
    one_blas_thread()
    uvloop.run(_serve(settings, log_file, own_triton=own_triton))


def _log_to(path: Path) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = logging.handlers.RotatingFileHandler(path, maxBytes=LOG_BYTES, backupCount=LOG_FILES, encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(
            f"paths.data: {path} cannot be written: {error.strerror}.", hint="Choose a folder that can be written."
        ) from None
    file.setLevel(logging.INFO)
    terminal = logging.StreamHandler()
    terminal.setLevel(logging.WARNING)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s", handlers=[file, terminal]
    )
    return path


async def _serve(settings: Settings, log_file: Path, *, own_triton: bool) -> None:
    console = Console(highlight=False, soft_wrap=True)
    stop = asyncio.Event()
    task = asyncio.current_task()
    assert task is not None
    ready = False

    def on_signal() -> None:
        # While nothing is served there is nothing to finish; and a second signal means now.
        if stop.is_set() or not ready:
            task.cancel()
        stop.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, on_signal)
    try:
        async with _models(settings, own_triton=own_triton) as models, running_server(models.settings) as server:
            settle_heap()
            ready = True
            _announce(console, server, models, log_file)
            await stop.wait()
            console.print(f"stopping; calls in flight get {settings.server.grace_s:g} s …")
            logger.info("stopping")
    except asyncio.CancelledError:
        if not stop.is_set():
            raise
    console.print("stopped")


@asynccontextmanager
async def _models(settings: Settings, *, own_triton: bool) -> AsyncIterator[ServedModels]:
    if own_triton:
        async with served_models(settings) as models:
            yield models
    else:
        yield ServedModels(settings, ", ".join(sorted(set(settings.inference.endpoints.values()))))


def _announce(console: Console, server: RunningServer, models: ServedModels, log_file: Path) -> None:
    remote = {name: address for name, address in models.settings.agents.model_dump().items() if address}
    lines = {
        "address": server.address,
        "services": ", ".join(server.services),
        "agents": ", ".join(f"{name} at {address}" for name, address in remote.items()) or "all in this process",
        "Triton": f"{models.address} ({'started here' if models.own else 'not ours'})",
        "models": ", ".join(models.models),
        "data": str(models.settings.paths.data),
        "logs": ", ".join(str(path) for path in (log_file, models.log_file) if path),
        "process": str(os.getpid()),
    }
    console.print("[bold]Trias serves.[/bold] Stop with Ctrl-C.")
    for name, value in lines.items():
        if value:
            console.print(f"  {name:<9}{value}", markup=False)
    if models.fault:
        console.print(f"[yellow]No model is served: answers rest on keywords alone.[/yellow] {models.fault}")
    logger.info("serving on %s, process %d, Triton %s", server.address, os.getpid(), models.address)
