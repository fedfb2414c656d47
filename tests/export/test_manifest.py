from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from export.manifest import fingerprint_of, read_manifest, write_manifest
from orchestrator.errors import BuildError

TREE: dict[str, Any] = {
    "schema": 1,
    "kind": "embedder",
    "model": "embedder",
    "source": {
        "name": "someone/some-model",
        "license": "MIT",
        "package": "weights",
        "version": "1.0",
        "file": "weights.bin",
        "sha256": "a" * 64,
        "checkpoint": {},
        "recipe": "b" * 64,
        "libraries": {"torch": "2.13.0"},
    },
    "precision": "int8",
    "pooling": "mean",
    "normalize": True,
    "prefixes": {"query": "query: ", "passage": "passage: "},
    "max_length": 512,
    "dimension": 384,
    "outputs": {"dense": "dense"},
    "files": {"model.onnx": "c" * 64, "tokenizer.json": "d" * 64},
    "checks": {"cosine_onnx": 1.0},
}


def test_reads_back_what_it_wrote(tmp_path: Path) -> None:
    written = write_manifest(tmp_path, TREE)
    assert read_manifest(tmp_path) == written
    on_disk = json.loads((tmp_path / "manifest.json").read_text(encoding="utf-8"))
    assert {key: value for key, value in on_disk.items() if key != "fingerprint"} == TREE
    assert on_disk["fingerprint"] == fingerprint_of(TREE) == fingerprint_of(on_disk)


def test_the_fingerprint_is_a_fixed_function_of_the_manifest() -> None:
    # Worked out by hand with `jq -cSj 'del(.checks,.source,.fingerprint)' | sha256sum`: other readers rely on it.
    assert fingerprint_of(TREE) == "57cf22581a9cf9be6332a25106668925489c45e50a8112405abb7f0d4ca576b4"


@pytest.mark.parametrize("path", [("files", "model.onnx"), ("files", "tokenizer.json"), ("prefixes", "query")])
def test_what_matters_changes_the_fingerprint(path: tuple[str, str]) -> None:
    changed = copy.deepcopy(TREE)
    changed[path[0]][path[1]] = "e" * 64
    assert fingerprint_of(changed) != fingerprint_of(TREE)


@pytest.mark.parametrize(("field", "value"), [("max_length", 256), ("pooling", "cls"), ("precision", "fp32")])
def test_lengths_pooling_and_precision_change_it_too(field: str, value: Any) -> None:
    assert fingerprint_of({**TREE, field: value}) != fingerprint_of(TREE)


def test_figures_and_origin_do_not() -> None:
    changed = {**TREE, "checks": {}, "source": {**TREE["source"], "version": "2.0"}, "fingerprint": "f" * 64}
    assert fingerprint_of(changed) == fingerprint_of(TREE)


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text[:100],
        lambda text: "[]",
        lambda text: text.replace('"max_length": 512', '"max_length": 128'),
        lambda text: text.replace('"schema": 1', '"schema": 2'),
        lambda text: text.replace('"dimension": 384,', ""),
    ],
)
def test_a_damaged_manifest_is_refused(tmp_path: Path, damage: Callable[[str], str]) -> None:
    write_manifest(tmp_path, TREE)
    path = tmp_path / "manifest.json"
    path.write_text(damage(path.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(BuildError, match=r"manifest\.json"):
        read_manifest(tmp_path)


def test_a_missing_manifest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="trias models build"):
        read_manifest(tmp_path)
