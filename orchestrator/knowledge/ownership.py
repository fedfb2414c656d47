"""One process owns a library's folder: a lock that the kernel releases however that process ends."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from orchestrator.errors import ConfigurationError, LibraryLockedError

__all__ = ["Ownership"]

_FILE = "owner.lock"


class Ownership:
    """A held lock on a folder. Use `Ownership.take`."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def take(cls, folder: Path) -> Ownership:
        """Lock ``folder``, which is made where it does not exist.

        Raises:
            LibraryLockedError: another process holds it; names that process.
            ConfigurationError: the folder cannot be made or written.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(folder / _FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise ConfigurationError(
                f"The library's folder {folder} cannot be used: {error.strerror}.", hint="Check paths.data."
            ) from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            owner = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip() or "unknown"
            os.close(descriptor)
            raise LibraryLockedError(
                f"The library {folder} is in use by process {owner}.",
                hint="If that is `trias serve`, reach the library through it (--server); else stop that process.",
                metadata={"folder": str(folder), "owner": owner},
            ) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        return cls(descriptor)

    def release(self) -> None:
        """Give the folder up; the file stays. Releasing twice does nothing."""
        if self._descriptor >= 0:
            # Closing alone would leave the lock with a child process that was forked meanwhile.
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
            os.close(self._descriptor)
            self._descriptor = -1
