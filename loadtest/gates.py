"""P95 limits a stage, and whether a run kept them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

__all__ = ["DEFAULT_GATES", "Gate", "GateError", "Measured", "Verdict", "check", "load_gates"]

DEFAULT_GATES = Path(__file__).with_name("gates.yaml")


class GateError(ValueError):
    """The file of gates is wrong."""


@dataclass(frozen=True, slots=True)
class Gate:
    """What one kind of event must keep.

    Attributes:
        event: the event's name: ``Ask fast``.
        p95_ms: 95 of 100 must be quicker.
        failures: the share of failed events that is allowed, in [0,1].
    """

    event: str
    p95_ms: float
    failures: float = 0.0


@dataclass(frozen=True, slots=True)
class Measured:
    """What a run saw of one kind of event; milliseconds."""

    event: str
    count: int
    failures: int
    p50_ms: float
    p95_ms: float
    p99_ms: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """A gate and what became of it; ``reason`` is empty where it was kept."""

    gate: Gate
    measured: Measured | None
    reason: str

    @property
    def kept(self) -> bool:
        """Whether the run kept the gate."""
        return not self.reason


def load_gates(path: Path = DEFAULT_GATES) -> list[Gate]:
    """Read gates: ``event: {p95_ms: …, failures: …}``.

    Raises:
        GateError: the file is missing or malformed; names the entry.
    """
    try:
        entries = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise GateError(f"{path} cannot be read: {error}") from None
    if not isinstance(entries, dict) or not entries:
        raise GateError(f"{path}: a mapping of event names to limits is wanted.")
    gates = []
    for event, limits in entries.items():
        try:
            gates.append(Gate(str(event), **{name: float(value) for name, value in limits.items()}))
        except (TypeError, ValueError, AttributeError) as error:
            raise GateError(f"{path}, {event}: p95_ms (and failures) as numbers are wanted: {error}") from None
    return gates


def check(gates: Sequence[Gate], measured: Mapping[str, Measured]) -> list[Verdict]:
    """Hold a run against its gates. An event that never happened is not judged: not every run asks for everything."""
    return [
        Verdict(gate, measured[gate.event], _reason(gate, measured[gate.event]))
        for gate in gates
        if gate.event in measured
    ]


def _reason(gate: Gate, measured: Measured) -> str:
    reasons = []
    if measured.p95_ms >= gate.p95_ms:
        reasons.append(f"P95 {measured.p95_ms:.0f} ms, limit {gate.p95_ms:.0f} ms")
    if measured.failures > gate.failures * measured.count:
        reasons.append(f"{measured.failures} of {measured.count} failed, allowed {gate.failures:.1%}")
    return "; ".join(reasons)
