from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from export.config import render_config
from export.spec import EmbedderSpec, known_models, load_spec

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from google.protobuf import text_format
    from tritonclient.grpc import model_config_pb2

REPOSITORY = Path(__file__).resolve().parents[2] / "model_repository"


@pytest.mark.parametrize("model", known_models())
def test_the_committed_file_is_what_the_spec_renders(model: str) -> None:
    assert (REPOSITORY / model / "config.pbtxt").read_text(encoding="utf-8") == render_config(load_spec(model))


def test_parses_as_tritons_own_message() -> None:
    spec = load_spec("embedder")
    assert isinstance(spec, EmbedderSpec)
    config = text_format.Parse(render_config(spec), model_config_pb2.ModelConfig())
    assert config.name == "embedder"
    assert config.backend == "onnxruntime"
    assert config.max_batch_size == spec.serving.max_batch_size
    assert [(tensor.name, list(tensor.dims)) for tensor in config.input] == [
        ("input_ids", [-1]),
        ("attention_mask", [-1]),
    ]
    assert [(tensor.name, list(tensor.dims)) for tensor in config.output] == [("dense", [spec.dimension])]
    assert {tensor.data_type for tensor in config.input} == {model_config_pb2.TYPE_INT64}
    assert config.instance_group[0].count == spec.serving.instances
    assert config.instance_group[0].kind == model_config_pb2.ModelInstanceGroup.KIND_AUTO
    queue = config.dynamic_batching.default_queue_policy
    assert (queue.default_timeout_microseconds, queue.max_queue_size) == (
        spec.serving.queue_timeout_us,
        spec.serving.queue_size,
    )
    assert config.dynamic_batching.priority_levels == config.dynamic_batching.default_priority_level == 2
    assert config.version_policy.latest.num_versions == 1
    parameters = {key: value.string_value for key, value in config.parameters.items()}
    assert parameters == {"intra_op_thread_count": "1", "inter_op_thread_count": "1", "row_wise": "true"}


def test_follows_the_spec() -> None:
    spec = load_spec("embedder")
    assert isinstance(spec, EmbedderSpec)
    serving = spec.serving.model_copy(update={"row_wise": False, "instances": 3, "threads": 5})
    config = text_format.Parse(
        render_config(spec.model_copy(update={"serving": serving})), model_config_pb2.ModelConfig()
    )
    assert config.instance_group[0].count == 3
    assert config.parameters["row_wise"].string_value == "false"
    assert config.parameters["intra_op_thread_count"].string_value == "5"
