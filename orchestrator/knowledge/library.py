"""The three indexes as one library: a document is visible when all three hold it, or not at all.

The order of an apply makes that so. A revision is staged in the catalogue, written to the vector and the keyword
index, then published in one transaction of the catalogue; only then are the entries that it replaces removed. Readers
drop every hit whose revision is not the published one, so what a crash leaves behind is never seen, and the next open
removes it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from orchestrator.errors import FingerprintMismatchError, InvalidFieldError
from orchestrator.knowledge.audit import all_entries, check_complete, digest_of
from orchestrator.knowledge.clause import IndexedDocument
from orchestrator.knowledge.ownership import Ownership
from orchestrator.knowledge.ports import ClauseGraph, Hit, KeywordIndex
from orchestrator.knowledge.revision import check_document, keyword_entry, revision_of
from orchestrator.knowledge.vectors import VectorSet

__all__ = ["Library", "LibraryStatistics"]

log = logging.getLogger(__name__)

Result = TypeVar("Result")

# Applies under way at a time: enough for their commits to be shared, few enough to bound memory.
_CONCURRENT_APPLIES = 64


@dataclass(frozen=True, slots=True)
class LibraryStatistics:
    """What the library holds; references and clauses are those of live documents.

    Attributes:
        embedder_fingerprint: of the embedder whose vectors answer.
        indexed_fingerprints: of all embedders that the library has vectors of, the active one first.
    """

    documents: int
    clauses: int
    vectors: int
    keyword_entries: int
    references: int
    resolved_references: int
    embedder_fingerprint: str
    adapters: Mapping[str, str]
    indexed_fingerprints: tuple[str, ...] = ()


class Library:
    """Documents in three indexes. Made by `orchestrator.knowledge.opening.open_library`.

    Reads never wait for writes. Writes of different documents run side by side; those of one document run one after
    another. A write that has begun is finished even where its caller is cancelled.

    Args:
        vectors: nearest clauses, by one embedder or several.
        keyword: clauses by their words.
        graph: the catalogue, the clauses and their references.
        adapters: ``{"vector": "qdrant-edge", …}``, for the statistics.
        ownership: released when the library is closed.
    """

    def __init__(
        self,
        *,
        vectors: VectorSet,
        keyword: KeywordIndex,
        graph: ClauseGraph,
        adapters: Mapping[str, str],
        ownership: Ownership | None = None,
    ) -> None:
        self._vectors = vectors
        self._keyword = keyword
        self._graph = graph
        self._adapters = dict(adapters)
        self._ownership = ownership
        self._live: dict[str, str] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._lock_users: Counter[str] = Counter()
        # Held while the active embedder changes; told of each apply that ends.
        self._embedder = asyncio.Condition()
        self._embedder_users = 0
        self._on_switch: list[Callable[[str], None]] = []
        # One at a time: it is Python, and so is the event loop.
        self._naming = asyncio.Lock()
        self._applies = asyncio.Semaphore(_CONCURRENT_APPLIES)
        self._writes: set[asyncio.Task[Any]] = set()
        self._closed = False

    @property
    def graph(self) -> ClauseGraph:
        """The catalogue, for reading: it shows live documents only. Write through the library."""
        return self._graph

    # --- writing ---

    async def apply(self, document: IndexedDocument) -> bool:
        """Put a document into all three indexes, durably; it replaces an older revision of itself.

        Returns:
            True where it was written, False where the very same content was live already.

        Raises:
            InvalidFieldError: vectors, clauses and references do not fit together.
            FingerprintMismatchError: other vectors in the library come from another embedder.
            KnowledgeError: an index failed; the library is as it was before.
        """
        check_document(document)
        return await self._write(lambda: self._apply(document))

    async def apply_many(self, documents: Iterable[IndexedDocument]) -> list[bool]:
        """Apply documents side by side, so that they share commits: several times faster than one by one.

        Returns:
            What `apply` returns, for each, in order.

        Raises:
            TriasError: the first failure, as in `apply`; the other documents are applied all the same.
        """
        results = await asyncio.gather(*(self.apply(document) for document in documents), return_exceptions=True)
        applied: list[bool] = []
        for result in results:
            if isinstance(result, BaseException):
                raise result
            applied.append(result)
        return applied

    async def delete(self, document_id: str) -> int:
        """Remove a document from all three indexes.

        Returns:
            How many clauses it had; 0 where it is not in the library.
        """
        return await self._write(lambda: self._delete(document_id))

    # --- searching ---

    async def search_vector(
        self,
        vector: npt.NDArray[np.float32],
        limit: int,
        *,
        fingerprint: str,
        document_ids: Collection[str] | None = None,
    ) -> list[Hit]:
        """The ``limit`` nearest live clauses by cosine, best first.

        Args:
            vector: float32, shape [dimension].
            limit: at most this many hits.
            fingerprint: of the embedder that made ``vector``.
            document_ids: only of these documents, where given.

        Raises:
            FingerprintMismatchError: the library was filled by another embedder.
        """
        index = self._vectors.index_for(fingerprint)
        if index is None:
            return []
        return await self._visible(lambda wanted: index.search(vector, wanted, document_ids), limit)

    async def search_keyword(self, query: str, limit: int, document_ids: Collection[str] | None = None) -> list[Hit]:
        """The ``limit`` best live clauses by BM25, best first; nothing for a blank query."""
        return await self._visible(lambda wanted: self._keyword.search(query, wanted, document_ids), limit)

    # --- another embedder ---

    async def lacking_vectors(self, fingerprint: str) -> list[str]:
        """The live documents that have no vectors of this embedder yet, by id; its index is made where there is none.

        Raises:
            InvalidFieldError: the fingerprint is empty.
        """
        if not fingerprint:
            raise InvalidFieldError("embedder_fingerprint", "is empty.")
        index = await self._write(lambda: self._vectors.add(fingerprint))
        held = await index.revisions()
        return [
            entry.document.document_id
            async for entry in all_entries(self._graph)
            if entry.clauses and (entry.document.document_id, entry.revision) not in held
        ]

    async def put_vectors(
        self, document_id: str, source_ids: Sequence[str], vectors: npt.NDArray[np.float32], fingerprint: str
    ) -> bool:
        """Give a live document the vectors of a further embedder, durably; they do not answer before the switch.

        Args:
            document_id: of a live document.
            source_ids: of its clauses, in order.
            vectors: float32, shape [len(source_ids), dimension].
            fingerprint: of the embedder that made them.

        Returns:
            False where the document is gone or has other clauses now: it is still lacking, or nothing is.

        Raises:
            InvalidFieldError: rows and clauses do not fit together.
            NotFoundError: nobody has asked for what lacks this embedder's vectors.
        """
        if vectors.ndim != 2 or len(vectors) != len(source_ids) or not np.isfinite(vectors).all():
            raise InvalidFieldError("vectors", f"has shape {vectors.shape} for {len(source_ids)} clauses.")
        return await self._write(lambda: self._put_vectors(document_id, source_ids, vectors, fingerprint))

    async def switch_embedder(self, fingerprint: str) -> None:
        """Let the vectors of another embedder answer: one write, after the applies under way have ended.

        The former vectors stay, so that queries on their way find them and `switch_embedder` can go back.

        Raises:
            FingerprintMismatchError: documents lack vectors of this embedder.
        """
        await self._write(lambda: self._switch(fingerprint))

    async def drop_vectors(self, fingerprint: str) -> None:
        """Delete the vectors of an embedder that does not answer.

        Raises:
            NotFoundError: there are none.
            FingerprintMismatchError: they answer at present.
        """
        await self._write(lambda: self._vectors.drop(fingerprint))

    # --- the library itself ---

    async def fingerprint(self) -> str:
        """Of the embedder whose vectors answer; empty while the library never held a document."""
        return self._vectors.active_fingerprint

    def on_switch(self, listener: Callable[[str], None]) -> None:
        """Have ``listener`` called with the new fingerprint whenever another embedder's vectors begin to answer."""
        self._on_switch.append(listener)

    async def check(self, states: Mapping[str, str]) -> set[str]:
        """Which documents are live with the same content.

        Args:
            states: document_id → content_hash of the source file.
        """
        documents = await self._graph.documents(states.keys())
        return {key for key, document in documents.items() if document.content_hash == states[key]}

    async def statistics(self) -> LibraryStatistics:
        """What the library holds."""
        counts, vectors, entries = await asyncio.gather(
            self._graph.statistics(), self._count_vectors(), self._keyword.count()
        )
        return LibraryStatistics(
            documents=counts["documents"],
            clauses=counts["clauses"],
            vectors=vectors,
            keyword_entries=entries,
            references=counts["references"],
            resolved_references=counts["resolved_references"],
            embedder_fingerprint=self._vectors.active_fingerprint,
            adapters=dict(self._adapters),
            indexed_fingerprints=self._vectors.fingerprints,
        )

    async def digest(self) -> str:
        """A hash of everything that can be observed, the order of the applies aside.

        Two libraries with the same digest hold the same revisions of the same documents, the same clauses in each
        index, nothing left over, and the same resolved references.
        """
        live = await self._graph.live_revisions()
        vectors, entries = await asyncio.gather(self._vector_revisions(), self._keyword.revisions())
        return await digest_of(self._graph, self._vectors.active_fingerprint, live, vectors, entries)

    async def recover(self) -> int:
        """Remove what cut-short writes left behind; called when the library is opened.

        Returns:
            How many leftovers of a document were removed.

        Raises:
            IndexCorruptError: an index lacks clauses that the catalogue says are live.
        """
        self._live = dict(await self._graph.live_revisions())
        staged = await self._graph.staged()
        entries, *held = await asyncio.gather(
            self._keyword.revisions(), *(index.revisions() for index in self._vectors)
        )
        left_over = {
            document_id
            for index in (entries, *held)
            for document_id, revision in index
            if not self._is(document_id, revision)
        }
        left_over |= {entry.document.document_id for entry in staged}
        for document_id in sorted(left_over):
            await self._purge(document_id)
        for entry in staged:
            await self._graph.discard(entry.document.document_id, entry.revision)
        await check_complete(self._graph, vector=await self._vector_revisions(), keyword=entries)
        if left_over:
            log.warning("removed what an interrupted write left behind", extra={"documents": len(left_over)})
        return len(left_over)

    async def close(self) -> None:
        """Finish the writes under way, flush, and give up ownership. Closing twice does nothing."""
        if self._closed:
            return
        self._closed = True
        await asyncio.gather(*self._writes, return_exceptions=True)
        try:
            await asyncio.gather(self._vectors.close(), self._keyword.close(), self._graph.close())
        finally:
            if self._ownership is not None:
                self._ownership.release()

    # --- how ---

    async def _apply(self, document: IndexedDocument) -> bool:
        document_id = document.document.document_id
        async with self._naming:
            revision = await asyncio.to_thread(revision_of, document)
        async with self._alone_with(document_id), self._applies:
            if self._live.get(document_id) == revision:
                return False
            await self._use_embedder(document.embedder_fingerprint)
            try:
                known = await self._graph.entry(document_id) is not None
                await self._put(document, revision)
                await self._graph.publish(document_id, revision)
                self._live[document_id] = revision
            except Exception:
                await self._withdraw(document_id, revision)
                raise
            finally:
                await self._release_embedder()
            if known:
                await self._purge(document_id)
            return True

    async def _put(self, indexed: IndexedDocument, revision: str) -> None:
        document = indexed.document
        await self._graph.stage(document, revision, indexed.clauses, indexed.references)
        if not indexed.clauses:
            return
        source_ids = [clause.source_id for clause in indexed.clauses]
        entries = [keyword_entry(document.title, clause) for clause in indexed.clauses]
        await _all(
            self._vectors.active.upsert(document.document_id, revision, source_ids, indexed.vectors),
            self._keyword.upsert(document.document_id, revision, entries),
        )

    async def _withdraw(self, document_id: str, revision: str) -> None:
        """After a failed apply; what cannot be removed now is invisible, and removed at the next open."""
        try:
            await self._purge(document_id)
            await self._graph.discard(document_id, revision)
        except Exception:
            log.exception("could not remove a failed revision", extra={"document_id": document_id})

    async def _purge(self, document_id: str) -> None:
        """Remove a document's entries from the indexes, except those of its live revision."""
        keep = self._live.get(document_id)
        await _all(
            *(index.delete(document_id, keep_revision=keep) for index in self._vectors),
            self._keyword.delete(document_id, keep_revision=keep),
        )

    async def _delete(self, document_id: str) -> int:
        async with self._alone_with(document_id):
            if await self._graph.entry(document_id) is None:
                return 0
            clauses = await self._graph.delete(document_id)
            self._live.pop(document_id, None)
            await self._purge(document_id)
            return clauses

    async def _use_embedder(self, fingerprint: str) -> None:
        """Count the caller in as a user of the active embedder; an empty library takes a new one."""
        async with self._embedder:
            active = self._vectors.active_fingerprint
            if fingerprint != active:
                if active and (self._live or self._embedder_users):
                    raise _mismatch(active, fingerprint)
                await self._vectors.start_with(fingerprint)
                self._tell(fingerprint)
            self._embedder_users += 1

    async def _release_embedder(self) -> None:
        async with self._embedder:
            self._embedder_users -= 1
            self._embedder.notify_all()

    async def _put_vectors(
        self, document_id: str, source_ids: Sequence[str], vectors: npt.NDArray[np.float32], fingerprint: str
    ) -> bool:
        async with self._alone_with(document_id):
            revision = self._live.get(document_id)
            clauses = await self._graph.document_clauses(document_id) if revision else []
            if not clauses or [clause.source_id for clause in clauses] != list(source_ids):
                return False
            assert revision is not None
            await self._vectors.index(fingerprint).upsert(document_id, revision, source_ids, vectors)
            return True

    async def _switch(self, fingerprint: str) -> None:
        async with self._embedder:
            # Whoever is applying holds the active embedder; nobody new comes in while this one waits.
            await self._embedder.wait_for(lambda: not self._embedder_users)
            if fingerprint == self._vectors.active_fingerprint:
                return
            lacking = await self.lacking_vectors(fingerprint)
            if lacking:
                raise FingerprintMismatchError(
                    f"The vectors of embedder {fingerprint} lack {len(lacking)} documents.",
                    hint="Run `trias ingest reindex`; it embeds what is lacking and then switches.",
                )
            await self._vectors.switch(fingerprint)
            self._tell(fingerprint)

    def _tell(self, fingerprint: str) -> None:
        for listener in self._on_switch:
            listener(fingerprint)

    async def _count_vectors(self) -> int:
        return await self._vectors.active.count() if self._vectors.active_fingerprint else 0

    async def _vector_revisions(self) -> Mapping[tuple[str, str], int]:
        return await self._vectors.active.revisions() if self._vectors.active_fingerprint else {}

    @asynccontextmanager
    async def _alone_with(self, document_id: str) -> AsyncIterator[None]:
        """Writes of one document one after another; the lock lives as long as someone wants it."""
        lock = self._locks.setdefault(document_id, asyncio.Lock())
        self._lock_users[document_id] += 1
        try:
            async with lock:
                yield
        finally:
            self._lock_users[document_id] -= 1
            if not self._lock_users[document_id]:
                del self._lock_users[document_id], self._locks[document_id]

    def _is(self, document_id: str, revision: str) -> bool:
        return self._live.get(document_id) == revision

    async def _visible(self, search: Callable[[int], Awaitable[list[Hit]]], limit: int) -> list[Hit]:
        """Ask for more until ``limit`` hits are live or the index has no more."""
        if limit <= 0:
            return []
        wanted = limit
        while True:
            found = await search(wanted)
            visible = [hit for hit in found if self._is(hit.document_id, hit.revision)]
            if len(visible) >= limit or len(found) < wanted:
                return visible[:limit]
            wanted *= 2

    async def _write(self, work: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        """Run a write as a task of its own: a caller that is cancelled does not cut it short."""
        if self._closed:
            raise RuntimeError("the library is closed")
        task = asyncio.create_task(work())
        self._writes.add(task)
        task.add_done_callback(self._writes.discard)
        return await asyncio.shield(task)


async def _all(*writes: Awaitable[None]) -> None:
    """Wait for all, even where one fails, so that nothing still runs when the failure is dealt with."""
    for result in await asyncio.gather(*writes, return_exceptions=True):
        if isinstance(result, BaseException):
            raise result


def _mismatch(indexed: str, given: str) -> FingerprintMismatchError:
    return FingerprintMismatchError(
        f"The library was filled by embedder {indexed}, the vectors come from {given or 'an unnamed embedder'}.",
        hint="Serve the embedder that filled it, or ingest into a new library.",
        metadata={"indexed": indexed, "given": given},
    )
