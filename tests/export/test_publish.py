"""Versions on disk: what a gate stops leaves nothing behind, and what is live is written down before anything else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from export.live import read_live
from export.publish import Prepared, prepare_version
from orchestrator.errors import BuildError, ConfigurationError, GateError


class Publishing:
    """Prepares versions of tiny checkpoints."""

    def __init__(self, checkpoints: Any, golden: Any, repository: Path) -> None:
        self.checkpoints, self.golden, self.repository = checkpoints, golden, repository
        self.folder = repository / "embedder"
        self.steps: list[str] = []

    def prepare(self, checkpoint: Path) -> Prepared:
        self.steps.clear()
        return prepare_version(
            self.checkpoints.spec,
            checkpoint,
            repository=self.repository,
            data=self.repository.parent,
            golden=self.golden,
            export=self.checkpoints.export,
            progress=self.steps.append,
        )

    def entries(self) -> set[str]:
        return {path.name for path in self.folder.iterdir() if not path.name.endswith(".lock")}


@pytest.fixture
def publishing(tiny_checkpoints: Any, tiny_golden: Any, tmp_path: Path) -> Publishing:
    return Publishing(tiny_checkpoints, tiny_golden, tmp_path / "repository")


def test_a_first_version_and_a_second_beside_it(publishing: Publishing) -> None:
    first = publishing.prepare(publishing.checkpoints.make("first"))
    assert (first.number, first.created, first.pointer, first.live_quality) == (1, True, None, None)
    assert publishing.entries() == {"1", "config.pbtxt"}
    assert first.gates["integrity"] == 3
    assert first.gates["cosine_onnx"] == 1
    assert first.quality["recall@10"] == first.gates["quality.recall@10"] > 0.9
    second = publishing.prepare(publishing.checkpoints.make("second", seed=2))
    assert (second.number, second.is_live) == (2, False)
    # Without the pointer, the newer folder alone would have made it live.
    pointer = read_live(publishing.folder)
    assert pointer is not None
    assert pointer.live == "1"
    assert second.live_quality == first.quality
    assert publishing.steps[0] == "Check the checkpoint's files"
    assert publishing.steps[-1] == "Write version 2"


def test_the_same_checkpoint_is_not_exported_twice(publishing: Publishing) -> None:
    publishing.prepare(publishing.checkpoints.make("first"))
    second = publishing.checkpoints.make("second", seed=2)
    assert publishing.prepare(second).created
    again = publishing.prepare(second)
    assert (again.number, again.created) == (2, False)
    assert "Export to ONNX" not in publishing.steps
    again.discard()
    assert publishing.entries() == {"1", "2", "config.pbtxt", "live.json"}


def test_a_collapsed_model_stops_at_the_quality_gate(publishing: Publishing) -> None:
    first = publishing.prepare(publishing.checkpoints.make("first"))
    with pytest.raises(
        GateError, match=r"quality\.recall@10 failed: .* less than live version 1, .*0\.05 is"
    ) as caught:
        publishing.prepare(publishing.checkpoints.make("flat", seed=9, flat=True))
    assert caught.value.figure < first.quality["recall@10"]
    assert publishing.entries() == {"1", "config.pbtxt", "live.json"}


def test_a_gate_of_the_export_leaves_nothing(publishing: Publishing) -> None:
    publishing.prepare(publishing.checkpoints.make("first"))
    before = publishing.entries()

    def export(*_: Any, **__: Any) -> Any:
        raise GateError("cosine_onnx", 0.5, ">= 0.99")

    publishing.checkpoints.export = export
    with pytest.raises(GateError, match="cosine_onnx"):
        publishing.prepare(publishing.checkpoints.make("second", seed=2))
    assert publishing.entries() == before | {"live.json"}


def test_a_damaged_pointer_stops_everything(publishing: Publishing) -> None:
    publishing.prepare(publishing.checkpoints.make("first"))
    (publishing.folder / "live.json").write_text("{")
    with pytest.raises(ConfigurationError, match=r"live\.json"):
        publishing.prepare(publishing.checkpoints.make("second", seed=2))
    assert publishing.entries() == {"1", "config.pbtxt", "live.json"}


def test_a_damaged_version_is_never_adopted(publishing: Publishing) -> None:
    publishing.prepare(publishing.checkpoints.make("first"))
    publishing.prepare(publishing.checkpoints.make("second", seed=2))
    (publishing.folder / "live.json").unlink()
    (publishing.folder / "2" / "model.onnx").write_bytes(b"half")
    third = publishing.prepare(publishing.checkpoints.make("third", seed=3))
    assert third.number == 3
    assert json.loads((publishing.folder / "live.json").read_text())["live"] == "1"


def test_a_checkpoint_that_is_none(publishing: Publishing, tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="no checkpoint folder"):
        publishing.prepare(tmp_path / "nowhere")
    assert not publishing.folder.exists()
