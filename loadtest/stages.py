"""Where the server's time went: stage timings taken from the responses themselves."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from trias.v1 import common_pb2

__all__ = ["OVERHEAD", "StageRow", "StageTimes"]

OVERHEAD = "orchestrator overhead"
_PARTS = ("total", "Triton", "indexes", OVERHEAD)


@dataclass(frozen=True, slots=True)
class StageRow:
    """One stage over all answers; ``share`` is of the mean total."""

    stage: str
    count: int
    p50_ms: float
    p95_ms: float
    mean_ms: float
    share: float


class StageTimes:
    """Collects `Timing` messages."""

    def __init__(self) -> None:
        self._times: dict[str, list[float]] = defaultdict(list)

    def add(self, timing: common_pb2.Timing) -> None:
        """Add one answer's timing."""
        parts = (timing.total_ms, timing.model_ms, timing.index_ms, timing.overhead_ms)
        for name, value in zip(_PARTS, parts, strict=True):
            self._times[name].append(value)
        for stage in timing.stages:
            self._times[f"stage {stage.stage}"].append(stage.wall_ms)

    def rows(self) -> list[StageRow]:
        """Total first, then its parts, then single stages by their mean."""
        if "total" not in self._times:
            return []
        total = float(np.mean(self._times["total"]))
        stages = sorted(self._names() - set(_PARTS), key=lambda name: -sum(self._times[name]))
        return [self._row(name, total) for name in (*_PARTS, *stages)]

    def _names(self) -> set[str]:
        return set(self._times)

    def _row(self, name: str, total: float) -> StageRow:
        values = np.asarray(self._times[name])
        mean = float(values.mean())
        p50, p95 = (float(value) for value in np.percentile(values, [50, 95]))
        return StageRow(name, len(values), p50, p95, mean, mean / total if total else 0.0)
