"""The three agents as services of their own: check, call, answer within the caller's deadline."""

from __future__ import annotations

from typing import Any

from orchestrator.flow import Reasoner, Retriever, Router
from orchestrator.flow.deadlines import within
from orchestrator.server.deadline import seconds_for
from orchestrator.server.validation import check_reason, check_retrieve, check_route
from trias.v1 import (
    reasoner_service_pb2,
    reasoner_service_pb2_grpc,
    retriever_service_pb2,
    retriever_service_pb2_grpc,
    router_service_pb2,
    router_service_pb2_grpc,
)

__all__ = ["ReasonerServicer", "RetrieverServicer", "RouterServicer"]


class RouterServicer(router_service_pb2_grpc.RouterServiceServicer):
    """`RouterService` over a router agent."""

    def __init__(self, router: Router, *, max_question_chars: int, most_s: float) -> None:
        self._router = router
        self._max_question_chars = max_question_chars
        self._most_s = most_s

    async def Route(  # noqa: N802 (the names are the contract's)
        self, request: router_service_pb2.RouteRequest, context: Any
    ) -> router_service_pb2.RouteResponse:
        """Make a plan of a question."""
        check_route(request, self._max_question_chars)
        return await within(self._router.route(request), seconds_for(context, self._most_s), "routing")


class RetrieverServicer(retriever_service_pb2_grpc.RetrieverServiceServicer):
    """`RetrieverService` over a retriever agent."""

    def __init__(self, retriever: Retriever, *, max_question_chars: int, most_s: float) -> None:
        self._retriever = retriever
        self._max_question_chars = max_question_chars
        self._most_s = most_s

    async def Retrieve(  # noqa: N802
        self, request: retriever_service_pb2.RetrieveRequest, context: Any
    ) -> retriever_service_pb2.RetrieveResponse:
        """Find passages for a plan."""
        check_retrieve(request, self._max_question_chars)
        return await within(self._retriever.retrieve(request), seconds_for(context, self._most_s), "retrieval")


class ReasonerServicer(reasoner_service_pb2_grpc.ReasonerServiceServicer):
    """`ReasonerService` over a reasoner agent."""

    def __init__(self, reasoner: Reasoner, *, max_question_chars: int, most_s: float) -> None:
        self._reasoner = reasoner
        self._max_question_chars = max_question_chars
        self._most_s = most_s

    async def Reason(  # noqa: N802
        self, request: reasoner_service_pb2.ReasonRequest, context: Any
    ) -> reasoner_service_pb2.ReasonResponse:
        """Make one tier's answer of passages."""
        check_reason(request, self._max_question_chars)
        return await within(self._reasoner.reason(request), seconds_for(context, self._most_s), "reasoning")
