"""Titles of a library that another process owns: a router here can so resolve the documents that questions name."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Any

import grpc

from orchestrator.errors import TriasError
from orchestrator.knowledge import messages
from orchestrator.knowledge.clause import Document
from orchestrator.knowledge.graph.titles import TitleCatalogue
from orchestrator.server.status import error_from
from trias.v1 import knowledge_service_pb2, knowledge_service_pb2_grpc

__all__ = ["RemoteTitles"]

logger = logging.getLogger(__name__)

# A new document can be named by a question this much later than it can be found; a page of titles is cheap to fetch.
REFRESH_S = 5.0
PAGE_SIZE = 1000
PAGE_TIMEOUT_S = 5.0


class RemoteTitles:
    """The catalogue of `KnowledgeService` at another address, kept in memory and read anew from time to time.

    Args:
        channel: to the process that owns the library.
        address: of that process, for the log.
    """

    def __init__(self, channel: grpc.aio.Channel, address: str) -> None:
        self._stub: Any = knowledge_service_pb2_grpc.KnowledgeServiceStub(channel)
        self._target = f"library at {address}"
        self._documents: dict[str, Document] = {}
        self._catalogue: TitleCatalogue | None = None
        self._due = 0.0
        self._refreshing: asyncio.Task[None] | None = None

    async def find_titles(self, text: str, limit: int = 5) -> list[Document]:
        """See `orchestrator.knowledge.ports.ClauseGraph.find_titles`; finds nothing while the other does not answer."""
        now = asyncio.get_running_loop().time()
        if now >= self._due and (self._refreshing is None or self._refreshing.done()):
            self._due = now + REFRESH_S
            self._refreshing = asyncio.get_running_loop().create_task(self._refresh())
        if self._catalogue is None and self._refreshing is not None:
            # Only the first question waits; it may be cancelled without taking the refresh along.
            await asyncio.shield(self._refreshing)
        if self._catalogue is None:
            return []
        return [self._documents[found] for found in self._catalogue.find(text, limit)]

    async def close(self) -> None:
        """Stop refreshing."""
        if self._refreshing is not None:
            self._refreshing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._refreshing

    async def _refresh(self) -> None:
        try:
            documents = {document.document_id: document for document in await self._list()}
        except TriasError as error:
            logger.warning("Titles could not be read: %s", error)
            return
        self._documents, self._catalogue = documents, TitleCatalogue(documents.values())

    async def _list(self) -> list[Document]:
        documents: list[Document] = []
        token = ""
        while True:
            request = knowledge_service_pb2.ListDocumentsRequest(page_size=PAGE_SIZE, page_token=token)
            try:
                page = await self._stub.ListDocuments(request, timeout=PAGE_TIMEOUT_S)
            except grpc.aio.AioRpcError as error:
                raise error_from(error, self._target) from None
            documents += [messages.document_from_message(document) for document in page.documents]
            token = page.next_page_token
            if not token:
                return documents
