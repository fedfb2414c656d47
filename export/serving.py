"""What publishing needs of the Triton that serves a model; the commands give it one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy.typing as npt

__all__ = ["Counts", "Serving", "Tensors"]

Tensors = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Counts:
    """Requests that a version has answered, and those that ended in an error, since it was loaded."""

    succeeded: int
    failed: int


class Serving(Protocol):
    """One model on one Triton."""

    @property
    def address(self) -> str:
        """host:port, for reports."""

    @property
    def private(self) -> bool:
        """Whether the Triton was started for this publication alone, so that no caller meets it."""

    async def load(self, beside: Sequence[str] = ()) -> None:
        """Serve the version that ``live.json`` names, its candidate, and those ``beside``; the rest is unloaded.

        Raises:
            TriasError: it cannot be loaded; what was served before still is.
        """

    async def unload(self) -> None:
        """Serve no version any more."""

    async def ready(self) -> tuple[str, ...]:
        """The versions that answer."""

    async def infer(self, version: str, inputs: Tensors, outputs: Sequence[str]) -> Tensors:
        """Call one version.

        Raises:
            TriasError: it did not answer, or with an error.
        """

    async def counts(self, version: str) -> Counts:
        """What a version has done so far; zeros where it is not loaded."""
