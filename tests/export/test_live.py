"""The pointer to the live version: what it remembers, that damage is an error, and that both readers agree."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from export.live import EVENTS_KEPT, LIVE, LivePointer, read_live, write_live
from orchestrator.errors import ConfigurationError
from orchestrator.inference.repository import LIVE_FILE, read_live_pointer


def test_a_promotion_remembers_what_a_rollback_returns_to() -> None:
    first = LivePointer.adopting("1", "aaaa")
    second = first.promoting("2", "bbbb", gates={"recall": 0.9})
    assert (second.live, second.previous) == ("2", "1")
    back = second.promoting("1", "aaaa", change="rolled back")
    assert (back.live, back.previous) == ("1", "2")
    again = back.promoting("1", "aaaa")
    assert (again.live, again.previous) == ("1", "2")
    assert [event.change for event in again.history] == ["adopted", "promoted", "rolled back", "promoted"]
    assert again.history[1].gates == {"recall": 0.9}


def test_a_candidate_waits_until_it_is_promoted_or_dropped() -> None:
    pointer = LivePointer.adopting("1", "aaaa").registering("2", "bbbb", {"recall": 0.9})
    assert (pointer.live, pointer.candidate) == ("1", "2")
    assert pointer.promoting("2", "bbbb").candidate == ""
    assert pointer.promoting("3", "cccc").candidate == "2"
    dropped = pointer.dropping_candidate("replaced")
    assert (dropped.live, dropped.candidate) == ("1", "")
    assert dropped.dropping_candidate() == dropped


def test_the_history_does_not_grow_for_ever() -> None:
    pointer = LivePointer.adopting("1", "")
    for _ in range(EVENTS_KEPT + 5):
        pointer = pointer.promoting("1", "")
    assert len(pointer.history) == EVENTS_KEPT


def test_both_readers_of_the_file_agree(tmp_path: Path) -> None:
    folder = tmp_path / "embedder"
    folder.mkdir()
    assert LIVE == LIVE_FILE
    assert read_live(folder) is None
    assert read_live_pointer(tmp_path, "embedder") is None
    for pointer in (
        LivePointer.adopting("1", "aaaa"),
        LivePointer.adopting("1", "aaaa").registering("12", "bbbb", {}),
        LivePointer.adopting("1", "aaaa").registering("2", "bbbb", {}).promoting("2", "bbbb"),
    ):
        write_live(folder, pointer)
        assert read_live(folder) == pointer
        served = read_live_pointer(tmp_path, "embedder")
        assert served is not None
        assert (served.live, served.candidate) == (pointer.live, pointer.candidate)
    assert [path.name for path in folder.iterdir()] == [LIVE]


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"live": 2}', '{"live": "../1"}', "\x00"])
def test_damage_is_an_error_to_both(tmp_path: Path, content: str) -> None:
    folder = tmp_path / "embedder"
    folder.mkdir()
    (folder / LIVE).write_text(content)
    for read in (lambda: read_live(folder), lambda: read_live_pointer(tmp_path, "embedder")):
        with pytest.raises(ConfigurationError, match=r"live\.json does not tell which version is live.*trias rollback"):
            read()


def test_a_writer_that_is_killed_leaves_a_whole_file(tmp_path: Path) -> None:
    write_live(tmp_path, LivePointer.adopting("1", "a" * 64))
    script = """
import sys
from pathlib import Path
from export.live import LivePointer, read_live, write_live
folder, pointer = Path(sys.argv[1]), LivePointer.adopting("1", "a" * 64)
print("ready", flush=True)
while True:
    pointer = pointer.promoting(str(int(pointer.live) % 9 + 1), "a" * 64)
    write_live(folder, pointer)
"""
    for _ in range(3):
        with subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            seen = [read_live(tmp_path) for _ in range(50)]
            os.kill(writer.pid, signal.SIGKILL)
        assert all(seen)
        assert read_live(tmp_path) is not None
