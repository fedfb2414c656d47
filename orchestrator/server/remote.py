"""Agents in other processes, called over gRPC with the same messages, errors and deadlines as those in this one."""

from __future__ import annotations

import json
from collections.abc import Awaitable
from typing import Any, TypeVar

import grpc

from orchestrator.flow.deadlines import time_left
from orchestrator.server.status import error_from
from trias.v1 import (
    reasoner_service_pb2,
    reasoner_service_pb2_grpc,
    retriever_service_pb2,
    retriever_service_pb2_grpc,
    router_service_pb2,
    router_service_pb2_grpc,
)

__all__ = ["RemoteReasoner", "RemoteRetriever", "RemoteRouter", "channel_to"]

T = TypeVar("T")

# Of the time left, what the answer's way back may take, so that the agent gives up before its caller does.
MARGIN_SHARE = 0.05
MARGIN_S = 0.05

# A call that never reached the agent is sent again; the agents only read, so a second one does no harm.
_SERVICE_CONFIG = json.dumps(
    {
        "methodConfig": [
            {
                "name": [{"service": f"trias.v1.{agent}Service"} for agent in ("Router", "Retriever", "Reasoner")],
                "retryPolicy": {
                    "maxAttempts": 3,
                    "initialBackoff": "0.02s",
                    "maxBackoff": "0.2s",
                    "backoffMultiplier": 2,
                    "retryableStatusCodes": ["UNAVAILABLE"],
                },
            }
        ]
    }
)


def channel_to(address: str, max_message_mb: int) -> grpc.aio.Channel:
    """A channel to another process of ours; connects when first used, and again after every loss."""
    most = max_message_mb * 1024 * 1024
    return grpc.aio.insecure_channel(
        address,
        options=[
            ("grpc.max_receive_message_length", most),
            ("grpc.max_send_message_length", most),
            ("grpc.service_config", _SERVICE_CONFIG),
            # The defaults wait up to two minutes before they look again for an agent that was restarted.
            ("grpc.initial_reconnect_backoff_ms", 100),
            ("grpc.max_reconnect_backoff_ms", 2000),
        ],
    )


class RemoteRouter:
    """A router agent at another address."""

    def __init__(self, channel: grpc.aio.Channel, address: str) -> None:
        self._stub = router_service_pb2_grpc.RouterServiceStub(channel)
        self._target = f"router at {address}"

    async def route(self, request: router_service_pb2.RouteRequest) -> router_service_pb2.RouteResponse:
        """See `orchestrator.flow.Router`; raises what the agent raised."""
        return await _called(self._stub.Route(request, timeout=_timeout()), self._target)


class RemoteRetriever:
    """A retriever agent at another address."""

    def __init__(self, channel: grpc.aio.Channel, address: str) -> None:
        self._stub = retriever_service_pb2_grpc.RetrieverServiceStub(channel)
        self._target = f"retriever at {address}"

    async def retrieve(self, request: retriever_service_pb2.RetrieveRequest) -> retriever_service_pb2.RetrieveResponse:
        """See `orchestrator.flow.Retriever`; raises what the agent raised."""
        return await _called(self._stub.Retrieve(request, timeout=_timeout()), self._target)


class RemoteReasoner:
    """A reasoner agent at another address."""

    def __init__(self, channel: grpc.aio.Channel, address: str) -> None:
        self._stub = reasoner_service_pb2_grpc.ReasonerServiceStub(channel)
        self._target = f"reasoner at {address}"

    async def reason(self, request: reasoner_service_pb2.ReasonRequest) -> reasoner_service_pb2.ReasonResponse:
        """See `orchestrator.flow.Reasoner`; raises what the agent raised."""
        return await _called(self._stub.Reason(request, timeout=_timeout()), self._target)


async def _called(call: Awaitable[T], target: str) -> T:
    try:
        return await call
    except grpc.aio.AioRpcError as error:
        raise error_from(error, target) from None


def _timeout() -> float | None:
    left: Any = time_left()
    return None if left is None else max(0.0, left - min(MARGIN_S, MARGIN_SHARE * left))
