"""The run card: what an adapter is, where it came from, and what it was measured to do."""

from __future__ import annotations

import importlib.metadata
import resource
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from orchestrator.errors import ConfigurationError

__all__ = ["CARD", "DataCard", "RunCard", "Stopwatch", "libraries", "read_card", "write_card"]

CARD = "card.yaml"
LIBRARIES = ("torch", "transformers", "peft", "tokenizers", "onnxruntime")
KILOBYTES_IN_MB = 1024


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class DataCard(_Part):
    """One file or set that was trained on."""

    name: str
    sha256: str
    rows: int = Field(ge=0)
    licence: str


class RunCard(_Part):
    """Everything that is needed to repeat a run and to judge it.

    Attributes:
        base_sha256: of the base checkpoint's weights.
        held_out: what the metrics were measured on, in words.
        before: metrics of what the run started from (or of what the model replaces).
        after: the same metrics of the result.
    """

    model: str
    base: str
    base_sha256: str
    recipe: dict[str, Any]
    data: tuple[DataCard, ...]
    command: str
    libraries: dict[str, str]
    minutes: float
    peak_memory_mb: int
    held_out: str
    before: dict[str, float]
    after: dict[str, float]
    notes: str = ""


class Stopwatch:
    """Minutes and peak memory of this process since it was made (memory: since the process began)."""

    def __init__(self) -> None:
        self._started = time.monotonic()

    def minutes(self) -> float:
        """Wall time, in minutes."""
        return round((time.monotonic() - self._started) / 60, 1)

    def peak_memory_mb(self) -> int:
        """The largest resident set so far, in MiB (Linux reports KiB)."""
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // KILOBYTES_IN_MB


def libraries() -> dict[str, str]:
    """The versions of what trains."""
    return {name: importlib.metadata.version(name) for name in LIBRARIES}


def write_card(folder: Path, card: RunCard) -> None:
    """Write ``card.yaml`` into an adapter's folder."""
    tree = card.model_dump(mode="json", exclude_defaults=True)
    (folder / CARD).write_text(yaml.safe_dump(tree, allow_unicode=True, sort_keys=False), encoding="utf-8")


def read_card(folder: Path) -> RunCard:
    """The card in an adapter's folder.

    Raises:
        ConfigurationError: it is missing or malformed.
    """
    path = folder / CARD
    try:
        tree: Mapping[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
        return RunCard.model_validate(tree)
    except (OSError, UnicodeDecodeError, yaml.YAMLError, ValidationError) as error:
        raise ConfigurationError(f"The run card {path} cannot be read: {error}.") from None
