from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import ConfigurationError, ModelNotFoundError
from orchestrator.inference.manifest import read_manifest
from orchestrator.inference.repository import servable_models, served_config, versions_of


def test_versions_are_ordered_as_numbers_and_empty_ones_ignored(tiny_repository: Any) -> None:
    for version in ("10", "9", "2"):
        tiny_repository.publish(version=version)
    (tiny_repository.path / "embedder" / "11").mkdir()
    (tiny_repository.path / "embedder" / "draft").mkdir()
    (tiny_repository.path / "planned").mkdir()
    (tiny_repository.path / "planned" / "config.pbtxt").write_text("")
    assert versions_of(tiny_repository.path, "embedder") == ("2", "9", "10")
    assert servable_models(tiny_repository.path) == ("embedder",)


def test_the_override_carries_every_version_s_fingerprint(tiny_repository: Any) -> None:
    first, second = (tiny_repository.publish(version=version) for version in ("1", "2"))
    (tiny_repository.path / "embedder" / "3").mkdir()
    (tiny_repository.path / "embedder" / "3" / "manifest.json").write_text("[]")
    config = served_config(tiny_repository.path, "embedder")
    assert config["name"] == "embedder"
    assert config["backend"] == "onnxruntime"
    parameters = {key: value["string_value"] for key, value in config["parameters"].items()}
    assert parameters == {
        "fingerprint.1": first,
        "fingerprint.2": second,
        "intra_op_thread_count": "1",
        "row_wise": "true",
    }


def test_broken_configurations_are_named(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"config\.pbtxt"):
        served_config(tmp_path, "nobody")
    (tmp_path / "model").mkdir()
    path = tmp_path / "model" / "config.pbtxt"
    path.write_text('backend: "onnxruntime" nonsense: 1')
    with pytest.raises(ConfigurationError, match="nonsense"):
        served_config(tmp_path, "model")
    path.write_text('name: "other"')
    with pytest.raises(ConfigurationError, match="names the model 'other'"):
        served_config(tmp_path, "model")


@pytest.mark.parametrize("content", ["", "[]", '{"fingerprint": ""}', '{"fingerprint": "12345678", "dimension": 0}'])
def test_broken_manifests_are_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(ModelNotFoundError, match=r"manifest\.json is not a valid manifest"):
        read_manifest(tmp_path)
