from __future__ import annotations

import importlib.util
import json
import os
import re
import warnings
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.partition import known_partitions, load_partition, parse_partition
from deploy.render import endpoint_map, files_of, render
from export.config import render_config
from export.spec import load_spec
from orchestrator.errors import ConfigurationError
from orchestrator.settings import Settings, load_settings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from google.protobuf import text_format
    from tritonclient.grpc import model_config_pb2

GOLDEN = Path(__file__).resolve().parent / "golden"
CHART = Path(__file__).resolve().parents[2] / "deploy" / "helm" / "trias-triton"
# Set it to write the golden files anew after a change that is meant; then read what git says.
REWRITE = bool(os.environ.get("TRIAS_REWRITE_GOLDEN"))


def compose(name: str) -> dict[str, Any]:
    tree: dict[str, Any] = yaml.safe_load(files_of(load_partition(name))["compose.yaml"])
    return tree


@pytest.mark.parametrize("name", known_partitions())
def test_each_partition_renders_what_its_golden_files_hold(name: str, tmp_path: Path) -> None:
    partition = load_partition(name)
    written = render(partition, tmp_path)
    texts = {str(path.relative_to(tmp_path)): path.read_text(encoding="utf-8") for path in written}
    # The models' configurations have golden files of their own, beside the exporter's tests.
    for model in [file for file in texts if file.startswith("models/")]:
        text = texts.pop(model)
        assert text_format.Parse(text, model_config_pb2.ModelConfig()).name == Path(model).parent.name
    folder = GOLDEN / name
    if REWRITE:
        render(partition, folder)
        for left in sorted(folder.rglob("models/**/*"), reverse=True):
            left.unlink() if left.is_file() else left.rmdir()
        (folder / "models").rmdir()
    assert texts == {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}


def test_a_models_configuration_names_the_spec_that_it_came_from() -> None:
    files = files_of(load_partition("a100-80"))
    assert files["models/embedder/config.pbtxt"] == render_config(load_spec("gpu/bge-m3"), source="gpu/bge-m3")


