"""What `grpc.health.v1` says of each service, and of the whole (the empty name)."""

from __future__ import annotations

from collections.abc import Iterable

from grpc_health.v1 import health, health_pb2

__all__ = ["Health"]


class Health:
    """States of the services: not serving until told so, and never again once the end has begun.

    Args:
        services: full names: ``trias.v1.AnswerService``.
    """

    def __init__(self, services: Iterable[str]) -> None:
        self.servicer = health.aio.HealthServicer()  # type: ignore[attr-defined]  # its stubs lack aio
        self._services = ("", *services)

    async def starting(self) -> None:
        """Nobody should call yet."""
        await self._set(health_pb2.HealthCheckResponse.NOT_SERVING)

    async def serving(self) -> None:
        """All services answer."""
        await self._set(health_pb2.HealthCheckResponse.SERVING)

    async def ending(self) -> None:
        """Balancers look elsewhere from now on; calls in flight go on."""
        await self.servicer.enter_graceful_shutdown()

    async def _set(self, status: health_pb2.HealthCheckResponse.ServingStatus) -> None:
        for service in self._services:
            await self.servicer.set(service, status)
