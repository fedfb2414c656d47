"""The project's own embedder, spoiled on purpose, meets the gates: each stops what it is there for."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from tokenizers import Tokenizer

from export.exporting import export_checkpoint
from export.golden import own_retrieval_set, read_golden
from export.manifest import Manifest, read_manifest, write_manifest
from export.publish import Prepared, newest_complete, prepare_version
from export.quality import measure
from export.repository import list_versions
from export.spec import EmbedderSpec, load_spec
from orchestrator.errors import GateError
from orchestrator.settings import PathSettings

pytestmark = pytest.mark.slow

LAST_LAYER = "encoder.layer.11."
LINEARS = 6  # of a layer


@pytest.fixture(scope="module")
def spec() -> EmbedderSpec:
    found = load_spec("embedder")
    assert isinstance(found, EmbedderSpec)
    return found


@pytest.fixture
def built() -> Path:
    """The folder of the newest version."""
    newest = newest_complete(list_versions(PathSettings().model_repository / "embedder"))
    if newest is None:
        pytest.skip("the embedder is not built; run: trias models build")
    return newest.folder


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """A copy of the base checkpoint, which a test may spoil; its files are links until it does."""
    base = PathSettings().data / "checkpoints" / "e5-small"
    if not (base / "model.safetensors").is_file():
        pytest.skip("the base checkpoint is not there; run: trias models build --force")
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        (folder / name).symlink_to((base / name).absolute())
    return folder


def publish(spec: EmbedderSpec, checkpoint: Path, repository: Path, **how: Any) -> Prepared:
    return prepare_version(
        spec,
        checkpoint,
        repository=repository,
        data=PathSettings().data,
        golden=read_golden("embedder", own_retrieval_set()),
        **how,
    )


def with_last_layer_zeroed(graph: Path, target: Path) -> None:
    """A served graph whose last layer passes on what it is given."""
    model = onnx.load(graph)
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    # The layers' quantised weights stand in order; what they are scaled by is zero from here on.
    scales = [name for name in tensors if name.endswith("_scale") and tensors[name].dims][-LINEARS:]
    biases = [name for name in tensors if LAST_LAYER in name and name.endswith("bias") and "LayerNorm" not in name]
    assert len(scales) == len(biases) == LINEARS
    for name in (*scales, *biases):
        zero = np.zeros_like(numpy_helper.to_array(tensors[name]))
        tensors[name].CopyFrom(numpy_helper.from_array(zero, name))
    onnx.save(model, target)


def test_a_zeroed_layer_stops_at_the_quality_gate(
    spec: EmbedderSpec, built: Path, tiny_checkpoints: Any, tmp_path: Path
) -> None:
    def export(_spec: Any, _checkpoint: Path, target: Path, **_: Any) -> Manifest:
        # Parity cannot see it: the graph does just what its spoiled checkpoint does.
        with_last_layer_zeroed(built / "model.onnx", target / "model.onnx")
        shutil.copyfile(built / "tokenizer.json", target / "tokenizer.json")
        tree = read_manifest(built).model_dump(mode="json", by_alias=True, exclude_none=True)
        files = dict.fromkeys(tree["files"], "0" * 64)
        return write_manifest(target, {**tree, "files": files})

    shutil.copytree(built, tmp_path / "embedder" / "1")
    with pytest.raises(GateError, match=r"quality\.recall@10 failed.*less than live version 1") as caught:
        publish(spec, tiny_checkpoints.make("spoiled"), tmp_path, export=export)
    assert caught.value.figure < 0.9
    assert not (tmp_path / "embedder" / "2").exists()


def test_our_golden_set_tells_the_model_from_a_guess(spec: EmbedderSpec, built: Path) -> None:
    figures = measure(spec, built, read_golden("embedder", own_retrieval_set()))
    assert figures["recall@10"] > 0.9
    assert 0.6 < figures["mrr@10"] < 0.95


@pytest.mark.timeout(600)
def test_another_tokenizer_stops_at_its_gate(spec: EmbedderSpec, checkpoint: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    tokenizer = Tokenizer.from_file(str(checkpoint / "tokenizer.json"))
    (checkpoint / "tokenizer.json").unlink()
    # The same pieces, without the normalisation that the weights were trained under.
    tokenizer.normalizer = None
    tokenizer.save(str(checkpoint / "tokenizer.json"))
    with pytest.raises(GateError, match="Gate token_ids_equal failed") as caught:
        publish(spec, checkpoint, tmp_path / "repository", export=export_checkpoint)
    assert 0 < caught.value.figure < 1
    assert not (tmp_path / "repository" / "embedder" / "1").exists()


def test_a_truncated_file_stops_before_anything_is_made(spec: EmbedderSpec, checkpoint: Path, tmp_path: Path) -> None:
    weights = checkpoint / "model.safetensors"
    with weights.resolve().open("rb") as whole:
        content = whole.read(1_000_000)
    weights.unlink()
    weights.write_bytes(content)
    with pytest.raises(GateError, match=r"integrity of model\.safetensors failed: measured 1e\+06, wanted = \d+ bytes"):
        publish(spec, checkpoint, tmp_path / "repository")
    assert not (tmp_path / "repository").exists()
