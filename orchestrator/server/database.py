"""The server's own SQLite file: answers, feedback, the labelling queue; on a thread of its own."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from orchestrator.errors import ConfigurationError

__all__ = ["DATABASE_FILE", "Database"]

DATABASE_FILE = "answers.sqlite3"

logger = logging.getLogger(__name__)

T = TypeVar("T")

# A disk that stalls must not fill the memory: beyond this many unwritten records, new ones are dropped and logged.
PENDING_WRITES = 2000
# Another server on the same data folder may hold the write lock for a moment.
BUSY_TIMEOUT_S = 5.0

SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    answer_id TEXT NOT NULL UNIQUE,
    record BLOB NOT NULL,
    passages BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS feedback (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    answer_id TEXT NOT NULL,
    feedback BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS feedback_answer ON feedback (answer_id);
CREATE TABLE IF NOT EXISTS labelling (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    queued_at REAL NOT NULL,
    question TEXT NOT NULL UNIQUE,
    domain TEXT NOT NULL,
    reason TEXT NOT NULL,
    intent_id TEXT NOT NULL,
    confidence REAL NOT NULL,
    times INTEGER NOT NULL DEFAULT 1
);
"""


class Database:
    """One connection, used by one thread, in the order in which work is handed to it: a read sees every write before.

    Raises:
        ConfigurationError: the folder cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="trias-database")
        self._places = threading.BoundedSemaphore(PENDING_WRITES)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = self._executor.submit(self._open).result()
        except (OSError, sqlite3.OperationalError) as error:
            self._executor.shutdown()
            raise ConfigurationError(
                f"paths.data: {path} cannot be opened: {error}.", hint="Choose a folder that can be written."
            ) from error

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do ``work`` in a transaction and wait for its result."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, self._transact, work)

    def post(self, work: Callable[[sqlite3.Connection], object]) -> None:
        """Do ``work`` in a transaction some time soon; what fails is logged."""
        if not self._places.acquire(blocking=False):
            logger.error("%s: %d writes are pending; a record is dropped.", self.path, PENDING_WRITES)
            return
        self._executor.submit(self._post, work)

    async def close(self) -> None:
        """Finish what is pending and close the file."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._executor, self._connection.close)
        await loop.run_in_executor(None, self._executor.shutdown)

    def _open(self) -> sqlite3.Connection:
        try:
            return self._connected()
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise
            # Past answers are not worth a server that does not start; the damaged file is kept for who needs it.
            aside = self.path.with_name(f"{self.path.name}.damaged-{int(time.time())}")
            self.path.rename(aside)
            for companion in ("-wal", "-shm"):
                self.path.with_name(self.path.name + companion).unlink(missing_ok=True)
            logger.exception("%s is damaged; it was moved to %s and a new one is begun.", self.path, aside)
            return self._connected()

    def _connected(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=BUSY_TIMEOUT_S)
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.executescript(SCHEMA)
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def _transact(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with self._connection:
            return work(self._connection)

    def _post(self, work: Callable[[sqlite3.Connection], object]) -> None:
        try:
            self._transact(work)
        except Exception:
            logger.exception("%s: a record could not be written.", self.path)
        finally:
            self._places.release()