@pytest.mark.parametrize("name", known_partitions())
def test_the_compose_file_is_valid_by_composes_own_schema(name: str) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    found = importlib.util.find_spec("check_jsonschema")
    if found is None or found.origin is None:
        pytest.skip("check-jsonschema, which carries the schema, is not installed")
    path = Path(found.origin).parent / "builtin_schemas" / "vendor" / "compose-spec.json"
    schema = json.loads(path.read_text(encoding="utf-8"))
    tree = compose(name)
    jsonschema.validate(tree, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(tree | {"services": {"x": {"imag": "y"}}}, schema)


@pytest.mark.parametrize("name", ["a100-80", "a100-40", "a10x2"])
def test_every_slice_has_a_triton_a_device_and_a_port_of_its_own(name: str) -> None:
    partition, services = load_partition(name), compose(name)["services"]
    devices, ports = [], []
    for part in partition.slices:
        service = services[f"triton-{part.name}"]
        (device,) = service["deploy"]["resources"]["reservations"]["devices"]
        assert (device["driver"], device["capabilities"]) == ("nvidia", ["gpu"])
        (identity,) = device["device_ids"]
        devices.append(identity)
        ports += service["ports"]
        command = service["command"]
        assert "--model-control-mode=explicit" in command
        assert not any(word.startswith("--load-model") for word in command)
        # DCGM fails on MIG; a whole GPU's metrics are wanted.
        assert ("--allow-gpu-metrics=false" in command) is partition.mig
        # A CUDA process sees one MIG instance, told by its UUID.
        assert (service.get("environment", {}).get("CUDA_VISIBLE_DEVICES") == identity) is partition.mig
        # llmapi's model.py completes its configuration itself, and lives in another image.
        assert ("--disable-auto-complete-config" in command) is not part.needs_trtllm
        assert ("trtllm" in service["image"]) is part.needs_trtllm
        assert re.search(r":[0-9]{2}\.[0-9]{2}-", service["image"])
    assert len(set(devices)) == len(set(ports)) == len(partition.slices)
    assert all(port.startswith("127.0.0.1:") for port in ports)


@pytest.mark.parametrize("name", ["a100-80", "a100-40", "a10x2"])
def test_kubernetes_gives_each_container_one_device_of_one_kind(name: str) -> None:
    partition = load_partition(name)
    values = yaml.safe_load(files_of(partition)["values.yaml"])
    for part, found in zip(partition.slices, values["slices"], strict=True):
        limits = found["resources"]["limits"]
        kinds = [key for key in limits if key.startswith("nvidia.com/")]
        assert kinds == [f"nvidia.com/mig-{part.profile}" if partition.mig else "nvidia.com/gpu"]
        assert limits[kinds[0]] == 1
        assert found["models"] == sorted(spec.model for spec in part.specs.values())


def test_the_cpus_triton_is_the_one_that_trias_starts() -> None:
    (service,) = compose("cpu")["services"].values()
    assert service["image"] == "trias:0.1.0"
    assert service["command"][0] == "trias"
    assert service["command"][-2:] == ["triton", "start"]
    assert "reservations" not in service["deploy"]["resources"]


@pytest.mark.parametrize("name", known_partitions())
def test_the_rendered_settings_are_settings(name: str, tmp_path: Path) -> None:
    partition = load_partition(name)
    render(partition, tmp_path)
    for file, inside in (("trias.yaml", True), ("trias.host.yaml", False)):
        settings: Settings = load_settings(tmp_path / file)
        # The settings' own default, for models that no slice has, stays beside them.
        named = {model: address for model, address in settings.inference.endpoints.items() if model != "*"}
        assert named == endpoint_map(partition, inside=inside)
    addresses = set(endpoint_map(partition, inside=True).values())
    assert addresses == {f"triton-{part.name}:8001" for part in partition.slices}
    assert set(endpoint_map(partition, inside=False).values()) == {
        f"127.0.0.1:{part.grpc_port}" for part in partition.slices
    }


def test_what_does_not_fit_writes_nothing(tmp_path: Path) -> None:
    tree = yaml.safe_load((Path(__file__).resolve().parents[2] / "deploy/partitions/a100-40.yaml").read_text("utf-8"))
    tree["slices"][0]["profile"] = "1g.10gb"
    with pytest.raises(ConfigurationError, match="4096 too few"):
        render(parse_partition(yaml.safe_dump(tree), name="x.yaml"), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match=r"cannot be written.*--out"):
        render(load_partition("cpu"), tmp_path / "file")


def test_the_chart_uses_every_value_that_is_rendered_and_no_other() -> None:
    """Helm itself is not at hand: this only holds names against each other, and braces and loops in balance."""
    values = yaml.safe_load(files_of(load_partition("a100-80"))["values.yaml"])
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(CHART.glob("templates/*.yaml")))
    assert text.count("{{") == text.count("}}")
    assert len(re.findall(r"{{-? *(?:range|if|with)\b", text)) == len(re.findall(r"{{-? *end\b", text))
    top = set(re.findall(r"\.Values\.([A-Za-z]+)", text))
    assert top == set(values)
    nested = {f"{key}.{name}" for key, value in values.items() if isinstance(value, dict) for name in value}
    assert set(re.findall(r"\.Values\.([A-Za-z]+\.[A-Za-z]+)", text)) == nested
    assert set(re.findall(r"\$slice\.([A-Za-z]+)", text)) == set(values["slices"][0])
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert (chart["apiVersion"], chart["name"]) == ("v2", "trias-triton")


def test_the_chart_without_its_actions_is_yaml_of_known_kinds() -> None:
    for path in sorted(CHART.glob("templates/*.yaml")):
        lines = path.read_text(encoding="utf-8").splitlines()
        kept = [line for line in lines if not re.fullmatch(r"\s*{{-? *(range|if|end)\b.*}}", line)]
        text = re.sub(r"{{-?.*?-?}}", "x", "\n".join(kept))
        documents = [document for document in yaml.safe_load_all(text) if document]
        assert {document["kind"] for document in documents} <= {"Deployment", "Service", "ConfigMap"}
        for document in documents:
            assert {"apiVersion", "kind", "metadata"} <= set(document)
