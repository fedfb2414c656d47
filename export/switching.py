"""Which version of a model is live: changed in one step, watched, and changed back.

The pointer in ``live.json`` decides: a process that is killed before it changes leaves the old version live, and the
new one is live afterwards. Callers pin every request to a version and go over from the old to the new by themselves,
so both stay loaded until they have.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from export.base import Progress, silent
from export.canary import CanaryLimits, CanaryReport
from export.live import LivePointer, live_lock, read_live, write_live
from export.manifest import read_manifest
from export.publish import newest_complete
from export.repository import inspect_version, list_versions
from export.serving import Counts, Serving
from orchestrator.errors import BuildError, ConfigurationError, GateError, NotFoundError, TriasError

__all__ = ["Change", "LiveModel", "LiveRules", "Outcome", "SwitchIndex"]

POLL_S = 0.5
# A single failed request is no reason to go back; this many may be.
MIN_FAILURES = 2
Change = Literal["promoted", "candidate", "unchanged", "tried", "rolled back"]
# Given a fingerprint: has the vectors that this embedder made answer queries.
SwitchIndex = Callable[[str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class LiveRules:
    """How a version goes live.

    Attributes:
        canary: what it must keep there.
        watch_s: how long Triton's counts are watched after the promotion.
        failed_share: of the requests in that time; above it the old version comes back.
        drain_s: how long the old version stays loaded for who still calls it.
        lock_s: how long another change of the same model is waited for.
    """

    canary: CanaryLimits = field(default_factory=CanaryLimits)
    watch_s: float = 5.0
    failed_share: float = 0.02
    drain_s: float = 3.0
    lock_s: float = 60.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a publication or rollback did.

    Attributes:
        change: ``promoted`` and ``rolled back``: ``version`` is live; ``candidate``: it waits for its index;
            ``unchanged``: it was live already; ``tried``: a dry run, and it is gone again.
        live: the version that is live now.
        previous: the one that a rollback returns to.
        served: whether the Triton that callers use serves it; else it does so at its next start.
        gates: what each gate measured.
        live_gates: what the version that was live measured at the same gates.
        watched: requests that the new version answered while it was watched.
    """

    model: str
    change: Change
    version: str
    fingerprint: str
    live: str
    previous: str
    served: bool
    gates: Mapping[str, float] = field(default_factory=dict)
    live_gates: Mapping[str, float] = field(default_factory=dict)
    canary: CanaryReport | None = None
    watched: int = 0


