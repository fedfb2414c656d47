"""Finds models that no longer answer, and a tritonserver that is gone, and brings them back.

Triton reports a model as ready whose Python stub has died, so only a canary finds out. A model that is merely busy
must not be reloaded: late answers count only where nobody else is answered either.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from dataclasses import dataclass, replace
from types import TracebackType

from orchestrator.errors import DeadlineExceededError, TriasError
from orchestrator.inference.canary import send_canary
from orchestrator.inference.failures import BETWEEN_LOADS, BUSY, CRASHED, REJECTED, UNREACHABLE, cause_of
from orchestrator.inference.hosts import TritonHost
from orchestrator.inference.triton import TritonClient
from orchestrator.settings import CanarySettings

__all__ = ["Watchdog", "WatchdogCounters"]

log = logging.getLogger(__name__)

FIRST_PAUSE_S = 0.5


@dataclass(frozen=True, slots=True)
class WatchdogCounters:
    """What the watchdog has seen and done.

    Attributes:
        canaries: requests sent.
        failures: of those, the ones that a healthy model would have answered.
        heals: models reloaded.
        restarts: servers started anew.
    """

    canaries: int = 0
    failures: int = 0
    heals: int = 0
    restarts: int = 0


class Watchdog:
    """Watches all models of one Triton, as long as it is entered.

    Args:
        host: the Triton.
        settings: intervals and patience.
    """

    def __init__(self, host: TritonHost, settings: CanarySettings) -> None:
        self._host = host
        self._settings = settings
        self._counters = WatchdogCounters()
        self._tasks: list[asyncio.Task[None]] = []
        self._client: TritonClient | None = None
        # One repair at a time: a restart loads all models, and none of them must be loaded beside it.
        self._repairing = asyncio.Lock()

    async def __aenter__(self) -> Watchdog:
        self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    @property
    def counters(self) -> WatchdogCounters:
        """What was seen and done so far."""
        return self._counters

    def start(self) -> None:
        """Begin to watch; the host must be started."""
        self._client = TritonClient(self._host.grpc_address)
        self._tasks = [
            asyncio.create_task(self._watch_process(), name="watchdog of tritonserver"),
            asyncio.create_task(self._watch_stubs(), name="watchdog of stubs"),
        ]
        self._tasks += [
            asyncio.create_task(self._watch_model(model), name=f"watchdog of {model}") for model in self._host.models
        ]

    async def stop(self) -> None:
        """Watch no longer; a repair under way is abandoned."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._client is not None:
            client, self._client = self._client, None
            await client.close()

    async def _watch_process(self) -> None:
        while True:
            code = await self._host.exited()
            log.error("tritonserver ended with exit code %d; starting it again", code)
            await self._restart()

    async def _watch_stubs(self) -> None:
        while True:
            # A death is told at its second sighting: two looks in the time of one canary.
            await asyncio.sleep(self._settings.interval_s / 2)
            for model in await self._host.crashed_models():
                try:
                    async with self._repairing:
                        await self._reload(model, "its process has died")
                except TriasError as error:
                    # Its canary goes on trying.
                    log.error("model %s is not healed: %s", model, error)  # noqa: TRY400

    async def _restart(self) -> None:
        pause = FIRST_PAUSE_S
        async with self._repairing:
            while True:
                try:
                    await self._host.restart()
                except TriasError as error:
                    log.error("tritonserver cannot be started again, next try in %g s: %s", pause, error)  # noqa: TRY400
                    await asyncio.sleep(pause)
                    pause = min(2 * pause, self._settings.max_pause_s)
                else:
                    self._count(restarts=1)
                    log.warning("tritonserver is back")
                    return

    async def _watch_model(self, model: str) -> None:
        state = _Health(asyncio.get_running_loop().time())
        while True:
            await asyncio.sleep(max(self._settings.interval_s, state.pause_s))
            try:
                await self._look(model, state)
            except TriasError as error:
                # A repair failed: try again, later each time, but never give up.
                state.pause_s = min(max(2 * state.pause_s, FIRST_PAUSE_S), self._settings.max_pause_s)
                log.error("model %s is not healed, next try in %g s: %s", model, state.pause_s, error)  # noqa: TRY400

    async def _look(self, model: str, state: _Health) -> None:
        error = await self._canary(model)
        now = asyncio.get_running_loop().time()
        if error is None or await self._is_only_busy(model, error, state):
            state.alive(now)
            return
        self._count(failures=1)
        state.failures += 1
        cause = cause_of(error)
        if cause == UNREACHABLE:
            # The process watch restarts a server of ours; somebody else's we can only wait for.
            return
        if isinstance(error, DeadlineExceededError):
            if now - state.answered > self._settings.hang_s:
                await self._heal_hung(model, error)
                state.alive(asyncio.get_running_loop().time())
        elif cause == CRASHED or state.failures >= self._settings.failures:
            await self._heal(model, error)
            state.alive(asyncio.get_running_loop().time())

    async def _canary(self, model: str) -> TriasError | None:
        assert self._client is not None, "the watchdog is started"
        self._count(canaries=1)
        try:
            await send_canary(self._host.control, self._client, model, timeout_s=self._settings.timeout_s)
        except TriasError as error:
            return error
        return None

    async def _is_only_busy(self, model: str, error: TriasError, state: _Health) -> bool:
        cause = cause_of(error)
        if cause == REJECTED and not state.rejected:
            state.rejected = True
            log.warning("model %s rejects its canary, so it is alive but not really tested: %s", model, error)
        if cause in (BUSY, REJECTED):
            return True
        if not isinstance(error, DeadlineExceededError):
            return False
        with contextlib.suppress(TriasError):
            executions = (await self._host.control.statistics(model)).executions
            progressed = executions != state.executions
            state.executions = executions
            return progressed
        return False

    async def _heal_hung(self, model: str, error: TriasError) -> None:
        if await self._host.control.server_live(timeout_s=self._settings.timeout_s):
            await self._heal(model, error)
        else:
            log.error("tritonserver hangs; starting it again")
            await self._restart()

    async def _heal(self, model: str, error: TriasError) -> None:
        async with self._repairing:
            if await self._canary(model) is None:
                return
            await self._reload(model, str(error))

    async def _reload(self, model: str, reason: str) -> None:
        log.warning("reloading model %s: %s", model, reason)
        await self._host.renew(model)
        error = await self._canary(model)
        if error is not None and cause_of(error) in (CRASHED, BETWEEN_LOADS):
            await self._host.control.unload(model)
            await self._host.load(model)
        self._count(heals=1)
        log.warning("model %s is back", model)

    def _count(self, *, canaries: int = 0, failures: int = 0, heals: int = 0, restarts: int = 0) -> None:
        old = self._counters
        self._counters = replace(
            old,
            canaries=old.canaries + canaries,
            failures=old.failures + failures,
            heals=old.heals + heals,
            restarts=old.restarts + restarts,
        )


@dataclass(slots=True)
class _Health:
    """What the watchdog remembers of a model between two looks."""

    answered: float
    failures: int = 0
    executions: int = -1
    pause_s: float = 0.0
    rejected: bool = False

    def alive(self, now: float) -> None:
        self.answered = now
        self.failures = 0
        self.pause_s = 0.0
