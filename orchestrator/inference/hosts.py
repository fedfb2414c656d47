"""What a watchdog needs of a Triton, and the one whose process is somebody else's."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Protocol

from orchestrator.errors import ModelUnavailableError
from orchestrator.inference.control import TritonControl
from orchestrator.inference.repository import renewed_config, served_config

__all__ = ["RemoteTriton", "TritonHost"]


class TritonHost(Protocol):
    """A Triton that can be watched: `TritonServer`, or `RemoteTriton`."""

    @property
    def models(self) -> tuple[str, ...]:
        """What it is to serve."""

    @property
    def grpc_address(self) -> str:
        """host:port of its gRPC endpoint."""

    @property
    def control(self) -> TritonControl:
        """Its control API."""

    async def load(self, model: str) -> None:
        """Load a model with the configuration that it shall have."""

    async def renew(self, model: str) -> None:
        """Replace all instances of a model, also where Triton takes them for ready."""

    async def restart(self) -> None:
        """Start the server anew; ModelUnavailableError where that is not ours to do."""

    async def exited(self) -> int:
        """Wait until the server's process ends."""

    async def crashed_models(self) -> frozenset[str]:
        """Models whose process is known to have died since the last call; empty where that cannot be seen."""


class RemoteTriton:
    """A Triton that somebody else starts: its models are loaded and reloaded, its process is left alone.

    Args:
        address: host:port of its gRPC endpoint.
        repository: the model repository that it serves, or a copy.
        models: what it is to serve.
    """

    def __init__(self, address: str, *, repository: Path, models: tuple[str, ...]) -> None:
        self.grpc_address = address
        self.models = models
        self.control = TritonControl(address)
        self._repository = repository

    async def load(self, model: str) -> None:
        """Load a model with the fingerprints of its versions as parameters."""
        await self.control.load(model, config=served_config(self._repository, model))

    async def renew(self, model: str) -> None:
        """Replace all instances of a model that Triton takes for ready; see `renewed_config`."""
        await self.control.load(model, config=renewed_config(self._repository, model))

    async def restart(self) -> None:
        """Refused: the process is not ours."""
        raise ModelUnavailableError(f"Triton on {self.grpc_address} does not answer.", hint="Start it again there.")

    async def exited(self) -> int:
        """Never returns: the process is not ours to see."""
        await asyncio.Event().wait()
        return 0

    async def crashed_models(self) -> frozenset[str]:
        """None are seen from here: the canaries must find them."""
        return frozenset()

    async def close(self) -> None:
        """Close the connection."""
        await self.control.close()
