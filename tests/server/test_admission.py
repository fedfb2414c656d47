from __future__ import annotations

import asyncio

import pytest

from orchestrator.errors import AdmissionError
from orchestrator.server.admission import Admission
from orchestrator.settings import AdmissionSettings


def admission(in_flight: int, waiting: int, wait_s: float = 60) -> Admission:
    return Admission(
        AdmissionSettings(max_in_flight=in_flight, max_waiting=waiting, max_wait_s=wait_s, retry_after_s=1)
    )


async def turn_taken(gate: Admission, count: int) -> None:
    while gate.waiting < count:
        await asyncio.sleep(0)


async def test_at_most_so_many_are_inside_and_the_others_follow_in_order() -> None:
    gate, inside, most, order = admission(2, 50), 0, 0, []

    async def visit(number: int) -> None:
        nonlocal inside, most
        async with gate.admitted():
            inside += 1
            most = max(most, inside)
            order.append(number)
            await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(*(visit(number) for number in range(20)))
    assert most == 2
    assert order == list(range(20))
    assert (gate.in_flight, gate.waiting) == (0, 0)


async def test_a_full_queue_refuses_at_once() -> None:
    gate = admission(1, 1)
    async with gate.admitted():
        waiter = asyncio.ensure_future(_enter(gate))
        await turn_taken(gate, 1)
        with pytest.raises(AdmissionError) as caught:
            await _enter(gate)
        assert caught.value.retry_after_s == 1
    await waiter
    assert gate.in_flight == 0


async def test_who_waits_too_long_is_refused_and_frees_its_place_in_the_queue() -> None:
    gate = admission(1, 1, wait_s=0.05)
    async with gate.admitted():
        for _ in range(3):
            with pytest.raises(AdmissionError):
                await _enter(gate)
        assert gate.waiting == 0
    await _enter(gate)
    assert gate.in_flight == 0


async def test_cancelled_while_waiting() -> None:
    gate = admission(1, 5)
    async with gate.admitted():
        waiters = [asyncio.ensure_future(_enter(gate)) for _ in range(3)]
        await turn_taken(gate, 3)
        waiters[0].cancel()
        await asyncio.sleep(0)
        assert gate.waiting == 2
    assert [type(result) for result in await asyncio.gather(*waiters, return_exceptions=True)] == [
        asyncio.CancelledError,
        type(None),
        type(None),
    ]
    assert gate.in_flight == 0


async def test_cancelled_in_the_moment_of_its_turn_hands_the_place_on() -> None:
    gate = admission(1, 5)
    holder = gate.admitted()
    await holder.__aenter__()
    first, second = asyncio.ensure_future(_enter(gate)), asyncio.ensure_future(_enter(gate))
    await turn_taken(gate, 2)
    await holder.__aexit__(None, None, None)
    first.cancel()
    await second
    with pytest.raises(asyncio.CancelledError):
        await first
    assert gate.in_flight == 0


async def _enter(gate: Admission) -> None:
    async with gate.admitted():
        await asyncio.sleep(0)
