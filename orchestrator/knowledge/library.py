"""The three indexes as one library: a document is visible when all three hold it, or not at all.

The order of an apply makes that so. A revision is staged in the catalogue, written to the vector and the keyword
index, then published in one transaction of the catalogue; only then are the entries that it replaces removed. Readers
drop every hit whose revision is not the published one, so what a crash leaves behind is never seen, and the next open
removes it.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from orchestrator.errors import FingerprintMismatchError, IndexCorruptError
from orchestrator.knowledge.adapters import open_graph, open_keyword_index, open_vector_index
from orchestrator.knowledge.clause import IndexedDocument
from orchestrator.knowledge.ownership import Ownership
from orchestrator.knowledge.ports import ClauseGraph, Hit, KeywordIndex, VectorIndex
from orchestrator.knowledge.revision import check_document, keyword_entry, revision_of
from orchestrator.settings import Settings

__all__ = ["Library", "LibraryStatistics", "open_library"]

log = logging.getLogger(__name__)

Result = TypeVar("Result")

_FINGERPRINT = "embedder_fingerprint"
# Applies under way at a time: enough for their commits to be shared, few enough to bound memory.
_CONCURRENT_APPLIES = 64


@dataclass(frozen=True, slots=True)
class LibraryStatistics:
    """What the library holds; references and clauses are those of live documents."""

    documents: int
    clauses: int
    vectors: int
    keyword_entries: int
    references: int
    resolved_references: int
    embedder_fingerprint: str
    adapters: Mapping[str, str]


class Library:
    """Documents in three indexes. Made by `open_library`.

    Reads never wait for writes. Writes of different documents run side by side; those of one document run one after
    another. A write that has begun is finished even where its caller is cancelled.

    Args:
        vector: nearest clauses.
        keyword: clauses by their words.
        graph: the catalogue, the clauses and their references.
        adapters: ``{"vector": "qdrant-edge", …}``, for the statistics.
        ownership: released when the library is closed.
    """

    def __init__(
        self,
        *,
        vector: VectorIndex,
        keyword: KeywordIndex,
        graph: ClauseGraph,
        adapters: Mapping[str, str],
        ownership: Ownership | None = None,
    ) -> None:
        self._vector = vector
        self._keyword = keyword
        self._graph = graph
        self._adapters = dict(adapters)
        self._ownership = ownership
        self._live: dict[str, str] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._lock_users: Counter[str] = Counter()
        self._fingerprint = ""
        self._fingerprint_lock = asyncio.Lock()
        self._fingerprint_users = 0
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
        if self._fingerprint and fingerprint != self._fingerprint:
            raise _mismatch(self._fingerprint, fingerprint)
        return await self._visible(lambda wanted: self._vector.search(vector, wanted, document_ids), limit)

    async def search_keyword(self, query: str, limit: int, document_ids: Collection[str] | None = None) -> list[Hit]:
        """The ``limit`` best live clauses by BM25, best first; nothing for a blank query."""
        return await self._visible(lambda wanted: self._keyword.search(query, wanted, document_ids), limit)

    # --- the library itself ---

    async def fingerprint(self) -> str:
        """Of the embedder that filled the library; empty while it never held a document."""
        return self._fingerprint

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
            self._graph.statistics(), self._vector.count(), self._keyword.count()
        )
        return LibraryStatistics(
            documents=counts["documents"],
            clauses=counts["clauses"],
            vectors=vectors,
            keyword_entries=entries,
            references=counts["references"],
            resolved_references=counts["resolved_references"],
            embedder_fingerprint=self._fingerprint,
            adapters=dict(self._adapters),
        )

    async def digest(self) -> str:
        """A hash of everything that can be observed, the order of the applies aside.

        Two libraries with the same digest hold the same revisions of the same documents, the same clauses in each
        index, nothing left over, and the same resolved references.
        """
        live = dict(await self._graph.live_revisions())
        vectors, entries, counts = await asyncio.gather(
            self._vector.revisions(), self._keyword.revisions(), self._graph.statistics()
        )
        summary = (sorted(live.items()), sorted(vectors.items()), sorted(entries.items()), sorted(counts.items()))
        seen = hashlib.sha256(repr((self._fingerprint, summary)).encode())
        for document_id in sorted(live):
            clauses = await self._graph.document_clauses(document_id)
            references = await self._graph.references([clause.source_id for clause in clauses])
            documents = await self._graph.documents([document_id])
            seen.update(repr((documents, clauses, sorted(references.items()))).encode())
        return seen.hexdigest()

    async def recover(self) -> int:
        """Remove what cut-short writes left behind; called when the library is opened.

        Returns:
            How many leftovers of a document were removed.

        Raises:
            IndexCorruptError: an index lacks clauses that the catalogue says are live.
        """
        self._fingerprint = await self._graph.get_value(_FINGERPRINT) or ""
        self._live = dict(await self._graph.live_revisions())
        staged = await self._graph.staged()
        held = await asyncio.gather(self._vector.revisions(), self._keyword.revisions())
        left_over = {
            document_id for index in held for document_id, revision in index if not self._is(document_id, revision)
        }
        left_over |= {entry.document.document_id for entry in staged}
        for document_id in sorted(left_over):
            await self._purge(document_id)
        for entry in staged:
            await self._graph.discard(entry.document.document_id, entry.revision)
        await self._compare(*held)
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
            await asyncio.gather(self._vector.close(), self._keyword.close(), self._graph.close())
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
            await self._take_fingerprint(document.embedder_fingerprint)
            try:
                known = await self._graph.entry(document_id) is not None
                await self._put(document, revision)
                await self._graph.publish(document_id, revision)
                self._live[document_id] = revision
            except Exception:
                await self._withdraw(document_id, revision)
                raise
            finally:
                self._fingerprint_users -= 1
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
            self._vector.upsert(document.document_id, revision, source_ids, indexed.vectors),
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
            self._vector.delete(document_id, keep_revision=keep),
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

    async def _take_fingerprint(self, fingerprint: str) -> None:
        """Count the caller in as a user of this fingerprint; an empty library takes a new one."""
        async with self._fingerprint_lock:
            if fingerprint != self._fingerprint:
                if self._fingerprint and (self._live or self._fingerprint_users):
                    raise _mismatch(self._fingerprint, fingerprint)
                await self._graph.set_value(_FINGERPRINT, fingerprint)
                self._fingerprint = fingerprint
            self._fingerprint_users += 1

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

    async def _compare(self, vectors: Mapping[tuple[str, str], int], entries: Mapping[tuple[str, str], int]) -> None:
        after = ""
        while page := await self._graph.entries(after=after, limit=1000):
            for entry in page:
                key = (entry.document.document_id, entry.revision)
                for name, index in (("vector", vectors), ("keyword", entries)):
                    if index.get(key, 0) != entry.clauses:
                        raise IndexCorruptError(
                            f"The {name} index holds {index.get(key, 0)} of the {entry.clauses} clauses of"
                            f" {entry.document.doc_source}.",
                            hint="Delete the library's folder and ingest the documents again.",
                        )
            after = page[-1].document.document_id

    async def _write(self, work: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        """Run a write as a task of its own: a caller that is cancelled does not cut it short."""
        if self._closed:
            raise RuntimeError("the library is closed")
        task = asyncio.create_task(work())
        self._writes.add(task)
        task.add_done_callback(self._writes.discard)
        return await asyncio.shield(task)


async def open_library(settings: Settings, *, name: str | None = None) -> Library:
    """Open a library, or make an empty one, and remove what an interrupted write left in it.

    Args:
        settings: says where the data lies and which adapters hold it.
        name: of the library; the configured one where None. Its folder is ``<data>/<name>``.

    Raises:
        LibraryLockedError: another process owns it; names that process.
        ConfigurationError: an adapter is not installed, or not to be had.
        IndexCorruptError: what lies in the folder cannot be opened.
    """
    folder = settings.paths.data / (name or settings.knowledge.name)
    ownership = await asyncio.to_thread(Ownership.take, folder)
    opened: list[VectorIndex | KeywordIndex | ClauseGraph] = []
    try:
        opened.append(graph := await open_graph(settings.knowledge, folder / "graph"))
        opened.append(vector := await open_vector_index(settings.knowledge, folder / "vector"))
        opened.append(keyword := await open_keyword_index(settings.knowledge, folder / "keyword"))
        adapters = {key: getattr(settings.knowledge, key) for key in ("vector", "keyword", "graph")}
        library = Library(vector=vector, keyword=keyword, graph=graph, adapters=adapters, ownership=ownership)
        await library.recover()
    except BaseException:
        await asyncio.gather(*(index.close() for index in opened), return_exceptions=True)
        ownership.release()
        raise
    return library


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
