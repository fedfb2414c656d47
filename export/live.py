"""``live.json``: which version of a model callers are to use, since when, and what came before.

The file is the one thing that a promotion changes: whoever loads the model serves what it names. It is written aside,
flushed and renamed, so a crash leaves the old one or the new one. A model without it serves its newest version.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from orchestrator.errors import BuildError, ConfigurationError

__all__ = ["LIVE", "LiveEvent", "LivePointer", "live_lock", "read_live", "write_live"]

LIVE = "live.json"
# Git ignores what begins so.
LOCK = ".building-live.lock"
POLL_S = 0.2
FILE_MODE = 0o644
# Enough to see what happened in the last months; the file is read at each load.
EVENTS_KEPT = 200
VERSION = r"^[1-9][0-9]*$"
VERSION_OR_NONE = r"^([1-9][0-9]*)?$"

Change = Literal["adopted", "candidate", "promoted", "rolled back", "dropped"]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class LiveEvent(_Part):
    """One change.

    Attributes:
        version: the version that it is about.
        change: ``adopted``: it was live before anything was published; ``candidate``: it passed its gates and waits for
            its index; ``promoted`` and ``rolled back``: it became live; ``dropped``: it is a candidate no more.
        at: when.
        fingerprint: of the version; empty where its manifest could not be read.
        gates: what each gate measured, by name.
        note: why, where that is not plain.
    """

    version: str = Field(pattern=VERSION)
    change: Change
    at: datetime
    fingerprint: str = ""
    gates: dict[str, float] = Field(default_factory=dict)
    note: str = ""


class LivePointer(_Part):
    """The file.

    Attributes:
        live: the version that callers are to use.
        previous: the one that was live before it, which a rollback returns to; empty where there was none.
        candidate: served beside it to whoever asks for its fingerprint; empty where there is none.
        since: when `live` became so.
        history: what happened, oldest first.
    """

    schema_: Literal[1] = Field(1, alias="schema")
    live: str = Field(pattern=VERSION)
    previous: str = Field("", pattern=VERSION_OR_NONE)
    candidate: str = Field("", pattern=VERSION_OR_NONE)
    since: datetime
    history: tuple[LiveEvent, ...] = ()

    @classmethod
    def adopting(cls, version: str, fingerprint: str) -> LivePointer:
        """The pointer of a model that was served without one."""
        return cls._first(LiveEvent(version=version, change="adopted", at=_now(), fingerprint=fingerprint))

    @classmethod
    def starting(cls, version: str, fingerprint: str, gates: Mapping[str, float]) -> LivePointer:
        """The pointer of a model whose first version goes live."""
        event = LiveEvent(version=version, change="promoted", at=_now(), fingerprint=fingerprint, gates=dict(gates))
        return cls._first(event)

    @classmethod
    def _first(cls, event: LiveEvent) -> LivePointer:
        return cls(schema=1, live=event.version, since=event.at, history=(event,))

    def promoting(
        self,
        version: str,
        fingerprint: str,
        *,
        change: Change = "promoted",
        gates: Mapping[str, float] | None = None,
        note: str = "",
    ) -> LivePointer:
        """The pointer after ``version`` went live; the one before is what a rollback returns to."""
        event = LiveEvent(
            version=version, change=change, at=_now(), fingerprint=fingerprint, gates=dict(gates or {}), note=note
        )
        previous = self.live if self.live != version else self.previous
        candidate = "" if self.candidate == version else self.candidate
        return self._after(event, live=version, previous=previous, candidate=candidate, since=event.at)

    def registering(self, version: str, fingerprint: str, gates: Mapping[str, float], *, note: str = "") -> LivePointer:
        """The pointer with ``version`` as candidate; one that waited before it is no more."""
        event = LiveEvent(
            version=version, change="candidate", at=_now(), fingerprint=fingerprint, gates=dict(gates), note=note
        )
        return self._after(event, candidate=version)

    def dropping_candidate(self, note: str = "") -> LivePointer:
        """The pointer without a candidate."""
        if not self.candidate:
            return self
        event = LiveEvent(version=self.candidate, change="dropped", at=_now(), note=note)
        return self._after(event, candidate="")

    def gates_of(self, version: str) -> dict[str, float]:
        """What the gates of a version measured when it was last published; empty where it never was."""
        return next(
            (dict(event.gates) for event in reversed(self.history) if event.version == version and event.gates), {}
        )

    def _after(self, event: LiveEvent, **changes: object) -> LivePointer:
        return self.model_copy(update={**changes, "history": (*self.history, event)[-EVENTS_KEPT:]})


def read_live(model_folder: Path) -> LivePointer | None:
    """The pointer of a model; None where nothing was ever published, and its newest version is live.

    Raises:
        ConfigurationError: the file is there but says nothing that can be relied on.
    """
    path = model_folder / LIVE
    try:
        return LivePointer.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        reason = error.strerror
    except ValidationError as error:
        reason = "; ".join(f"{'.'.join(map(str, item['loc'])) or 'file'}: {item['msg']}" for item in error.errors())
    raise ConfigurationError(
        f"{path} does not tell which version is live: {reason}.",
        hint=f"`trias rollback {model_folder.name} --to N` writes it anew; `trias models list` shows the versions.",
    )


def write_live(model_folder: Path, pointer: LivePointer) -> None:
    """Put ``pointer`` in place of the old one, in one step that a crash cannot halve."""
    text = json.dumps(pointer.model_dump(mode="json", by_alias=True), ensure_ascii=False, indent=2) + "\n"
    handle, name = tempfile.mkstemp(prefix=f"{LIVE}.", dir=model_folder)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fchmod(file.fileno(), FILE_MODE)
            os.fsync(file.fileno())
        Path(name).rename(model_folder / LIVE)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
    folder = os.open(model_folder, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@contextlib.asynccontextmanager
async def live_lock(model_folder: Path, *, wait_s: float) -> AsyncIterator[None]:
    """Hold the right to change what is live; the kernel takes it back from a process that dies.

    Raises:
        BuildError: another process still holds it after ``wait_s``.
    """
    end = time.monotonic() + wait_s
    with (model_folder / LOCK).open("w") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                if time.monotonic() >= end:
                    raise BuildError(
                        f"Another process is changing which version of {model_folder.name} is live.",
                        hint="Wait for it, or stop it.",
                    ) from None
                await asyncio.sleep(POLL_S)
            else:
                break
        _clear(model_folder)
        yield


def _clear(model_folder: Path) -> None:
    """Remove what a writer that was killed left."""
    for left in model_folder.glob(f"{LIVE}.*"):
        left.unlink(missing_ok=True)


def _now() -> datetime:
    return datetime.now(timezone.utc).replace(microsecond=0)
