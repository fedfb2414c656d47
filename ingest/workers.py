"""Parser processes: one that crashes or hangs costs the file that it was reading, and is replaced.

`concurrent.futures` fails every pending call when one process dies, and cannot end one that hangs.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any

from ingest.reading import ReadDocument, ReadTask, read_source
from orchestrator.errors import DocumentError

__all__ = ["ParserPool"]

_EXIT_S = 5.0
# The first call of a process waits for its imports too.
_START_S = 60.0


class ParserPool:
    """Reads source files in processes of its own.

    Args:
        workers: how many processes.
        timeout_s: how long one file may take.
        read: what a process does with a task; importable by name.
    """

    def __init__(self, workers: int, timeout_s: float, read: Callable[[ReadTask], ReadDocument] = read_source) -> None:
        self._timeout_s = timeout_s
        self._read = read
        self._idle: asyncio.LifoQueue[_Worker] = asyncio.LifoQueue()
        self._workers = [_Worker(read) for _ in range(workers)]

    async def __aenter__(self) -> ParserPool:
        for worker in self._workers:
            worker.start()
            self._idle.put_nowait(worker)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.gather(*(asyncio.to_thread(worker.stop) for worker in self._workers))

    async def read(self, task: ReadTask) -> ReadDocument:
        """Read one file in the next free process.

        Raises:
            DocumentError: the file cannot be read; kind ``PARSER_CRASHED`` or ``TIMEOUT`` where it brought the process
                down or kept it too long.
        """
        worker = await self._idle.get()
        try:
            return await asyncio.to_thread(worker.call, task, self._timeout_s)
        except asyncio.CancelledError:
            # Ends the thread's wait too: its pipe closes.
            worker.kill()
            raise
        finally:
            self._idle.put_nowait(worker)


class _Worker:
    def __init__(self, read: Callable[[ReadTask], ReadDocument]) -> None:
        # No fork: gRPC and its threads do not survive one.
        self._context = multiprocessing.get_context("spawn")
        self._read = read
        self._lock = threading.Lock()
        self._process: multiprocessing.process.BaseProcess | None = None
        self._connection: Connection | None = None
        self._ready = False

    def start(self) -> None:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(theirs, self._read), daemon=True)
        process.start()
        theirs.close()
        self._process, self._connection, self._ready = process, ours, False

    def call(self, task: ReadTask, timeout_s: float) -> ReadDocument:
        """Have the process do a task; blocks."""
        with self._lock:
            if self._process is None or not self._process.is_alive():
                self._discard()
                self.start()
            assert self._connection is not None
            try:
                self._wait_until_ready(task)
                self._connection.send(task)
                if not self._connection.poll(timeout_s):
                    self._discard()
                    raise DocumentError(
                        task.name,
                        f"reading it took longer than {timeout_s:g} s.",
                        kind="TIMEOUT",
                        hint="Split it, or raise ingest.file_timeout_s.",
                    )
                answer = self._connection.recv()
            except (EOFError, OSError):
                code = self._discard()
                raise DocumentError(
                    task.name,
                    f"the parser process ended while reading it (exit code {code}).",
                    kind="PARSER_CRASHED",
                    hint="The file may be damaged, or too large for this machine's memory.",
                ) from None
        if isinstance(answer, BaseException):
            raise answer
        assert isinstance(answer, ReadDocument)
        return answer

    def kill(self) -> None:
        """End the process at once; the next call starts another."""
        if self._process is not None and self._process.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    def stop(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            if self._connection is not None:
                self._connection.close()
        if self._process is not None:
            self._process.join(_EXIT_S)
        self._discard()

    def _wait_until_ready(self, task: ReadTask) -> None:
        assert self._connection is not None
        if self._ready:
            return
        if not self._connection.poll(_START_S):
            self._discard()
            raise DocumentError(task.name, "the parser process did not start.", kind="TIMEOUT", hint="Try again.")
        self._connection.recv()
        self._ready = True

    def _discard(self) -> int | None:
        """End the process and forget it; its exit code."""
        process, self._process = self._process, None
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
        if process is None:
            return None
        process.join(0.2)
        if process.is_alive():
            process.kill()
        process.join(_EXIT_S)
        return process.exitcode


def _serve(connection: Connection, read: Callable[[ReadTask], ReadDocument]) -> None:
    """The life of a parser process: tasks in, documents or errors out, until the pipe closes."""
    # Ctrl-C reaches every process of the terminal; the parent decides what is still finished.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with contextlib.suppress(EOFError, OSError):
        connection.send("ready")
        while True:
            task: ReadTask = connection.recv()
            answer: Any
            try:
                answer = read(task)
            except DocumentError as error:
                answer = error
            except Exception as error:  # a bug that one file meets must not cost the others
                answer = DocumentError(
                    task.name, f"reading it failed ({type(error).__name__}: {error}).", kind="PARSER_FAILED"
                )
            connection.send(answer)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