class LiveModel:
    """One model in the repository, and the Triton that serves it.

    Args:
        folder: of the model in the repository.
        serving: the Triton that callers use, or a private one; None where none runs, and the next one will serve what
            the pointer says.
        rules: limits and times.
        progress: told the name of each step as it begins.
    """

    def __init__(self, folder: Path, serving: Serving | None, rules: LiveRules, *, progress: Progress = silent) -> None:
        self.folder = folder
        self.rules = rules
        self.progress = progress
        # What callers use; a private Triton has no part in what is live.
        self._serving = serving if serving is not None and not serving.private else None

    def lock(self) -> AbstractAsyncContextManager[None]:
        """Hold the right to change what is live."""
        return live_lock(self.folder, wait_s=self.rules.lock_s)

    async def serve(self) -> None:
        """Have callers' Triton serve what the pointer names, and nothing else."""
        if self._serving is not None:
            await self._serving.load()

    async def switch(self, before: LivePointer | None, after: LivePointer, *, watch: bool = True) -> int:
        """Change the pointer and what Triton serves; both are locked by the caller.

        Returns:
            The requests that the new version answered while it was watched.

        Raises:
            GateError: too many of them failed; ``before`` is live again.
            TriasError: Triton could not load it; ``before`` is live, as it was.
        """
        baseline = await self._serving.counts(after.live) if self._serving is not None else Counts(0, 0)
        write_live(self.folder, after)
        if self._serving is None:
            return 0
        old = (before.live,) if before is not None and before.live in _folders(self.folder) else ()
        try:
            await self._serving.load(beside=old)
        except TriasError:
            # Triton keeps serving what it had: so shall the pointer.
            if before is not None:
                write_live(self.folder, before)
            raise
        watched = 0
        if watch and old and before is not None:
            try:
                watched = await self._watch(after.live, baseline)
            except GateError as error:
                await self._go_back(before, after, error.message)
                raise
        if old:
            self.progress("Let the old version go")
            await asyncio.sleep(self.rules.drain_s)
            await self._serving.load()
        return watched

    async def roll_back(self, to: str = "", *, switch_index: SwitchIndex | None = None) -> Outcome:
        """Make an earlier version live again.

        Args:
            to: the version; by default the one that was live before.
            switch_index: for embedders; called while both versions are served.

        Raises:
            NotFoundError: there is no such version, or nothing to return to.
            BuildError: the version is damaged; names the file.
            ConfigurationError: ``live.json`` is damaged and no version was named.
        """
        async with self.lock():
            pointer = self._pointer(damage_is_an_error=not to)
            target = to or (pointer.previous if pointer else "")
            if not target:
                raise NotFoundError(
                    f"Model {self.folder.name} has no version to return to.",
                    hint=f"`trias rollback {self.folder.name} --to N` names one; `trias models list` shows which.",
                )
            self.progress(f"Check the files of version {target}")
            fingerprint = await asyncio.to_thread(_whole, self.folder, target)
            if switch_index is not None and pointer is not None:
                pointer = await self._switch_index(pointer, target, fingerprint, switch_index)
            if pointer is not None and pointer.live == target:
                write_live(self.folder, pointer)
                await self.serve()
                return self.outcome("unchanged", target, fingerprint, pointer)
            self.progress(f"Return to version {target}")
            after = (
                LivePointer.adopting(target, fingerprint)
                if pointer is None
                else pointer.promoting(target, fingerprint, change="rolled back").dropping_candidate("rolled back")
            )
            # Not watched: the way back from a rollback would be the version that was just left.
            await self.switch(pointer, after, watch=False)
            return self.outcome("rolled back", target, fingerprint, after)

    def outcome(
        self,
        change: Change,
        version: str,
        fingerprint: str,
        pointer: LivePointer | None,
        *,
        gates: Mapping[str, float] | None = None,
        live_gates: Mapping[str, float] | None = None,
        canary: CanaryReport | None = None,
        watched: int = 0,
    ) -> Outcome:
        """What was done, with what is live now."""
        return Outcome(
            model=self.folder.name,
            change=change,
            version=version,
            fingerprint=fingerprint,
            live=pointer.live if pointer else "",
            previous=pointer.previous if pointer else "",
            served=self._serving is not None,
            gates=gates or {},
            live_gates=live_gates or {},
            canary=canary,
            watched=watched,
        )

    async def _watch(self, version: str, baseline: Counts) -> int:
        assert self._serving is not None
        self.progress(f"Watch for {self.rules.watch_s:g} s")
        end = time.monotonic() + self.rules.watch_s
        while True:
            now = await self._serving.counts(version)
            # Loading with another configuration can start the counts anew.
            start = baseline if now.succeeded >= baseline.succeeded else Counts(0, 0)
            failed = now.failed - start.failed
            total = failed + now.succeeded - start.succeeded
            if failed >= MIN_FAILURES and failed > self.rules.failed_share * total:
                raise GateError(
                    "watch.failed_share",
                    failed / total,
                    f"<= {self.rules.failed_share:g}",
                    hint=f"{failed} of {total} requests to version {version} failed after its promotion; the version "
                    "before it is live again.",
                )
            if time.monotonic() >= end:
                return total
            await asyncio.sleep(min(POLL_S, max(0.0, end - time.monotonic())))

    async def _go_back(self, before: LivePointer, after: LivePointer, reason: str) -> None:
        fingerprint = _fingerprint(self.folder, before.live)
        write_live(self.folder, after.promoting(before.live, fingerprint, change="rolled back", note=reason))
        assert self._serving is not None
        await self._serving.load(beside=(after.live,))
        await asyncio.sleep(self.rules.drain_s)
        await self._serving.load()

    async def _switch_index(
        self, pointer: LivePointer, target: str, fingerprint: str, switch_index: SwitchIndex
    ) -> LivePointer:
        """Serve both versions, then have the other one's vectors answer."""
        if pointer.live != target:
            pointer = pointer.registering(target, fingerprint, pointer.gates_of(target), note="for a rollback")
            write_live(self.folder, pointer)
            self.progress("Load beside the live version")
            await self.serve()
        self.progress("Switch to its vectors")
        try:
            await switch_index(fingerprint)
        except TriasError:
            write_live(self.folder, pointer.dropping_candidate("it has no vectors to return to"))
            await self.serve()
            raise
        return pointer

    def _pointer(self, *, damage_is_an_error: bool) -> LivePointer | None:
        try:
            pointer = read_live(self.folder)
        except ConfigurationError:
            if damage_is_an_error:
                raise
            return None
        if pointer is not None:
            return pointer
        newest = newest_complete(list_versions(self.folder))
        if newest is None or newest.manifest is None:
            return None
        return LivePointer.adopting(str(newest.version), newest.manifest.fingerprint)


def _folders(model_folder: Path) -> set[str]:
    return {entry.name for entry in model_folder.iterdir() if entry.is_dir()}


def _whole(model_folder: Path, version: str) -> str:
    """The fingerprint of a version, after a look at each of its files."""
    if not version.isdecimal() or version not in _folders(model_folder):
        raise NotFoundError(
            f"Model {model_folder.name} has no version {version!r}.", hint="`trias models list` shows them."
        )
    state = inspect_version(model_folder / version)
    if state.problem or state.manifest is None:
        raise BuildError(
            f"Version {version} of model {model_folder.name} is damaged: {state.problem}.", hint="Publish it again."
        )
    return state.manifest.fingerprint


def _fingerprint(model_folder: Path, version: str) -> str:
    try:
        return read_manifest(model_folder / version).fingerprint
    except BuildError:
        return ""
