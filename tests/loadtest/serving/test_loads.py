from __future__ import annotations

import asyncio
import threading

import pytest

from loadtest.serving.loads import Load, drive_tasks, drive_threads

BATCHES = [["甲", "乙"], ["丙", "丁"]]


def test_batches_are_whole() -> None:
    assert Load("", "passage", batch=2, callers=1).batches(["甲", "乙", "丙"]) == [["甲", "乙"]]
    assert Load("", "passage", batch=8, callers=1).batches(["甲", "乙", "丙"]) == [["甲", "乙", "丙"]]


def test_without_time_each_caller_calls_once() -> None:
    called = []
    done = drive_threads(called.append, BATCHES, callers=3, seconds=0)
    assert done.texts == 6
    assert called.count(BATCHES[0]) == 2  # handed out in turn


def test_threads_are_all_there_before_the_clock_starts() -> None:
    entered: list[str] = []
    seen: list[int] = []
    drive_threads(
        lambda _batch: seen.append(len(entered)),
        BATCHES,
        callers=4,
        seconds=0,
        enter=lambda: entered.append(threading.current_thread().name),
    )
    assert len(set(entered)) == 4
    assert set(seen) == {4}


@pytest.mark.parametrize("callers", [1, 4])
def test_a_failing_call_is_raised_not_counted(callers: int) -> None:
    def fail(_batch: list[str]) -> None:
        raise KeyError("dense")

    with pytest.raises(KeyError, match="dense"):
        drive_threads(fail, BATCHES, callers=callers, seconds=5)


def test_a_thread_that_cannot_begin_keeps_nobody_waiting() -> None:
    def enter() -> None:
        raise KeyError("threads")

    with pytest.raises(KeyError, match="threads"):
        drive_threads(lambda _batch: None, BATCHES, callers=4, seconds=5, enter=enter)


async def test_tasks_call_side_by_side() -> None:
    running = most = 0

    async def call(_batch: list[str]) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.01)
        running -= 1

    done = await drive_tasks(call, BATCHES, callers=8, seconds=0.02)
    assert most == 8
    assert done.texts >= 16
    assert done.seconds >= 0.02
    assert done.rate == pytest.approx(done.texts / done.seconds)
