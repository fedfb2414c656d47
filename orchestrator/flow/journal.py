"""What happened to one question so far: the trace, the time, and what was missing."""

from __future__ import annotations

import asyncio

from orchestrator.errors import TriasError
from trias.v1 import answer_service_pb2, common_pb2

__all__ = ["Journal", "degradation_of"]


def degradation_of(component: str, error: Exception) -> common_pb2.Degradation:
    """What an answer says about a part that failed."""
    if isinstance(error, TriasError):
        reason, detail = error.reason, str(error)
    else:
        # The text of an unexpected exception may hold anything; it goes to the log, not to the caller.
        reason, detail = "INTERNAL", f"The {component} failed unexpectedly."
    return common_pb2.Degradation(
        level=common_pb2.FAULT_LEVEL_DEGRADED, component=component, reason=reason, detail=detail
    )


class Journal:
    """Written by the flow while it works; read into each tier's answer."""

    def __init__(self) -> None:
        self._clock = asyncio.get_running_loop().time
        self._start = self._clock()
        self._trace: list[answer_service_pb2.TraceEntry] = []
        self._stages: list[common_pb2.StageTiming] = []
        self._model_ms = 0.0
        self._index_ms = 0.0
        self._degradations: dict[tuple[str, str], common_pb2.Degradation] = {}

    @property
    def elapsed_ms(self) -> float:
        """Milliseconds since the question arrived."""
        return (self._clock() - self._start) * 1000

    @property
    def trace(self) -> tuple[answer_service_pb2.TraceEntry, ...]:
        """Everything noted so far, in order."""
        return tuple(self._trace)

    @property
    def degradations(self) -> list[common_pb2.Degradation]:
        """What the answer was made without (levels 2 and 3), each component and reason once."""
        return list(self._degradations.values())

    def note(self, stage: str, message: str, level: common_pb2.FaultLevel = common_pb2.FAULT_LEVEL_UNSPECIFIED) -> None:
        """Put one line into the trace."""
        self._trace.append(
            answer_service_pb2.TraceEntry(elapsed_ms=self.elapsed_ms, stage=stage, message=message, level=level)
        )

    def recovered(self, stage: str, message: str) -> None:
        """Note a fault that the caller does not see."""
        self.note(stage, message, common_pb2.FAULT_LEVEL_RECOVERABLE)

    def fault(self, stage: str, degradation: common_pb2.Degradation) -> None:
        """Put a fault into the trace."""
        self.note(stage, f"{degradation.component}: {degradation.reason}: {degradation.detail}", degradation.level)

    def degrade(self, stage: str, degradation: common_pb2.Degradation) -> None:
        """Keep what every answer from here on is made without; a recoverable fault stays in the trace alone."""
        self.fault(stage, degradation)
        if degradation.level > common_pb2.FAULT_LEVEL_RECOVERABLE:
            self._degradations[degradation.component, degradation.reason] = degradation

    def called(self, stage: str, wall_ms: float, timing: common_pb2.Timing | None) -> None:
        """Count one call: a stage of its own, and the callee's stages below it as ``stage/inner``."""
        timing = timing or common_pb2.Timing()
        self._stages.append(
            common_pb2.StageTiming(stage=stage, wall_ms=wall_ms, model_ms=timing.model_ms, index_ms=timing.index_ms)
        )
        for inner in timing.stages:
            below = common_pb2.StageTiming()
            below.CopyFrom(inner)
            below.stage = f"{stage}/{inner.stage}"
            self._stages.append(below)
        self._model_ms += timing.model_ms
        self._index_ms += timing.index_ms

    def timing(self) -> common_pb2.Timing:
        """Where the time went until now; ``overhead_ms`` = total − model − index, never below zero."""
        total = self.elapsed_ms
        return common_pb2.Timing(
            total_ms=total,
            model_ms=self._model_ms,
            index_ms=self._index_ms,
            overhead_ms=max(0.0, total - self._model_ms - self._index_ms),
            stages=self._stages,
        )
