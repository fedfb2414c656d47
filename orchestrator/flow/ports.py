"""What the flow asks of the agents: the messages of the contract, wherever the agents run."""

from __future__ import annotations

from typing import Protocol

from trias.v1 import reasoner_service_pb2, retriever_service_pb2, router_service_pb2

__all__ = ["FallbackRetriever", "Reasoner", "Retriever", "Router"]


class Router(Protocol):
    """Works out what is being asked."""

    async def route(self, request: router_service_pb2.RouteRequest) -> router_service_pb2.RouteResponse:
        """Make a plan of a question."""


class Retriever(Protocol):
    """Finds the clauses that bear on a plan."""

    async def retrieve(self, request: retriever_service_pb2.RetrieveRequest) -> retriever_service_pb2.RetrieveResponse:
        """Return passages with scores, best first."""


class FallbackRetriever(Retriever, Protocol):
    """What is asked where the retriever fails: keyword search and nothing else."""


class Reasoner(Protocol):
    """Says what passages jointly say."""

    async def reason(self, request: reasoner_service_pb2.ReasonRequest) -> reasoner_service_pb2.ReasonResponse:
        """Compose and verify one tier's answer."""
