"""Typed calls to Triton's control API: is it live, what does it serve, load, unload."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import grpc
import grpc.aio
from tritonclient.grpc import service_pb2, service_pb2_grpc

from orchestrator.inference.closing import Closing
from orchestrator.inference.failures import as_trias_error

__all__ = ["ModelStatistics", "ModelVersionState", "TritonControl", "open_channel"]

# Triton comes back within a second of a crash; gRPC's own back-off would keep us away for up to two minutes.
CHANNEL_OPTIONS = (
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    # Two clients in one process with equal options would share a connection, and its failures.
    ("grpc.use_local_subchannel_pool", 1),
)


def open_channel(address: str) -> grpc.aio.Channel:
    """A channel to one Triton that reconnects quickly. It belongs to the running event loop."""
    return grpc.aio.insecure_channel(address, options=CHANNEL_OPTIONS)


@dataclass(frozen=True, slots=True)
class ModelVersionState:
    """One line of the repository index.

    Attributes:
        name: the model.
        version: its version, empty where none was ever loaded.
        state: ``READY``, ``LOADING``, ``UNLOADING``, ``UNAVAILABLE`` or empty.
        reason: why it is not ready.
    """

    name: str
    version: str
    state: str
    reason: str


@dataclass(frozen=True, slots=True)
class ModelStatistics:
    """What a loaded version of a model, or all of them, have done since they were loaded.

    Attributes:
        executions: batches that ran to their end.
        succeeded: requests answered.
        failed: requests that ended in an error; those that a full queue turned away are not counted.
    """

    executions: int
    succeeded: int
    failed: int


class TritonControl(Closing):
    """The control side of one Triton.

    Args:
        address: host:port of its gRPC endpoint.
        timeout_s: of each call but loads and unloads, which take as long as a model needs.
        load_timeout_s: of those.

    Every method raises ModelUnavailableError when Triton does not answer, ModelNotFoundError for an unknown model and
    ModelError with Triton's own words for anything else.
    """

    def __init__(self, address: str, *, timeout_s: float = 5.0, load_timeout_s: float = 120.0) -> None:
        self.address = address
        self._timeout_s = timeout_s
        self._load_timeout_s = load_timeout_s
        self._channel = open_channel(address)
        self._stub: Any = service_pb2_grpc.GRPCInferenceServiceStub(self._channel)

    async def close(self) -> None:
        """Close the connection."""
        await self._channel.close(None)

    async def server_live(self, *, timeout_s: float | None = None) -> bool:
        """Whether Triton answers at all. Raises nothing."""
        try:
            reply = await self._stub.ServerLive(service_pb2.ServerLiveRequest(), timeout=timeout_s or self._timeout_s)
        except grpc.aio.AioRpcError:
            return False
        return bool(reply.live)

    async def model_ready(self, model: str, version: str = "") -> bool:
        """Whether the model (or that version) is loaded. A crashed stub still counts: only a canary finds it."""
        request = service_pb2.ModelReadyRequest(name=model, version=version)
        reply = await self._call(self._stub.ModelReady, request, model, self._timeout_s)
        return bool(reply.ready)

    async def model_config(self, model: str, version: str = "") -> Any:
        """The configuration in force, as ``inference.ModelConfig``."""
        request = service_pb2.ModelConfigRequest(name=model, version=version)
        return (await self._call(self._stub.ModelConfig, request, model, self._timeout_s)).config

    async def model_versions(self, model: str) -> tuple[str, ...]:
        """The versions that are ready, oldest first; a call that names no version is answered by the last."""
        index = await self.repository_index(ready_only=True)
        found = [entry.version for entry in index if entry.name == model and entry.version]
        return tuple(sorted(found, key=int))

    async def statistics(self, model: str, version: str = "") -> ModelStatistics:
        """What a version of the model, or all of them, have done so far."""
        request = service_pb2.ModelStatisticsRequest(name=model, version=version)
        reply = await self._call(self._stub.ModelStatistics, request, model, self._timeout_s)
        return ModelStatistics(
            executions=sum(item.execution_count for item in reply.model_stats),
            succeeded=sum(item.inference_stats.success.count for item in reply.model_stats),
            failed=sum(item.inference_stats.fail.count for item in reply.model_stats),
        )

    async def repository_index(self, *, ready_only: bool = False) -> tuple[ModelVersionState, ...]:
        """Every model that Triton sees in its repository, with the state of each version."""
        request = service_pb2.RepositoryIndexRequest(ready=ready_only)
        reply = await self._call(self._stub.RepositoryIndex, request, "", self._timeout_s)
        return tuple(ModelVersionState(item.name, item.version, item.state, item.reason) for item in reply.models)

    async def load(self, model: str, *, config: Mapping[str, Any] | None = None) -> None:
        """Load the model's versions, or load them again where files or configuration have changed.

        Args:
            model: its name.
            config: overrides ``config.pbtxt``, as `served_config` gives it.
        """
        request = service_pb2.RepositoryModelLoadRequest(model_name=model)
        if config is not None:
            request.parameters["config"].string_param = json.dumps(config)
        await self._call(self._stub.RepositoryModelLoad, request, model, self._load_timeout_s)

    async def unload(self, model: str) -> None:
        """Unload all versions of the model; the call returns at once, requests in flight are finished."""
        request = service_pb2.RepositoryModelUnloadRequest(model_name=model)
        await self._call(self._stub.RepositoryModelUnload, request, model, self._load_timeout_s)

    async def _call(self, method: Any, request: Any, model: str, timeout_s: float) -> Any:
        try:
            return await method(request, timeout=timeout_s)
        except grpc.aio.AioRpcError as error:
            raise as_trias_error(error, model=model, address=self.address) from None
