"""Damaged checkpoints are named before anything is made of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from export.integrity import check_integrity
from orchestrator.errors import BuildError, GateError


@pytest.fixture
def checkpoint(tiny_checkpoints: Any) -> Path:
    made: Path = tiny_checkpoints.make("whole")
    return made


def test_a_whole_checkpoint_passes(checkpoint: Path) -> None:
    assert check_integrity(checkpoint) == {"integrity": 3.0}


@pytest.mark.parametrize("keep", [0, 5, 20, 100])
def test_a_truncated_file_is_named_with_what_it_lacks(checkpoint: Path, keep: int) -> None:
    weights = checkpoint / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:keep])
    with pytest.raises(GateError, match=rf"integrity of model\.safetensors failed: measured {keep}, .*bytes") as caught:
        check_integrity(checkpoint)
    assert caught.value.figure == keep


def test_a_file_with_more_than_its_header_says_is_no_better(checkpoint: Path) -> None:
    with (checkpoint / "model.safetensors").open("ab") as file:
        file.write(b"more")
    with pytest.raises(GateError, match=r"model\.safetensors"):
        check_integrity(checkpoint)


@pytest.mark.parametrize("header", [b"[]", b"{", b'{"w": {}}', b'{"w": 1}'])
def test_a_header_that_is_none(checkpoint: Path, header: bytes) -> None:
    (checkpoint / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(GateError, match=r"model\.safetensors"):
        check_integrity(checkpoint)


def test_a_tokenizer_cut_short(checkpoint: Path) -> None:
    tokenizer = checkpoint / "tokenizer.json"
    tokenizer.write_bytes(tokenizer.read_bytes()[:-10])
    with pytest.raises(GateError, match=r"integrity of tokenizer\.json"):
        check_integrity(checkpoint)


def test_no_checkpoint_at_all(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="no checkpoint folder"):
        check_integrity(tmp_path / "nowhere")
    with pytest.raises(BuildError, match="holds no weights"):
        check_integrity(tmp_path)
