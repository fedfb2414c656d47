"""What ingest and reindex work with: the library, wherever it is; the embedder; a clean stop on Ctrl-C."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import grpc
from rich.console import Console

from ingest.sinks import DocumentSink, GrpcSink, LibrarySink
from orchestrator.errors import ConfigurationError, LibraryLockedError, ModelUnavailableError
from orchestrator.inference.embedder import TritonEmbedder, endpoint_of
from orchestrator.inference.launcher import TritonServer
from orchestrator.knowledge.opening import open_library
from orchestrator.settings import Settings
from trias.v1 import knowledge_service_pb2, knowledge_service_pb2_grpc

__all__ = ["on_signal", "open_embedder", "open_sink"]

# Refusals come at once; a busy server that is there gets this long.
PROBE_TIMEOUT_S = 10.0
EMBEDDER = "embedder"
# A model that was restarted is back within seconds; the time for a batch (ingest.embed_timeout_s) ends the tries.
EMBED_ATTEMPTS = 1000


@asynccontextmanager
async def open_sink(settings: Settings, to: str) -> AsyncIterator[DocumentSink]:
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
async def open_embedder(settings: Settings, console: Console) -> AsyncIterator[TritonEmbedder]:
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


class on_signal:  # noqa: N801 (reads as a with statement)
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
