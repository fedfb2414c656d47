"""What lets a run be watched and be taken up again: progress, and snapshots after every epoch."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import torch

__all__ = ["Progress", "QuietProgress", "Snapshot", "Task"]

STATE, MINED = "state.pt", "mined-{round}.json"


class Task(Protocol):
    """A bar that fills."""

    def advance(self, rows: int, loss: float | None = None) -> None:
        """So much more is done; the latest loss, where there is one."""


class Progress(Protocol):
    """Shows what a run does."""

    def task(self, title: str, total: int) -> contextlib.AbstractContextManager[Task]:
        """A part of the run with a known length."""


class QuietProgress:
    """Nobody watches."""

    @contextlib.contextmanager
    def task(self, title: str, total: int) -> Iterator[Task]:  # noqa: ARG002 (the protocol's)
        """A task that shows nothing."""
        yield self

    def advance(self, rows: int, loss: float | None = None) -> None:
        """Nothing to show."""


class Snapshot:
    """The state of a run on disk, so that an interrupted one goes on at its last whole epoch.

    Args:
        folder: of this run alone: its name follows from recipe and data.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def mined(self, round_: int) -> tuple[dict[str, list[int]], dict[str, float]] | None:
        """The negatives and figures of a round that was begun before."""
        path = self._folder / MINED.format(round=round_)
        if not path.is_file():
            return None
        tree = json.loads(path.read_text(encoding="utf-8"))
        return tree["negatives"], tree["measured"]

    def keep_mined(self, round_: int, negatives: Mapping[str, list[int]], measured: Mapping[str, float]) -> None:
        """Have them ready for `mined`."""
        text = json.dumps({"negatives": negatives, "measured": measured})
        self._replace(MINED.format(round=round_), lambda path: path.write_text(text, encoding="utf-8"))

    def keep(self, round_: int, epochs: int, parts: Mapping[str, Any]) -> None:
        """Keep what is being trained, after ``epochs`` whole epochs of a round."""
        state = {name: _state_of(part) for name, part in parts.items()}
        self._replace(STATE, lambda path: torch.save({"round": round_, "epochs": epochs, "parts": state}, path))

    def restore(self, round_: int, parts: Mapping[str, Any]) -> int:
        """Bring ``parts`` to where the last run left them; returns the whole epochs of this round that are done."""
        path = self._folder / STATE
        if not path.is_file():
            return 0
        kept = torch.load(path, weights_only=True)
        if kept["round"] < round_:
            return 0
        for name, part in parts.items():
            # A later round goes on with the model of the earlier one, and starts its schedule anew.
            if name == "model" or kept["round"] == round_:
                part.load_state_dict(kept["parts"][name], **({"strict": False} if name == "model" else {}))
        return int(kept["epochs"]) if kept["round"] == round_ else 1 << 30

    def _replace(self, name: str, write: Any) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        aside = self._folder / f"{name}.new"
        write(aside)
        aside.replace(self._folder / name)


def _state_of(part: Any) -> dict[str, Any]:
    if isinstance(part, torch.nn.Module):
        trained = {name for name, weight in part.named_parameters() if weight.requires_grad}
        return {name: tensor for name, tensor in part.state_dict().items() if name in trained}
    state: dict[str, Any] = part.state_dict()
    return state
