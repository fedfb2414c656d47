from __future__ import annotations

import asyncio
import threading

import pytest

from orchestrator.knowledge.group import GroupWriter


class Ledger:
    """Something with commits: what is pending becomes kept."""

    def __init__(self) -> None:
        self.pending: list[int] = []
        self.kept: list[int] = []
        self.commits = 0
        self.broken = False

    def commit(self) -> None:
        if self.broken:
            raise OSError("no space left")
        self.commits += 1
        self.kept += self.pending
        self.pending.clear()

    def rollback(self) -> None:
        self.pending.clear()

    def add(self, number: int) -> int:
        self.pending.append(number)
        if number < 0:
            raise ValueError(f"{number} is negative")
        return number * 10


async def _blocked(writer: GroupWriter) -> threading.Event:
    """Holds the writer's thread, so that what comes next waits together."""
    entered, release = threading.Event(), threading.Event()

    def hold() -> None:
        entered.set()
        release.wait(10)

    task = asyncio.create_task(writer.run(hold))
    await asyncio.to_thread(entered.wait, 10)
    release.task = task  # type: ignore[attr-defined]  # keeps the task alive
    return release


async def test_operations_that_wait_together_share_a_commit() -> None:
    ledger = Ledger()
    writer = GroupWriter("test", commit=ledger.commit, rollback=ledger.rollback)
    release = await _blocked(writer)
    tasks = [asyncio.create_task(writer.run(lambda number=number: ledger.add(number))) for number in range(20)]  # type: ignore[misc]
    await asyncio.sleep(0)
    release.set()
    assert await asyncio.gather(*tasks) == [number * 10 for number in range(20)]
    assert ledger.kept == list(range(20))
    assert ledger.commits == 2
    await writer.close()


async def test_a_failing_operation_fails_alone() -> None:
    ledger = Ledger()
    writer = GroupWriter("test", commit=ledger.commit, rollback=ledger.rollback)
    release = await _blocked(writer)
    tasks = [asyncio.create_task(writer.run(lambda number=number: ledger.add(number))) for number in (1, -2, 3)]  # type: ignore[misc]
    await asyncio.sleep(0)
    release.set()
    first, second, third = await asyncio.gather(*tasks, return_exceptions=True)
    assert (first, third) == (10, 30)
    assert isinstance(second, ValueError)
    assert ledger.kept == [1, 3]
    await writer.close()


async def test_a_failing_commit_is_reported_and_keeps_nothing() -> None:
    ledger = Ledger()
    writer = GroupWriter("test", commit=ledger.commit, rollback=ledger.rollback)
    ledger.broken = True
    with pytest.raises(OSError, match="no space left"):
        await writer.run(lambda: ledger.add(1))
    ledger.broken = False
    assert await writer.run(lambda: ledger.add(2)) == 20
    assert ledger.kept == [2]
    await writer.close()


async def test_a_cancelled_waiter_is_left_out() -> None:
    ledger = Ledger()
    writer = GroupWriter("test", commit=ledger.commit, rollback=ledger.rollback)
    release = await _blocked(writer)
    gone = asyncio.create_task(writer.run(lambda: ledger.add(1)))
    stays = asyncio.create_task(writer.run(lambda: ledger.add(2)))
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.sleep(0)
    release.set()
    assert await stays == 20
    assert ledger.kept == [2]
    await writer.close()


async def test_closing_finishes_what_waits_and_takes_nothing_more() -> None:
    ledger = Ledger()
    writer = GroupWriter("test", commit=ledger.commit, rollback=ledger.rollback)
    tasks = [asyncio.create_task(writer.run(lambda number=number: ledger.add(number))) for number in range(5)]  # type: ignore[misc]
    await asyncio.sleep(0)
    await writer.close()
    await asyncio.gather(*tasks)
    assert ledger.kept == list(range(5))
    with pytest.raises(RuntimeError):
        await writer.run(lambda: ledger.add(9))
