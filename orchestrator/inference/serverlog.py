"""The log of a tritonserver: appended to, rotated, and read back when a start fails."""

from __future__ import annotations

from io import FileIO
from pathlib import Path

from orchestrator.errors import ConfigurationError

__all__ = ["ServerLog"]

MAX_BYTES = 8 * 1024 * 1024
KEPT = 3
TAIL_LINES = 12
TAIL_BYTES = 64 * 1024
PORT_TAKEN = ("Address already in use", "already in use")


class ServerLog:
    """One log file. The server writes to it by itself (it must not block on us), so it is rotated at its starts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._start = 0

    def open(self) -> FileIO:
        """The file, opened for the next run of the server.

        Raises:
            ConfigurationError: it cannot be written.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self.path.exists() and self.path.stat().st_size > MAX_BYTES:
                self._rotate()
            output = FileIO(self.path, "a")
        except OSError as error:
            raise ConfigurationError(f"{self.path} cannot be written: {error}.", hint="Check paths.data.") from None
        self._start = output.seek(0, 2)
        return output

    def tail(self) -> str:
        """The last lines of the run that `open` began."""
        # Without the tables of options that Triton prints: they push the reason out of sight.
        lines = [line for line in self._run().splitlines() if line.strip() and not line.startswith(("|", "+"))]
        return "\n".join(lines[-TAIL_LINES:]) or "(nothing was logged)"

    def says_port_taken(self) -> bool:
        """Whether the run ended because somebody else took a port first."""
        text = self._run()
        return any(words in text for words in PORT_TAKEN)

    def _run(self) -> str:
        try:
            with self.path.open("rb") as file:
                file.seek(max(self._start, file.seek(0, 2) - TAIL_BYTES))
                return file.read().decode("utf-8", "replace")
        except OSError:
            return ""

    def _rotate(self) -> None:
        names = [self.path, *(self.path.with_name(f"{self.path.name}.{count}") for count in range(1, KEPT + 1))]
        for older, newer in zip(reversed(names), reversed(names[:-1]), strict=False):
            if newer.exists():
                newer.replace(older)
