from __future__ import annotations

import os
import warnings
from pathlib import Path

import pytest
import yaml

from export.config import render_config
from export.config_llm import render_model_yaml
from export.parts import TensorRtOptions
from export.spec import EmbedderSpec, EncoderSpec, GenerativeSpec, known_models, known_specs, load_spec

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from google.protobuf import text_format
    from tritonclient.grpc import model_config_pb2

REPOSITORY = Path(__file__).resolve().parents[2] / "model_repository"
GOLDEN = Path(__file__).resolve().parent / "golden"
# Set it to write the golden files anew after a change that is meant; then read what git says.
REWRITE = bool(os.environ.get("TRIAS_REWRITE_GOLDEN"))


def golden(name: str, text: str) -> None:
    path = GOLDEN / name
    if REWRITE:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def parsed(text: str) -> model_config_pb2.ModelConfig:
    return text_format.Parse(text, model_config_pb2.ModelConfig())


@pytest.mark.parametrize("name", known_specs())
def test_each_spec_renders_what_its_golden_file_holds(name: str) -> None:
    spec = load_spec(name)
    golden(f"{name}.pbtxt", render_config(spec, source=name))
    if isinstance(spec, GenerativeSpec) and spec.build is not None:
        golden(f"{name}.yaml", render_model_yaml(spec))


@pytest.mark.parametrize("model", known_models())
def test_the_committed_file_is_what_the_spec_renders(model: str) -> None:
    assert (REPOSITORY / model / "config.pbtxt").read_text(encoding="utf-8") == render_config(load_spec(model))


@pytest.mark.parametrize("name", known_specs())
def test_every_file_parses_as_tritons_own_message(name: str) -> None:
    spec = load_spec(name)
    config = parsed(render_config(spec, source=name))
    assert config.name == spec.model
    assert config.version_policy.latest.num_versions == 1
    if isinstance(spec, EncoderSpec):
        assert config.backend == "onnxruntime"
        assert [(tensor.name, list(tensor.dims)) for tensor in config.input] == [
            ("input_ids", [-1]),
            ("attention_mask", [-1]),
        ]
        assert {tensor.name for tensor in config.output} == set(spec.outputs.values())
        assert ("gpu_mem_limit" in config.parameters) is (spec.gpu is not None)
        assert [list(sample.inputs["input_ids"].dims) for sample in config.model_warmup] == (
            [[length] for length in spec.buckets] if spec.gpu is not None else []
        )
    else:
        assert isinstance(spec, GenerativeSpec)
        assert config.max_batch_size == 0
        assert [tensor.name for tensor in config.input if not tensor.optional] == ["text_input"]
        assert config.output[0].name == "text_output"


def test_a_request_for_one_language_model_fits_the_other() -> None:
    configs = [parsed(render_config(load_spec(name))) for name in ("reasoner", "gpu/gemma-3", "gpu/phi-3-mini")]
    inputs = [[(tensor.name, tensor.data_type, list(tensor.dims)) for tensor in config.input] for config in configs]
    assert inputs[0] == inputs[1] == inputs[2]


def test_the_embedders_file_says_what_its_spec_says() -> None:
    spec = load_spec("embedder")
    assert isinstance(spec, EmbedderSpec)
    config = parsed(render_config(spec))
    assert config.max_batch_size == spec.serving.max_batch_size
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
    parameters = {key: value.string_value for key, value in config.parameters.items()}
    assert parameters == {"intra_op_thread_count": "1", "inter_op_thread_count": "1", "row_wise": "true"}


def test_follows_the_spec() -> None:
    spec = load_spec("embedder")
    assert isinstance(spec, EmbedderSpec)
    serving = spec.serving.model_copy(update={"row_wise": False, "instances": 3, "threads": 5})
    config = parsed(render_config(spec.model_copy(update={"serving": serving})))
    assert config.instance_group[0].count == 3
    assert config.parameters["row_wise"].string_value == "false"
    assert config.parameters["intra_op_thread_count"].string_value == "5"


def test_tensorrt_is_there_only_where_it_is_asked_for() -> None:
    spec = load_spec("gpu/bge-m3")
    assert isinstance(spec, EmbedderSpec)
    assert spec.gpu is not None
    assert not parsed(render_config(spec)).optimization.HasField("execution_accelerators")
    options = TensorRtOptions(opt_shape=(8, 128), max_shape=(32, 1024))
    wanted = spec.model_copy(update={"gpu": spec.gpu.model_copy(update={"tensorrt": options})})
    golden("gpu/bge-m3-tensorrt.pbtxt", render_config(wanted, source="gpu/bge-m3"))
    (accelerator,) = parsed(render_config(wanted)).optimization.execution_accelerators.gpu_execution_accelerator
    assert accelerator.name == "tensorrt"
    assert accelerator.parameters["trt_profile_max_shapes"] == "input_ids:32x1024,attention_mask:32x1024"
    assert accelerator.parameters["trt_layer_norm_fp32_fallback"] == "1"
    with pytest.raises(ValueError, match="min_shape <= opt_shape <= max_shape"):
        TensorRtOptions(opt_shape=(64, 128), max_shape=(32, 1024))


def test_the_engines_arguments_keep_what_upstream_demands() -> None:
    for name in ("gpu/gemma-3", "gpu/phi-3-mini"):
        spec = load_spec(name)
        assert isinstance(spec, GenerativeSpec)
        tree = yaml.safe_load(render_model_yaml(spec))
        assert tree["triton_config"]["max_batch_size"] == 0
        assert tree["backend"] == "pytorch"
        assert tree["max_seq_len"] <= spec.max_length
        assert ("max_attention_window" in tree["kv_cache_config"]) is (name == "gpu/gemma-3")
