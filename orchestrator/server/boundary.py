"""Where requests enter and errors leave: parsing, admission, the mapping of exceptions, cancellation."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine
from contextlib import aclosing
from typing import Any, TypeVar

import grpc
from grpc_status import rpc_status

from orchestrator.errors import TriasError
from orchestrator.server.admission import Admission
from orchestrator.server.decoding import Malformed, tolerant
from orchestrator.server.status import status_of

__all__ = ["Boundary"]

logger = logging.getLogger(__name__)

T = TypeVar("T")

OURS = "/trias.v1."


class Boundary(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]  # generic in its stubs alone
    """Stands before every method of ours; health and reflection pass untouched.

    Args:
        admission: who may come in.
        admitted: the full method names (``/trias.v1.AnswerService/Ask``) that need a place.
    """

    def __init__(self, admission: Admission, admitted: Collection[str]) -> None:
        self._admission = admission
        self._admitted = frozenset(admitted)
        self._handlers: dict[str, grpc.RpcMethodHandler[Any, Any]] = {}

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler[Any, Any]]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any]:
        """Wrap a method's handler, once."""
        method = handler_call_details.method
        known = self._handlers.get(method)
        if known is not None:
            return known
        handler = await continuation(handler_call_details)
        if handler is None or not method.startswith(OURS):
            return handler
        wrapped = self._wrapped(method, handler)
        self._handlers[method] = wrapped
        return wrapped

    def _wrapped(self, method: str, handler: Any) -> grpc.RpcMethodHandler[Any, Any]:
        # FromString is bound to the message's class.
        parse = tolerant(handler.request_deserializer.__self__)
        if handler.unary_stream is not None:

            async def stream(request: Any, context: Any) -> None:
                await self._serve(
                    method, request, context, lambda: _send(handler.unary_stream(request, context), context)
                )

            return grpc.unary_stream_rpc_method_handler(stream, parse, handler.response_serializer)

        async def unary(request: Any, context: Any) -> Any:
            return await self._serve(method, request, context, lambda: handler.unary_unary(request, context))

        return grpc.unary_unary_rpc_method_handler(unary, parse, handler.response_serializer)

    async def _serve(
        self, method: str, request: Any, context: Any, work: Callable[[], Coroutine[Any, Any, T]]
    ) -> T | None:
        try:
            _refuse_malformed(request)
            if method not in self._admitted:
                return await _apart(work())
            async with self._admission.admitted():
                return await _apart(work())
        except grpc.aio.AbortError:
            raise
        except TriasError as error:
            status = status_of(error)
        except Exception:
            incident = uuid.uuid4().hex[:12]
            logger.exception("Incident %s in %s.", incident, method)
            status = status_of(
                TriasError(
                    "Something failed inside the service.",
                    hint=f"Its log says more under incident {incident}.",
                    metadata={"incident": incident},
                )
            )
        await context.abort_with_status(rpc_status.to_status(status))
        return None


def _refuse_malformed(request: object) -> None:
    if isinstance(request, Malformed):
        raise request.error


async def _send(responses: AsyncIterator[Any], context: Any) -> None:
    async with aclosing(responses) as stream:  # type: ignore[type-var]
        async for response in stream:
            await context.write(response)


async def _apart(work: Coroutine[Any, Any, T]) -> T:
    """Await work in a task of its own: a CancelledError from within then differs from the caller's cancellation.

    grpc never answers a call whose handler raises CancelledError on its own account: its client would hang.
    """
    task = asyncio.get_running_loop().create_task(work)
    try:
        await asyncio.wait({task})
    except asyncio.CancelledError:
        task.cancel()
        task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        raise
    if task.cancelled():
        raise RuntimeError("the work was cancelled from within")
    return task.result()
