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


def parameters_of(config: dict[str, Any]) -> dict[str, str]:
    return {key: value["string_value"] for key, value in config["parameters"].items()}


def versions_served(config: dict[str, Any]) -> list[str]:
    return list(config["version_policy"]["specific"]["versions"])


def test_the_newest_version_is_live_where_nothing_was_published(tiny_repository: Any) -> None:
    _, second = (tiny_repository.publish(version=version) for version in ("1", "2"))
    config = served_config(tiny_repository.path, "embedder")
    assert config["name"] == "embedder"
    assert config["backend"] == "onnxruntime"
    assert versions_served(config) == ["2"]
    assert parameters_of(config) == {
        "fingerprint.2": second,
        "live": "2",
        "intra_op_thread_count": "1",
        "row_wise": "true",
    }


def test_the_pointer_decides_and_its_candidate_is_served_beside(tiny_repository: Any) -> None:
    first, second, third = (tiny_repository.publish(version=version) for version in ("1", "2", "10"))
    pointer = tiny_repository.path / "embedder" / "live.json"
    pointer.write_text('{"live": "2", "candidate": "10", "history": []}')
    config = served_config(tiny_repository.path, "embedder")
    assert versions_served(config) == ["2", "10"]
    assert parameters_of(config)["live"] == "2"
    assert parameters_of(config)["fingerprint.2"] == second
    assert parameters_of(config)["fingerprint.10"] == third
    config = served_config(tiny_repository.path, "embedder", beside=("1",), live="10")
    assert versions_served(config) == ["1", "10"]
    assert parameters_of(config)["live"] == "10"
    assert parameters_of(config)["fingerprint.1"] == first
    # A candidate whose folder was removed keeps nobody from being served.
    pointer.write_text('{"live": "2", "candidate": "11"}')
    assert versions_served(served_config(tiny_repository.path, "embedder")) == ["2"]
    pointer.write_text('{"live": "3"}')
    with pytest.raises(ConfigurationError, match=r"live\.json names version 3, which is not there.*1, 2, 10"):
        served_config(tiny_repository.path, "embedder")


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"live": 2}', '{"live": ""}', '{"live": "../1"}', "\x00"])
def test_a_damaged_pointer_is_an_error_and_no_guess(tiny_repository: Any, content: str) -> None:
    tiny_repository.publish()
    (tiny_repository.path / "embedder" / "live.json").write_text(content)
    with pytest.raises(ConfigurationError, match=r"live\.json does not tell which version is live.*trias rollback"):
        served_config(tiny_repository.path, "embedder")


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
