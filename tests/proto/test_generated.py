"""The committed Python of the contract is what its sources generate."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONTRACT = ROOT / "proto" / "trias" / "v1"


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("proto")
    subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "generate_proto.py"), "--out", str(out)],
        check=True,
        capture_output=True,
    )
    return out / "trias" / "v1"


def test_every_generated_file_is_committed_and_fresh(generated: Path) -> None:
    fresh = {path.name: path.read_text() for path in generated.iterdir() if "_pb2" in path.name}
    committed = {path.name: path.read_text() for path in CONTRACT.iterdir() if "_pb2" in path.name}
    assert fresh.keys() == committed.keys()
    stale = sorted(name for name in fresh if fresh[name] != committed[name])
    assert not stale, f"run `make proto`: {stale}"
