"""`KnowledgeService` over the library: for operators and for ingest while the server owns the indexes."""

from __future__ import annotations

import asyncio
import base64
import binascii
from typing import Any

from orchestrator.errors import InvalidFieldError, NotFoundError
from orchestrator.knowledge import messages
from orchestrator.knowledge.clause import IndexedDocument
from orchestrator.knowledge.library import Library
from orchestrator.server.validation import check_apply, check_id, page_size_of
from trias.v1 import knowledge_service_pb2, knowledge_service_pb2_grpc

__all__ = ["KnowledgeServicer"]

# Documents asked about in one check.
MAX_CHECKED = 10_000


class KnowledgeServicer(knowledge_service_pb2_grpc.KnowledgeServiceServicer):
    """What the library holds, and changes to it."""

    def __init__(self, library: Library) -> None:
        self._library = library

    async def ApplyDocument(  # noqa: N802 (the names are the contract's)
        self,
        request: knowledge_service_pb2.ApplyDocumentRequest,
        context: Any,  # noqa: ARG002
    ) -> knowledge_service_pb2.ApplyDocumentResponse:
        """Put one document into all three indexes."""
        # A long document takes a while to check and to convert: others' questions go on meanwhile.
        indexed = await asyncio.to_thread(_indexed, request)
        written = await self._library.apply(indexed)
        return knowledge_service_pb2.ApplyDocumentResponse(
            document_id=request.document.document_id, unchanged=not written, clauses=len(request.clauses)
        )

    async def DeleteDocument(  # noqa: N802
        self,
        request: knowledge_service_pb2.DeleteDocumentRequest,
        context: Any,  # noqa: ARG002
    ) -> knowledge_service_pb2.DeleteDocumentResponse:
        """Remove a document; removing one that is not there is no error."""
        clauses = await self._library.delete(check_id("document_id", request.document_id))
        return knowledge_service_pb2.DeleteDocumentResponse(clauses=clauses)

    async def CheckDocuments(  # noqa: N802
        self,
        request: knowledge_service_pb2.CheckDocumentsRequest,
        context: Any,  # noqa: ARG002
    ) -> knowledge_service_pb2.CheckDocumentsResponse:
        """Which contents are live already."""
        if len(request.documents) > MAX_CHECKED:
            raise InvalidFieldError(
                "documents", f"{len(request.documents)} at a time; at most {MAX_CHECKED} are taken."
            )
        states = {
            check_id(f"documents[{place}].document_id", state.document_id): state.content_hash
            for place, state in enumerate(request.documents)
        }
        live = await self._library.check(states)
        return knowledge_service_pb2.CheckDocumentsResponse(
            live_document_ids=sorted(live), embedder_fingerprint=await self._library.fingerprint()
        )

    async def ListDocuments(  # noqa: N802
        self,
        request: knowledge_service_pb2.ListDocumentsRequest,
        context: Any,  # noqa: ARG002
    ) -> knowledge_service_pb2.ListDocumentsResponse:
        """A page of documents, in order of id."""
        size = page_size_of(request.page_size)
        entries = await self._library.graph.entries(after=_after(request.page_token), limit=size + 1)
        page = entries[:size]
        more = len(entries) > size
        return knowledge_service_pb2.ListDocumentsResponse(
            documents=[messages.document_to_message(entry.document) for entry in page],
            next_page_token=_token(page[-1].document.document_id) if more else "",
        )

    async def GetDocument(  # noqa: N802
        self,
        request: knowledge_service_pb2.GetDocumentRequest,
        context: Any,  # noqa: ARG002
    ) -> knowledge_service_pb2.GetDocumentResponse:
        """A document with its clauses, in order."""
        document_id = check_id("document_id", request.document_id)
        documents = await self._library.graph.documents([document_id])
        if document_id not in documents:
            raise NotFoundError(
                f"There is no document {document_id!r}.",
                hint="ListDocuments lists them.",
                metadata={"document_id": document_id},
            )
        clauses = await self._library.graph.document_clauses(document_id)
        return knowledge_service_pb2.GetDocumentResponse(
            document=messages.document_to_message(documents[document_id]),
            clauses=[messages.clause_to_message(clause) for clause in clauses],
        )

    async def GetStatistics(  # noqa: N802
        self,
        request: knowledge_service_pb2.GetStatisticsRequest,  # noqa: ARG002
        context: Any,  # noqa: ARG002
    ) -> knowledge_service_pb2.GetStatisticsResponse:
        """How much the library holds."""
        held = await self._library.statistics()
        return knowledge_service_pb2.GetStatisticsResponse(
            documents=held.documents,
            clauses=held.clauses,
            vectors=held.vectors,
            keyword_entries=held.keyword_entries,
            references=held.references,
            resolved_references=held.resolved_references,
            embedder_fingerprint=held.embedder_fingerprint,
            adapters=held.adapters,
            indexed_fingerprints=held.indexed_fingerprints,
        )

    async def ListLackingVectors(  # noqa: N802
        self,
        request: knowledge_service_pb2.ListLackingVectorsRequest,
        context: Any,  # noqa: ARG002
    ) -> knowledge_service_pb2.ListLackingVectorsResponse:
        """The documents that a further embedder has yet to embed."""
        fingerprint = check_id("embedder_fingerprint", request.embedder_fingerprint)
        lacking = await self._library.lacking_vectors(fingerprint)
        return knowledge_service_pb2.ListLackingVectorsResponse(document_ids=lacking)

    async def PutVectors(  # noqa: N802
        self,
        request: knowledge_service_pb2.PutVectorsRequest,
        context: Any,  # noqa: ARG002
    ) -> knowledge_service_pb2.PutVectorsResponse:
        """Take in the vectors of one document."""
        written = await self._library.put_vectors(
            check_id("document_id", request.document_id),
            list(request.source_ids),
            messages.vectors_from_bytes(request.vectors, len(request.source_ids), request.dimension),
            check_id("embedder_fingerprint", request.embedder_fingerprint),
        )
        return knowledge_service_pb2.PutVectorsResponse(written=written)

    async def SwitchEmbedder(  # noqa: N802
        self,
        request: knowledge_service_pb2.SwitchEmbedderRequest,
        context: Any,  # noqa: ARG002
    ) -> knowledge_service_pb2.SwitchEmbedderResponse:
        """Let another embedder's vectors answer."""
        former = await self._library.fingerprint()
        await self._library.switch_embedder(check_id("embedder_fingerprint", request.embedder_fingerprint))
        return knowledge_service_pb2.SwitchEmbedderResponse(former_fingerprint=former)

    async def DropVectors(  # noqa: N802
        self,
        request: knowledge_service_pb2.DropVectorsRequest,
        context: Any,  # noqa: ARG002
    ) -> knowledge_service_pb2.DropVectorsResponse:
        """Delete vectors that do not answer."""
        await self._library.drop_vectors(check_id("embedder_fingerprint", request.embedder_fingerprint))
        return knowledge_service_pb2.DropVectorsResponse()


def _indexed(request: knowledge_service_pb2.ApplyDocumentRequest) -> IndexedDocument:
    check_apply(request)
    return messages.indexed_from_request(request)


def _token(document_id: str) -> str:
    return base64.urlsafe_b64encode(document_id.encode()).decode()


def _after(token: str) -> str:
    try:
        return base64.b64decode(token.encode(), altchars=b"-_", validate=True).decode()
    except (binascii.Error, UnicodeError):
        raise InvalidFieldError("page_token", "was not given out by ListDocuments.") from None
