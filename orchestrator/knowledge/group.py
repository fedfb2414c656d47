"""Group commit: writes that wait together share one durable commit.

A commit costs several fsyncs, whether it carries one document or thirty. Callers stay as simple as if each had a
commit of its own: `GroupWriter.run` returns when the operation is durable.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

__all__ = ["GroupWriter"]

Result = TypeVar("Result")

# Bounds the memory that an uncommitted group holds, and how long its first operation waits for its last.
_MOST_IN_GROUP = 64


class GroupWriter:
    """Runs operations in one thread, in the order in which they came, and commits those that wait together at once.

    An operation that fails does not fail its neighbours: the group is rolled back and each is run again on its own.
    So an operation must be safe to run twice.

    Args:
        name: of the thread.
        commit: makes what the operations did durable and visible.
        rollback: undoes what was not committed.
        start: run in the thread before anything else (to open a connection there).
    """

    def __init__(
        self,
        name: str,
        *,
        commit: Callable[[], None],
        rollback: Callable[[], None],
        start: Callable[[], None] | None = None,
    ) -> None:
        self._commit = commit
        self._rollback = rollback
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=name, initializer=start)
        self._lock = threading.Lock()
        self._waiting: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._draining = False

    async def run(self, operation: Callable[[], Result]) -> Result:
        """Run ``operation`` in the writer's thread; durable when this returns.

        Raises:
            RuntimeError: the writer is closed.
            Exception: what the operation or its commit raised.
        """
        future: Future[Result] = Future()
        with self._lock:
            self._waiting.append((future, operation))
            if not self._draining:
                self._executor.submit(self._drain)
                self._draining = True
        return await asyncio.wrap_future(future)

    async def close(self) -> None:
        """Finish what waits, then end the thread."""
        await asyncio.to_thread(self._executor.shutdown)

    def _drain(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._draining = False
                    return
                taken = [self._waiting.popleft() for _ in range(min(len(self._waiting), _MOST_IN_GROUP))]
            group = [(future, operation) for future, operation in taken if future.set_running_or_notify_cancel()]
            if group and not self._together(group):
                for future, operation in group:
                    self._alone(future, operation)

    def _together(self, group: list[tuple[Future[Any], Callable[[], Any]]]) -> bool:
        if len(group) == 1:
            return False
        try:
            results = [operation() for _, operation in group]
            self._commit()
        except Exception:
            self._rollback()
            return False
        for (future, _), result in zip(group, results, strict=True):
            future.set_result(result)
        return True

    def _alone(self, future: Future[Any], operation: Callable[[], Any]) -> None:
        try:
            result = operation()
            self._commit()
        except BaseException as error:
            self._rollback_after(error)
            future.set_exception(error)
        else:
            future.set_result(result)

    def _rollback_after(self, error: BaseException) -> None:
        try:
            self._rollback()
        except Exception as second:
            error.__context__ = second
