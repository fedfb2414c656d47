from __future__ import annotations

from pathlib import Path

import pytest

from loadtest.gates import Gate, GateError, Measured, check, load_gates


def measured(event: str, p95_ms: float, failures: int = 0) -> Measured:
    return Measured(event, count=1000, failures=failures, p50_ms=p95_ms / 2, p95_ms=p95_ms, p99_ms=p95_ms)


def test_the_shipped_gates_are_the_design_s_limits() -> None:
    limits = {gate.event: gate.p95_ms for gate in load_gates()}
    assert limits == {
        "Route": 150,
        "Retrieve": 800,
        "Reason": 2000,
        "Ask fast": 1000,
        "Ask deep": 2000,
        "AskOnce": 2000,
    }


@pytest.mark.parametrize(("p95_ms", "kept"), [(149.9, True), (150.0, False)])
def test_the_limit_itself_breaks_a_gate(p95_ms: float, kept: bool) -> None:
    (verdict,) = check([Gate("Route", 150)], {"Route": measured("Route", p95_ms)})
    assert verdict.kept is kept


def test_failures_break_a_gate_that_speed_keeps() -> None:
    gate = Gate("AskOnce", 2000, failures=0.001)
    (kept,) = check([gate], {"AskOnce": measured("AskOnce", 10, failures=1)})
    (broken,) = check([gate], {"AskOnce": measured("AskOnce", 10, failures=2)})
    assert kept.kept
    assert broken.reason == "2 of 1000 failed, allowed 0.1%"


def test_what_never_happened_is_not_judged() -> None:
    assert check([Gate("Route", 150)], {}) == []


@pytest.mark.parametrize("text", ["", "[]", "Route: 150", "Route: {p95: 150}", "Route: {p95_ms: fast}", "a: [", "\x00"])
def test_a_wrong_file_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "gates.yaml"
    path.write_text(text)
    with pytest.raises(GateError, match=r"gates\.yaml"):
        load_gates(path)
