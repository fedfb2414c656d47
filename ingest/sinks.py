"""Where finished documents go: a library of this process, or a server that owns one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Protocol, TypeVar

import grpc
import numpy as np
import numpy.typing as npt

from orchestrator.errors import DocumentError, NotFoundError, TriasError
from orchestrator.inference.deadline import Deadline
from orchestrator.inference.retry import retrying
from orchestrator.knowledge import messages
from orchestrator.knowledge.clause import Clause, Document, IndexedDocument
from orchestrator.knowledge.library import Library
from trias.v1 import knowledge_service_pb2, knowledge_service_pb2_grpc

__all__ = ["DocumentSink", "GrpcSink", "LibrarySink"]

Result = TypeVar("Result")

# The server checks this many at a time at most.
_CHECKED = 1000
# Tries within the time that a server is waited for; the time ends first.
_ATTEMPTS = 1000


class DocumentSink(Protocol):
    """What ingest needs of a library, wherever it is."""

    @property
    def target(self) -> str:
        """Where documents go, for a person."""

    async def check(self, states: Mapping[str, str]) -> set[str]:
        """Which documents are live with the same content; ``states``: document_id → content_hash."""

    async def apply(self, document: IndexedDocument) -> bool:
        """Put a document in, durably; False where the very same was live already.

        Raises:
            DocumentError: it cannot be taken, others can.
            TriasError: nothing can be taken at present.
        """

    async def fingerprint(self) -> str:
        """The fingerprint of the embedder that filled the library; empty while it is empty."""

    async def lacking_vectors(self, fingerprint: str) -> list[str]:
        """The documents without vectors of this embedder, by id."""

    async def document(self, document_id: str) -> tuple[Document, list[Clause]] | None:
        """A live document with its clauses, in order; None where there is none."""

    async def put_vectors(
        self, document_id: str, source_ids: Sequence[str], vectors: npt.NDArray[np.float32], fingerprint: str
    ) -> bool:
        """Give a document the vectors of a further embedder; False where it has other clauses by now, or is gone."""

    async def switch_embedder(self, fingerprint: str) -> None:
        """Let the vectors of this embedder answer.

        Raises:
            FingerprintMismatchError: documents lack them.
        """


class LibrarySink:
    """A library that this process has opened."""

    def __init__(self, library: Library, target: str) -> None:
        self._library = library
        self.target = target

    async def check(self, states: Mapping[str, str]) -> set[str]:
        """See `DocumentSink.check`."""
        return await self._library.check(states)

    async def apply(self, document: IndexedDocument) -> bool:
        """See `DocumentSink.apply`."""
        return await self._library.apply(document)

    async def fingerprint(self) -> str:
        """See `DocumentSink.fingerprint`."""
        return await self._library.fingerprint()

    async def lacking_vectors(self, fingerprint: str) -> list[str]:
        """See `DocumentSink.lacking_vectors`."""
        return await self._library.lacking_vectors(fingerprint)

    async def document(self, document_id: str) -> tuple[Document, list[Clause]] | None:
        """See `DocumentSink.document`."""
        documents = await self._library.graph.documents([document_id])
        if document_id not in documents:
            return None
        return documents[document_id], list(await self._library.graph.document_clauses(document_id))

    async def put_vectors(
        self, document_id: str, source_ids: Sequence[str], vectors: npt.NDArray[np.float32], fingerprint: str
    ) -> bool:
        """See `DocumentSink.put_vectors`."""
        return await self._library.put_vectors(document_id, source_ids, vectors, fingerprint)

    async def switch_embedder(self, fingerprint: str) -> None:
        """See `DocumentSink.switch_embedder`."""
        await self._library.switch_embedder(fingerprint)


class GrpcSink:
    """The library of a Trias server, through its `KnowledgeService`.

    Every call may be made twice without harm, so one that the server did not answer is made again: an ingest outlives
    a restart of the server.

    Args:
        channel: to the server.
        address: host:port, for messages.
        max_message_mb: the largest message that the server takes.
        timeout_s: of one call.
        wait_s: how long a server that does not answer is waited for.
        error_from: reads the error that a call ended with.
    """

    def __init__(
        self,
        channel: grpc.aio.Channel,
        address: str,
        *,
        max_message_mb: int,
        timeout_s: float,
        wait_s: float,
        error_from: Callable[[grpc.aio.AioRpcError, str], TriasError],
    ) -> None:
        self._stub = knowledge_service_pb2_grpc.KnowledgeServiceStub(channel)
        self._max_bytes = max_message_mb * 1024 * 1024
        self._timeout_s = timeout_s
        self._wait_s = wait_s
        self._error_from = error_from
        self.target = f"the server at {address}"

    async def check(self, states: Mapping[str, str]) -> set[str]:
        """See `DocumentSink.check`."""
        live: set[str] = set()
        pairs = list(states.items())
        for start in range(0, len(pairs), _CHECKED):
            request = knowledge_service_pb2.CheckDocumentsRequest(
                documents=[
                    knowledge_service_pb2.DocumentState(document_id=document_id, content_hash=content_hash)
                    for document_id, content_hash in pairs[start : start + _CHECKED]
                ]
            )
            response = await self._call(partial(self._stub.CheckDocuments, request, timeout=self._timeout_s))
            live.update(response.live_document_ids)
        return live

    async def apply(self, document: IndexedDocument) -> bool:
        """See `DocumentSink.apply`."""
        request = await asyncio.to_thread(_request, document)
        size = request.ByteSize()
        if size > self._max_bytes:
            raise DocumentError(
                document.document.doc_source,
                f"with its {len(document.clauses)} clauses it is a message of {size / 2**20:.0f} MB, more than the "
                f"{self._max_bytes / 2**20:.0f} MB that the server takes.",
                kind="TOO_LARGE",
                hint="Raise server.max_message_mb on both sides, or split the document.",
            )
        response = await self._call(partial(self._stub.ApplyDocument, request, timeout=self._timeout_s))
        return not response.unchanged

    async def fingerprint(self) -> str:
        """See `DocumentSink.fingerprint`."""
        request = knowledge_service_pb2.CheckDocumentsRequest()
        response = await self._call(partial(self._stub.CheckDocuments, request, timeout=self._timeout_s))
        return response.embedder_fingerprint

    async def lacking_vectors(self, fingerprint: str) -> list[str]:
        """See `DocumentSink.lacking_vectors`."""
        request = knowledge_service_pb2.ListLackingVectorsRequest(embedder_fingerprint=fingerprint)
        response = await self._call(partial(self._stub.ListLackingVectors, request, timeout=self._timeout_s))
        return list(response.document_ids)

    async def document(self, document_id: str) -> tuple[Document, list[Clause]] | None:
        """See `DocumentSink.document`."""
        request = knowledge_service_pb2.GetDocumentRequest(document_id=document_id)
        try:
            found = await self._call(partial(self._stub.GetDocument, request, timeout=self._timeout_s))
        except NotFoundError:
            return None
        clauses = [messages.clause_from_message(clause, f"clauses[{at}]") for at, clause in enumerate(found.clauses)]
        return messages.document_from_message(found.document), clauses

    async def put_vectors(
        self, document_id: str, source_ids: Sequence[str], vectors: npt.NDArray[np.float32], fingerprint: str
    ) -> bool:
        """See `DocumentSink.put_vectors`."""
        request = knowledge_service_pb2.PutVectorsRequest(
            document_id=document_id,
            source_ids=source_ids,
            vectors=np.ascontiguousarray(vectors, dtype="<f4").tobytes(),
            dimension=vectors.shape[1],
            embedder_fingerprint=fingerprint,
        )
        return (await self._call(partial(self._stub.PutVectors, request, timeout=self._timeout_s))).written

    async def switch_embedder(self, fingerprint: str) -> None:
        """See `DocumentSink.switch_embedder`."""
        request = knowledge_service_pb2.SwitchEmbedderRequest(embedder_fingerprint=fingerprint)
        await self._call(partial(self._stub.SwitchEmbedder, request, timeout=self._timeout_s))

    async def _call(self, start: Callable[[], Awaitable[Result]]) -> Result:
        async def call() -> Result:
            try:
                return await start()
            except grpc.aio.AioRpcError as error:
                raise self._error_from(error, self.target) from None

        return await retrying(
            call,
            attempts=_ATTEMPTS,
            deadline=Deadline.after(self._wait_s),
            may_retry=lambda error: error.retryable,
        )


def _request(document: IndexedDocument) -> knowledge_service_pb2.ApplyDocumentRequest:
    vectors = np.ascontiguousarray(document.vectors, dtype="<f4")
    return knowledge_service_pb2.ApplyDocumentRequest(
        document=messages.document_to_message(document.document),
        clauses=[messages.clause_to_message(clause) for clause in document.clauses],
        references=[messages.reference_to_message(reference) for reference in document.references],
        vectors=vectors.tobytes(),
        dimension=vectors.shape[1],
        embedder_fingerprint=document.embedder_fingerprint,
    )
