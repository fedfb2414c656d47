"""``live.json``: which version of a model callers are to use, since when, and what came before.

The file is the one thing that a promotion changes: whoever loads the model serves what it names. It is written aside,
flushed and renamed, so a crash leaves the old one or the new one. A model without it serves its newest version.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from datetime import datetime, timezone
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from orchestrator.errors import ConfigurationError

__all__ = ["LIVE", "LiveEvent", "LivePointer", "read_live", "write_live"]

LIVE = "live.json"
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
        now = _now()
        event = LiveEvent(version=version, change="adopted", at=now, fingerprint=fingerprint)
        return cls(schema=1, live=version, since=now, history=(event,))

    def promoting(
        self, version: str, fingerprint: str, *, change: Change = "promoted", gates: dict[str, float] | None = None
    ) -> LivePointer:
        """The pointer after ``version`` went live; the one before is what a rollback returns to."""
        event = LiveEvent(version=version, change=change, at=_now(), fingerprint=fingerprint, gates=gates or {})
        previous = self.live if self.live != version else self.previous
        candidate = "" if self.candidate == version else self.candidate
        return self._after(event, live=version, previous=previous, candidate=candidate, since=event.at)

    def registering(self, version: str, fingerprint: str, gates: dict[str, float]) -> LivePointer:
        """The pointer with ``version`` as candidate; one that waited before it is no more."""
        event = LiveEvent(version=version, change="candidate", at=_now(), fingerprint=fingerprint, gates=gates)
        return self._after(event, candidate=version)

    def dropping_candidate(self, note: str = "") -> LivePointer:
        """The pointer without a candidate."""
        if not self.candidate:
            return self
        event = LiveEvent(version=self.candidate, change="dropped", at=_now(), note=note)
        return self._after(event, candidate="")

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


def _now() -> datetime:
    return datetime.now(timezone.utc).replace(microsecond=0)
