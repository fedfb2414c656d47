"""The systems that are compared: ours, and what the same model can be run with instead."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from export.base import TOKENIZER
from export.exporting import MODEL as GRAPH
from loadtest.serving.material import Material
from orchestrator.settings import PROJECT

__all__ = ["INSTALL", "OURS", "RIVALS_PYTHON", "System", "systems"]

OURS = "Triton"
RIVALS_PYTHON = PROJECT / ".venv-bench" / "bin" / "python"
INSTALL = "make rivals"
# What quantising may cost against the float32 checkpoint on any text; float32 against float32 differs by rounding.
FLOOR = {"fp32": 0.9999}
QUANTISED_FLOOR = 0.98


@dataclass(frozen=True, slots=True)
class System:
    """One of them.

    Attributes:
        name: as the table shows it.
        engine: of `loadtest.serving.engines`.
        python: the interpreter of its environment.
        options: of its engine.
        floor: the worst cosine with the checkpoint that still counts as the same model.
    """

    name: str
    engine: str
    python: Path
    options: Mapping[str, Any] = field(repr=False)
    floor: float

    @property
    def absent(self) -> str:
        """Why it can't be started, in a sentence; empty where its environment is there."""
        return "" if self.python.is_file() else f"{self.python} does not exist"


def systems(material: Material, address: str, repository: Path, *, rivals: Path = RIVALS_PYTHON) -> list[System]:
    """All of them, ours first.

    Args:
        material: what they run.
        address: of the Triton.
        repository: that it serves.
        rivals: the interpreter of the environment in which the other libraries are.
    """
    manifest, own = material.manifest, Path(sys.executable)
    prefixes = dict(manifest.prefixes)
    floor = FLOOR.get(manifest.precision, QUANTISED_FLOOR)
    graph = {
        "tokenizer": str(material.version / TOKENIZER),
        "prefixes": prefixes,
        "max_length": manifest.max_length,
        "output": manifest.outputs["dense"],
    }
    served = {**graph, "graph": str(material.version / GRAPH)}
    checkpoint = {"checkpoint": str(material.checkpoint), "prefixes": prefixes}
    return [
        System(OURS, "triton", own, {"address": address, "repository": str(repository)}, floor),
        System(f"onnxruntime, {manifest.precision}", "graph", own, served, floor),
        System("onnxruntime, fp32", "graph", own, {**graph, "graph": str(material.graph)}, FLOOR["fp32"]),
        System("sentence-transformers", "sentence-transformers", rivals, checkpoint, FLOOR["fp32"]),
        System("infinity", "infinity", rivals, checkpoint, FLOOR["fp32"]),
    ]
