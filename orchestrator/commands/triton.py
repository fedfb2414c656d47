"""`trias triton …`: the model server."""

from __future__ import annotations

import asyncio
import logging
import signal
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from orchestrator.errors import ModelUnavailableError, TriasError
from orchestrator.inference.canary import send_canary
from orchestrator.inference.control import TritonControl
from orchestrator.inference.embedder import endpoint_of
from orchestrator.inference.launcher import TritonServer
from orchestrator.inference.repository import LIVE_PARAMETER, fingerprint_parameter, parameter_of, served_config
from orchestrator.inference.triton import TritonClient
from orchestrator.inference.watchdog import Watchdog
from orchestrator.settings import Settings

__all__ = ["app"]

app = typer.Typer(
    help="Start NVIDIA's tritonserver on this machine, or look at the one that runs.", no_args_is_help=True
)

PROBE_TIMEOUT_S = 5.0


@app.command()
def start(
    context: typer.Context,
    model: Annotated[list[str] | None, typer.Option(help="Serve only this model (repeatable)")] = None,
) -> None:
    """Start tritonserver, watch it and its models, and stop it in order on Ctrl-C or SIGTERM."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    asyncio.run(_serve(context.obj, model))


@app.command()
def status(context: typer.Context) -> None:
    """Show what each endpoint of inference.endpoints serves; exit code 1 where something does not answer."""
    healthy = asyncio.run(_status(context.obj, Console()))
    raise typer.Exit(0 if healthy else 1)


@app.command()
def load(context: typer.Context, model: Annotated[str, typer.Argument(help="The model's name")]) -> None:
    """Load a model, or its new versions, into the Triton that runs, with the fingerprints of its manifests."""
    settings: Settings = context.obj
    versions = asyncio.run(_load(settings, model))
    typer.echo(f"{model}: version {', '.join(versions)} on {endpoint_of(settings.inference, model)}")


async def _serve(settings: Settings, models: list[str] | None) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    server = TritonServer(
        settings.launcher, repository=settings.paths.model_repository, data=settings.paths.data, models=models
    )
    starting = asyncio.ensure_future(server.start())
    stopping = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if not starting.done():
            starting.cancel()
            await asyncio.wait({starting})
            return
        starting.result()
        typer.echo(f"gRPC     {server.grpc_address}")
        typer.echo(f"HTTP     {server.http_address}")
        typer.echo(f"metrics  {server.metrics_address}")
        typer.echo(f"log      {server.log_file}")
        typer.echo(f"models   {', '.join(server.models)}")
        typer.echo("Stop with Ctrl-C.")
        async with Watchdog(server, settings.canary):
            await stop.wait()
        typer.echo("stopping tritonserver …")
    finally:
        stopping.cancel()
        await server.stop()


async def _status(settings: Settings, console: Console) -> bool:
    healthy = True
    for address in dict.fromkeys(settings.inference.endpoints.values()):
        async with TritonControl(address, timeout_s=PROBE_TIMEOUT_S) as control:
            if not await control.server_live():
                console.print(f"[red]{address}[/red] does not answer. Start it: `trias triton start`.")
                healthy = False
                continue
            table, well = await _models_of(control)
            console.print(table)
            healthy = healthy and well
    return healthy


async def _models_of(control: TritonControl) -> tuple[Table, bool]:
    table = Table("model", "version", "state", "live", "fingerprint", "canary", title=f"Triton on {control.address}")
    healthy = True
    client = TritonClient(control.address)
    try:
        for entry in await control.repository_index():
            fingerprint, canary, live = "", entry.reason, ""
            if entry.state == "READY":
                try:
                    config = await control.model_config(entry.name, entry.version)
                    fingerprint = parameter_of(config, fingerprint_parameter(entry.version)) or "none"
                    live = "live" if parameter_of(config, LIVE_PARAMETER) == entry.version else ""
                    elapsed = await send_canary(
                        control, client, entry.name, timeout_s=PROBE_TIMEOUT_S, version=entry.version
                    )
                    canary = f"{elapsed:.1f} ms"
                except TriasError as error:
                    healthy, canary = False, str(error)
            table.add_row(entry.name, entry.version, entry.state or "not loaded", live, fingerprint, canary)
    finally:
        await client.close()
    return table, healthy


async def _load(settings: Settings, model: str) -> tuple[str, ...]:
    repository: Path = settings.paths.model_repository
    async with TritonControl(endpoint_of(settings.inference, model)) as control:
        await control.load(model, config=served_config(repository, model))
        versions = await control.model_versions(model)
    if not versions:
        raise ModelUnavailableError(f"Model '{model}' is loaded, but no version of it is ready.")
    return versions
