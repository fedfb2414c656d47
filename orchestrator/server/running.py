"""A server that listens: from bind to the last call in flight."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import grpc
from grpc_health.v1 import health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from orchestrator.errors import ConfigurationError, TriasError
from orchestrator.server.admission import Admission
from orchestrator.server.boundary import Boundary
from orchestrator.server.composition import Service, build_service
from orchestrator.server.health import Health
from orchestrator.server.servicers.agents import ReasonerServicer, RetrieverServicer, RouterServicer
from orchestrator.server.servicers.answers import AnswerServicer
from orchestrator.server.servicers.knowledge import KnowledgeServicer
from orchestrator.settings import Settings
from trias.v1 import (
    answer_service_pb2,
    answer_service_pb2_grpc,
    knowledge_service_pb2,
    knowledge_service_pb2_grpc,
    reasoner_service_pb2,
    reasoner_service_pb2_grpc,
    retriever_service_pb2,
    retriever_service_pb2_grpc,
    router_service_pb2,
    router_service_pb2_grpc,
)

__all__ = ["RunningServer", "running_server", "serving"]

logger = logging.getLogger(__name__)

# What costs model or search time needs a place; looking up an old answer does not.
ADMITTED = (
    "/trias.v1.AnswerService/Ask",
    "/trias.v1.AnswerService/AskOnce",
    "/trias.v1.RouterService/Route",
    "/trias.v1.RetrieverService/Retrieve",
    "/trias.v1.ReasonerService/Reason",
)
# The first questions may wait for a model that is still loading; later than this they are answered without it.
WARM_UP_S = 30.0
WARM_UP_RETRY_S = 5.0


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server that accepts calls.

    Attributes:
        address: host:port, with the port that was bound.
        services: full names of what it serves, health and reflection aside.
    """

    address: str
    services: tuple[str, ...]
    service: Service
    admission: Admission
    health: Health


@asynccontextmanager
async def running_server(settings: Settings) -> AsyncIterator[RunningServer]:
    """Build the service and serve it until the body ends; then calls in flight get ``server.grace_s``.

    Raises:
        ConfigurationError: the port is taken, or what `build_service` raises.
    """
    async with build_service(settings) as service, serving(service) as server:
        yield server


@asynccontextmanager
async def serving(service: Service) -> AsyncIterator[RunningServer]:
    """Serve a service that is built already."""
    settings = service.settings
    admission = Admission(settings.admission)
    most = settings.server.max_message_mb * 1024 * 1024
    server = grpc.aio.server(
        interceptors=[Boundary(admission, ADMITTED)],
        options=[
            ("grpc.max_receive_message_length", most),
            ("grpc.max_send_message_length", most),
            # Without this a second server on the same port is not refused: the kernel shares the calls out.
            ("grpc.so_reuseport", 0),
        ],
    )
    services = _add_services(server, service)
    health = Health(services)
    health_pb2_grpc.add_HealthServicer_to_server(health.servicer, server)
    reflection.enable_server_reflection([*services, "grpc.health.v1.Health", reflection.SERVICE_NAME], server)
    address = _bind(server, settings)
    await health.starting()
    await server.start()
    tried = asyncio.Event()
    warming = asyncio.get_running_loop().create_task(_warm_up(service, tried))
    try:
        # Warm, failed or late: then it goes on in the background, and questions are answered without what it waits for.
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(tried.wait(), WARM_UP_S)
        await health.serving()
        yield RunningServer(address, services, service, admission, health)
    finally:
        warming.cancel()
        await health.ending()
        await server.stop(settings.server.grace_s)


def _add_services(server: grpc.aio.Server, service: Service) -> tuple[str, ...]:
    chars, most_s = service.settings.router.max_question_chars, service.settings.budget.total_s
    answers = AnswerServicer(service.flow, service.answers, max_question_chars=chars)
    answer_service_pb2_grpc.add_AnswerServiceServicer_to_server(answers, server)
    names = [answer_service_pb2.DESCRIPTOR.services_by_name["AnswerService"].full_name]
    if service.router is not None:
        router = RouterServicer(service.router, max_question_chars=chars, most_s=most_s)
        router_service_pb2_grpc.add_RouterServiceServicer_to_server(router, server)
        names.append(router_service_pb2.DESCRIPTOR.services_by_name["RouterService"].full_name)
    if service.retriever is not None:
        retriever = RetrieverServicer(service.retriever, max_question_chars=chars, most_s=most_s)
        retriever_service_pb2_grpc.add_RetrieverServiceServicer_to_server(retriever, server)
        names.append(retriever_service_pb2.DESCRIPTOR.services_by_name["RetrieverService"].full_name)
    if service.reasoner is not None:
        reasoner = ReasonerServicer(service.reasoner, max_question_chars=chars, most_s=most_s)
        reasoner_service_pb2_grpc.add_ReasonerServiceServicer_to_server(reasoner, server)
        names.append(reasoner_service_pb2.DESCRIPTOR.services_by_name["ReasonerService"].full_name)
    if service.library is not None:
        knowledge_service_pb2_grpc.add_KnowledgeServiceServicer_to_server(KnowledgeServicer(service.library), server)
        names.append(knowledge_service_pb2.DESCRIPTOR.services_by_name["KnowledgeService"].full_name)
    return tuple(names)


def _bind(server: grpc.aio.Server, settings: Settings) -> str:
    host = settings.server.host
    shown = f"[{host}]" if ":" in host else host
    wanted = f"{shown}:{settings.server.port}"
    try:
        port = server.add_insecure_port(wanted)
    except RuntimeError:
        port = 0
    if port == 0:
        raise ConfigurationError(
            f"server.port: {wanted} cannot be bound.",
            hint="Another process listens there, or the host is not this machine's; choose another: --port.",
        )
    return f"{shown}:{port}"


async def _warm_up(service: Service, tried: asyncio.Event) -> None:
    """Try until it succeeds; ``tried`` is set after the first time, whatever came of it."""
    while True:
        try:
            await service.warm_up()
        except TriasError as error:
            logger.warning("Not warm yet, trying again in %g s: %s", WARM_UP_RETRY_S, error)
            tried.set()
            await asyncio.sleep(WARM_UP_RETRY_S)
        except Exception:
            logger.exception("The warm-up failed; questions are answered all the same.")
            tried.set()
            return
        else:
            tried.set()
            return
