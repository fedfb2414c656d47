"""kill -9 of a process that fills a library, at any moment; then the same fill ends in the same library.

TRIAS_KILL_ROUNDS=50 kills it more often than the default.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from orchestrator.knowledge.opening import open_library
from orchestrator.settings import PathSettings, Settings

FILLER = Path(__file__).with_name("filler.py")
ROUNDS = int(os.environ.get("TRIAS_KILL_ROUNDS", "3"))
# Generous: the machine may be busy with everything else.
LIMIT_S = 240


def _start(data: Path, seed: int) -> subprocess.Popen[str]:
    root = FILLER.parents[2]
    environment = {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{root / 'proto'}"}
    command = [sys.executable, str(FILLER), str(data), str(seed)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def _fill(data: Path, seed: int) -> str:
    """Run to the end; the digest of the library."""
    output, _ = _start(data, seed).communicate(timeout=LIMIT_S)
    assert "digest" in output, output
    return output.split()[-1]


@pytest.mark.slow
async def test_kill_at_any_moment_then_fill_again_gives_the_same_library(tmp_path: Path) -> None:
    started = time.monotonic()
    expected = _fill(tmp_path / "undisturbed", 0)
    whole_s = time.monotonic() - started
    chance = random.Random(20240101)
    data = tmp_path / "killed"
    killed = 0
    for number in range(1, ROUNDS + 1):
        process = _start(data, number)
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        time.sleep(chance.random() * whole_s / 2)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=LIMIT_S)
        killed += process.returncode == -signal.SIGKILL
        # What a crash leaves is whole: opening finds no index that lacks clauses, and nothing is half visible.
        library = await open_library(Settings(paths=PathSettings(data=data)))
        statistics = await library.statistics()
        assert statistics.clauses == statistics.vectors == statistics.keyword_entries
        assert await library.graph.staged() == []
        await library.close()
    assert killed, "every run ended before it was killed: the test proved nothing"
    assert _fill(data, 0) == expected
