"""The Triton that the agents call: the one that runs already, or one of our own, watched and healed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import TriasError
from orchestrator.inference.control import TritonControl
from orchestrator.inference.launcher import TritonServer
from orchestrator.inference.watchdog import Watchdog
from orchestrator.settings import Settings

__all__ = ["ServedModels", "served_models"]

logger = logging.getLogger(__name__)

PROBE_TIMEOUT_S = 1.0


@dataclass(frozen=True, slots=True)
class ServedModels:
    """Where models are served.

    Attributes:
        settings: with the endpoints to use.
        address: of the Triton; several where several are configured.
        own: whether this process started it.
        models: what our own serves.
        log_file: of our own.
        fault: why no model is served at present; empty where one is.
    """

    settings: Settings
    address: str
    own: bool = False
    models: tuple[str, ...] = ()
    log_file: Path | None = None
    fault: str = ""


@asynccontextmanager
async def served_models(settings: Settings) -> AsyncIterator[ServedModels]:
    """Use the configured Triton where it answers, else start one and watch it until the end.

    Where neither is possible the service can still run, degraded: `ServedModels.fault` says why.
    """
    configured = sorted(set(settings.inference.endpoints.values()))
    silent = [address for address in configured if not await _answers(address)]
    if not silent:
        yield ServedModels(settings, ", ".join(configured))
        return
    server = TritonServer(settings.launcher, repository=settings.paths.model_repository, data=settings.paths.data)
    try:
        await server.start()
    except TriasError as error:
        logger.warning("No Triton answers on %s and none can be started: %s", ", ".join(silent), error)
        yield ServedModels(settings, ", ".join(configured), fault=str(error))
        return
    try:
        async with Watchdog(server, settings.canary):
            inference = settings.inference.model_copy(update={"endpoints": {"*": server.grpc_address}})
            yield ServedModels(
                settings.model_copy(update={"inference": inference}),
                server.grpc_address,
                own=True,
                models=server.models,
                log_file=server.log_file,
            )
    finally:
        # The stop must go through even where this task is being cancelled: the process would outlive us.
        await asyncio.shield(server.stop())


async def _answers(address: str) -> bool:
    async with TritonControl(address, timeout_s=PROBE_TIMEOUT_S) as control:
        return await control.server_live(timeout_s=PROBE_TIMEOUT_S)
