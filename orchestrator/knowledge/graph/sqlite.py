"""The clause graph on SQLite: one writer thread, several readers that never wait for it (WAL)."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

from orchestrator.errors import IndexCorruptError, KnowledgeError, TriasError
from orchestrator.knowledge.clause import Clause, Document, Reference
from orchestrator.knowledge.graph import reads, writes
from orchestrator.knowledge.graph.schema import connect, prepare
from orchestrator.knowledge.graph.titles import TitleCatalogue
from orchestrator.knowledge.group import GroupWriter
from orchestrator.knowledge.pagerank import pagerank_percentiles
from orchestrator.knowledge.ports import CatalogueEntry, GraphHit

__all__ = ["SqliteGraph"]

Result = TypeVar("Result")

_READERS = 4
# How long a question waits for ranks that a publish made stale; after that it is answered with the former ones.
_RANKS_WAIT_S = 0.1
# Ranks are computed at most this share of the time, however fast documents come in.
_RANKS_SHARE = 0.1


class SqliteGraph:
    """A `ClauseGraph`. Use `SqliteGraph.open`."""

    def __init__(self, file: Path, connection: sqlite3.Connection) -> None:
        self._file = file
        self._connection = connection
        self._titles = TitleCatalogue(reads.live_documents(connection))
        self._after_commit: list[Callable[[], None]] = []
        self._local = threading.local()
        self._opened: list[sqlite3.Connection] = []
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="sqlite-read", initializer=self._open_reader)
        self._group = GroupWriter("sqlite-write", commit=self._commit, rollback=self._rollback)
        self._ranks: dict[str, float] = {}
        self._ranks_stale = True
        self._ranks_task: asyncio.Task[None] | None = None
        self._ranks_not_before = 0.0

    @classmethod
    async def open(cls, folder: Path) -> SqliteGraph:
        """Open the graph in ``folder``, or make an empty one.

        Raises:
            IndexCorruptError: what lies there is no such graph.
        """
        return await asyncio.to_thread(cls._open, folder)

    @classmethod
    def _open(cls, folder: Path) -> SqliteGraph:
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "graph.sqlite3"
        connection = None
        try:
            connection = connect(file)
            prepare(connection, file)
            return cls(file, connection)
        except (sqlite3.Error, TriasError) as error:
            if connection is not None:
                connection.close()
            if isinstance(error, TriasError):
                raise
            raise IndexCorruptError(
                f"The catalogue {file} cannot be opened: {error}.",
                hint="Delete the library's folder and ingest the documents again.",
            ) from None

    # --- writing ---

    async def stage(
        self, document: Document, revision: str, clauses: Sequence[Clause], references: Sequence[Reference]
    ) -> None:
        """See `ClauseGraph`."""
        await self._write(lambda: writes.stage(self._connection, document, revision, clauses, references))

    async def publish(self, document_id: str, revision: str) -> None:
        """See `ClauseGraph`; raises NotFoundError where no such revision is staged."""

        def work() -> None:
            document = writes.publish(self._connection, document_id, revision)
            if document is not None:
                self._after_commit.append(partial(self._published, document))

        await self._write(work)

    async def discard(self, document_id: str, revision: str) -> None:
        """See `ClauseGraph`."""
        await self._write(lambda: writes.discard(self._connection, document_id, revision))

    async def delete(self, document_id: str) -> int:
        """See `ClauseGraph`."""

        def work() -> int:
            self._after_commit.append(partial(self._deleted, document_id))
            return writes.delete(self._connection, document_id)

        return await self._write(work)

    async def set_value(self, key: str, value: str) -> None:
        """See `ClauseGraph`."""
        sql = "INSERT INTO library_values VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
        await self._write(lambda: self._connection.execute(sql, (key, value)).close())

    # --- reading ---

    async def entry(self, document_id: str) -> CatalogueEntry | None:
        """See `ClauseGraph`."""
        return await self._read(partial(reads.entry, document_id=document_id))

    async def entries(self, *, after: str = "", limit: int = 100) -> list[CatalogueEntry]:
        """See `ClauseGraph`."""
        return await self._read(partial(reads.entries, after=after, limit=limit))

    async def staged(self) -> list[CatalogueEntry]:
        """See `ClauseGraph`."""
        return await self._read(reads.staged)

    async def live_revisions(self) -> Mapping[str, str]:
        """See `ClauseGraph`."""
        return await self._read(reads.live_revisions)

    async def documents(self, document_ids: Collection[str]) -> dict[str, Document]:
        """See `ClauseGraph`."""
        return await self._read(partial(reads.documents, document_ids=document_ids)) if document_ids else {}

    async def clauses(self, source_ids: Collection[str]) -> dict[str, Clause]:
        """See `ClauseGraph`."""
        return await self._read(partial(reads.clauses, source_ids=source_ids)) if source_ids else {}

    async def document_clauses(self, document_id: str) -> list[Clause]:
        """See `ClauseGraph`."""
        return await self._read(partial(reads.document_clauses, document_id=document_id))

    async def references(self, source_ids: Collection[str]) -> dict[str, tuple[Reference, ...]]:
        """See `ClauseGraph`."""
        return await self._read(partial(reads.references, source_ids=source_ids)) if source_ids else {}

    async def neighbours(self, source_ids: Collection[str], limit: int) -> list[GraphHit]:
        """See `ClauseGraph`."""
        if not source_ids or limit <= 0:
            return []
        return await self._read(partial(reads.neighbours, source_ids=source_ids, limit=limit))

    async def find_titles(self, text: str, limit: int = 5) -> list[Document]:
        """See `ClauseGraph`. A document's number (医保发〔2024〕12号) is found as a title is."""

        def work(connection: sqlite3.Connection) -> list[Document]:
            found = self._titles.find(text, limit)
            known = reads.documents(connection, found)
            return [known[document_id] for document_id in found if document_id in known]

        return await self._read(work)

    async def find_label(self, document_id: str, label: str) -> list[Clause]:
        """See `ClauseGraph`."""
        return await self._read(partial(reads.find_label, document_id=document_id, label=label))

    async def get_value(self, key: str) -> str | None:
        """See `ClauseGraph`."""
        return await self._read(partial(reads.value, key=key))

    async def statistics(self) -> Mapping[str, int]:
        """See `ClauseGraph`."""
        return await self._read(reads.statistics)

    async def ranks(self, source_ids: Collection[str]) -> dict[str, float]:
        """See `ClauseGraph`. A publish shows here once the graph is ranked again: in moments, while it is quiet."""
        await self._refresh_ranks()
        return {source_id: self._ranks.get(source_id, 0.0) for source_id in source_ids}

    async def close(self) -> None:
        """See `ClauseGraph`."""
        if self._ranks_task is not None:
            await asyncio.gather(self._ranks_task, return_exceptions=True)
        await self._group.close()
        await asyncio.to_thread(self._readers.shutdown)
        for connection in (*self._opened, self._connection):
            await asyncio.to_thread(connection.close)

    # --- how ---

    async def _read(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        with _reported(self._file):
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._readers, lambda: work(self._local.connection))

    async def _write(self, work: Callable[[], Result]) -> Result:
        def in_transaction() -> Result:
            if not self._connection.in_transaction:
                self._connection.execute("BEGIN IMMEDIATE")
            return work()

        with _reported(self._file):
            return await self._group.run(in_transaction)

    def _open_reader(self) -> None:
        connection = connect(self._file)
        connection.execute("PRAGMA query_only=ON")
        self._local.connection = connection
        self._opened.append(connection)

    def _commit(self) -> None:
        self._connection.execute("COMMIT")
        for work in self._after_commit:
            work()
        self._after_commit.clear()

    def _rollback(self) -> None:
        self._after_commit.clear()
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def _published(self, document: Document) -> None:
        self._titles.put(document)
        self._ranks_stale = True

    def _deleted(self, document_id: str) -> None:
        self._titles.remove(document_id)
        self._ranks_stale = True

    async def _refresh_ranks(self) -> None:
        if self._ranks_task is None and self._ranks_stale and time.monotonic() >= self._ranks_not_before:
            self._ranks_task = asyncio.create_task(self._compute_ranks())
        task = self._ranks_task
        if task is not None:
            await asyncio.wait({task}, timeout=_RANKS_WAIT_S)
            if task.done():
                task.result()

    async def _compute_ranks(self) -> None:
        started = time.monotonic()
        self._ranks_stale = False
        try:
            self._ranks = await self._read(lambda connection: pagerank_percentiles(reads.edges(connection)))
        except BaseException:
            self._ranks_stale = True
            raise
        finally:
            ended = time.monotonic()
            self._ranks_not_before = ended + (ended - started) / _RANKS_SHARE
            self._ranks_task = None


@contextmanager
def _reported(file: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise KnowledgeError(f"The catalogue {file} failed: {error}.") from error
