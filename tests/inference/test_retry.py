from __future__ import annotations

import time

import pytest

from orchestrator.errors import ModelError, ModelUnavailableError, TriasError
from orchestrator.inference.deadline import Deadline
from orchestrator.inference.retry import retrying


class Flaky:
    def __init__(self, *errors: TriasError) -> None:
        self.errors = list(errors)
        self.calls = 0

    async def __call__(self) -> str:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return "done"


def may_retry(error: TriasError) -> bool:
    return isinstance(error, ModelUnavailableError)


async def test_what_may_pass_is_tried_again() -> None:
    call = Flaky(ModelUnavailableError("a"), ModelUnavailableError("b"))
    assert await retrying(call, attempts=5, deadline=Deadline.after(60), may_retry=may_retry) == "done"
    assert call.calls == 3


async def test_what_will_not_pass_is_raised_at_once() -> None:
    call = Flaky(ModelError("bad shape"))
    with pytest.raises(ModelError, match="bad shape"):
        await retrying(call, attempts=5, deadline=Deadline.after(60), may_retry=may_retry)
    assert call.calls == 1


async def test_attempts_are_counted() -> None:
    call = Flaky(*(ModelUnavailableError(str(number)) for number in range(9)))
    with pytest.raises(ModelUnavailableError, match="1"):
        await retrying(call, attempts=2, deadline=Deadline.after(60), may_retry=may_retry)
    assert call.calls == 2


async def test_nobody_waits_for_a_try_that_cannot_come() -> None:
    call = Flaky(*(ModelUnavailableError("away") for _ in range(9)))
    started = time.monotonic()
    with pytest.raises(ModelUnavailableError, match="away"):
        await retrying(call, attempts=9, deadline=Deadline.after(0.03), may_retry=may_retry)
    assert call.calls == 1
    assert Deadline(started).remaining_s == 0
