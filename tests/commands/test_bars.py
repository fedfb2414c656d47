from __future__ import annotations

import io

import pytest
from rich.console import Console

from orchestrator.commands import bars


def shown(monkeypatch: pytest.MonkeyPatch, every_s: float) -> list[str]:
    monkeypatch.setattr(bars, "LINE_EVERY_S", every_s)
    output = io.StringIO()
    with bars.counting_bars(Console(file=output)) as progress:
        task = progress.add_task("Encode [the corpus]", total=4, loss="")
        for step in range(4):
            progress.update(task, advance=1, loss=f"loss 0.{step}")
        progress.update(task, completed=4)
    return output.getvalue().splitlines()


def test_without_a_terminal_a_full_bar_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, 3600.0) == ["Encode [the corpus]: 4/4 after 0 s, loss 0.3"]


def test_without_a_terminal_long_work_tells_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown(monkeypatch, 0.0)
    assert [line.split(" after")[0].rsplit(" ", 1)[1] for line in lines] == ["1/4", "2/4", "3/4", "4/4"]


def test_steps_count_and_a_total_that_grows_is_told_again() -> None:
    output = io.StringIO()
    with bars.counting_bars(Console(file=output)) as progress:
        task = progress.add_task("documents", total=2)
        for _ in range(2):
            progress.advance(task)
        progress.update(task, total=3)
        progress.advance(task)
    assert [line.split(" after")[0] for line in output.getvalue().splitlines()] == ["documents: 2/2", "documents: 3/3"]


def test_on_a_terminal_there_are_bars() -> None:
    assert type(bars.counting_bars(Console(force_terminal=True))) is bars.Progress
