"""Renders a model's ``config.pbtxt``: one file for NVIDIA's container and for a CPU."""

from __future__ import annotations

from export.config_llm import render_llm_config
from export.parts import GpuOptions, TensorRtOptions
from export.spec import AnySpec, EmbedderSpec, EncoderSpec, GenerativeSpec

__all__ = ["CONFIG", "render_config"]

CONFIG = "config.pbtxt"
BYTES_IN_MB = 1024 * 1024
# Where the container keeps what TensorRT built; a volume, since building again takes minutes.
ENGINE_CACHE = "/var/cache/trias/tensorrt"

# `backend: "onnxruntime"` is the native backend in NVIDIA's container, and model_repository/backends/onnxruntime where
# there is none. KIND_AUTO takes a GPU where there is one. Parameters that a backend does not know, it ignores.
TEMPLATE = """\
# Rendered from export/specs/{source}.yaml: a test holds the two equal.
name: "{model}"
backend: "onnxruntime"
max_batch_size: {max_batch_size}
input [
  {{ name: "input_ids" data_type: TYPE_INT64 dims: [ -1 ] }},
  {{ name: "attention_mask" data_type: TYPE_INT64 dims: [ -1 ] }}
]
output [
{outputs}
]
# State the count: its default differs between backends.
instance_group [ {{ count: {instances} kind: KIND_AUTO }} ]
dynamic_batching {{
  # A delay is added in full to a request that comes alone.
  max_queue_delay_microseconds: {queue_delay_us}
  # 1: somebody waits (queries, canaries). 2: bulk work (passages of an ingest).
  priority_levels: 2
  default_priority_level: 2
  # A full queue, or a request that waited too long, is answered UNAVAILABLE: the caller backs off and tries again.
  default_queue_policy {{
    timeout_action: REJECT
    default_timeout_microseconds: {queue_timeout_us}
    allow_timeout_override: true
    max_queue_size: {queue_size}
  }}
}}
version_policy {{ latest {{ num_versions: 1 }} }}
parameters {{ key: "intra_op_thread_count" value {{ string_value: "{threads}" }} }}
parameters {{ key: "inter_op_thread_count" value {{ string_value: "1" }} }}
# Only the CPU backend reads this: it runs a batch row by row, each cut to its own length.
parameters {{ key: "row_wise" value {{ string_value: "{row_wise}" }} }}
"""

GPU = """\
# What follows only the native backend on a GPU reads. Its arena never gives memory back: it is capped, and grows by
# what is asked for (1), not by doubling.
parameters {{ key: "gpu_mem_limit" value {{ string_value: "{memory}" }} }}
parameters {{ key: "arena_extend_strategy" value {{ string_value: "1" }} }}
"""

WARM_UP = """\
# Every padded length once, before the version counts as ready.
model_warmup [
{samples}
]
"""

# Ids of zero, for random ones would lie outside of the vocabulary; the lengths are what matters.
SAMPLE = """\
  {{ name: "{length} tokens" batch_size: 1
    inputs {{ key: "input_ids" value {{ data_type: TYPE_INT64 dims: [ {length} ] zero_data: true }} }}
    inputs {{ key: "attention_mask" value {{ data_type: TYPE_INT64 dims: [ {length} ] zero_data: true }} }} }}"""

TENSORRT = """\
# TensorRT builds an engine anew for a shape outside of its profile: it was asked for, and must be measured.
optimization {{ execution_accelerators {{ gpu_execution_accelerator [ {{
  name: "tensorrt"
{parameters}
}} ] }} }}
"""


def render_config(spec: AnySpec, *, source: str = "") -> str:
    """The text of ``config.pbtxt``, which parses as ``inference.ModelConfig``.

    The fingerprint is not in it: it belongs to a version, and whoever loads the model passes it as an override.

    Args:
        spec: of the model.
        source: the spec's name under export/specs, where it is not the model's.
    """
    if isinstance(spec, GenerativeSpec):
        return render_llm_config(spec, source=source or spec.model)
    if not isinstance(spec, EncoderSpec):
        raise TypeError(f"no configuration is known for {type(spec).__name__}")
    serving = spec.serving
    text = TEMPLATE.format(
        source=source or spec.model,
        model=spec.model,
        max_batch_size=serving.max_batch_size,
        outputs=",\n".join(
            f'  {{ name: "{spec.outputs[role]}" data_type: TYPE_FP32 dims: [ {_sizes(spec, role)} ] }}'
            for role in spec.roles
            if role in spec.outputs
        ),
        instances=serving.instances,
        queue_delay_us=serving.queue_delay_us,
        queue_timeout_us=serving.queue_timeout_us,
        queue_size=serving.queue_size,
        threads=serving.threads,
        row_wise=str(serving.row_wise).lower(),
    )
    return text + _gpu(spec, spec.gpu) if spec.gpu is not None else text


def _sizes(spec: EncoderSpec, role: str) -> str:
    """An output's dimensions without the batch's; -1 where a version or a text decides."""
    if isinstance(spec, EmbedderSpec):
        return {"dense": f"{spec.dimension}", "sparse": "-1", "colbert": f"-1, {spec.dimension}"}[role]
    return {"score": "1", "intent": "-1", "slots": "-1, -1"}[role]


def _gpu(spec: EncoderSpec, options: GpuOptions) -> str:
    text = GPU.format(memory=options.memory_mb * BYTES_IN_MB)
    if options.warm_up:
        text += WARM_UP.format(samples=",\n".join(SAMPLE.format(length=length) for length in spec.buckets))
    if options.tensorrt is not None:
        parameters = _tensorrt(options.tensorrt, f"{ENGINE_CACHE}/{spec.model}")
        lines = (f'  parameters {{ key: "{key}" value: "{value}" }}' for key, value in parameters.items())
        text += TENSORRT.format(parameters="\n".join(lines))
    return text


def _tensorrt(options: TensorRtOptions, cache: str) -> dict[str, str]:
    """The accelerator's parameters, under the names that Triton's onnxruntime backend documents."""

    def shapes(shape: tuple[int, int]) -> str:
        return ",".join(f"{name}:{shape[0]}x{shape[1]}" for name in ("input_ids", "attention_mask"))

    return {
        "precision_mode": options.precision,
        "max_workspace_size_bytes": str(options.workspace_mb * BYTES_IN_MB),
        "trt_engine_cache_enable": "1",
        "trt_engine_cache_path": cache,
        "trt_timing_cache_enable": "1",
        "trt_timing_cache_path": cache,
        "trt_profile_min_shapes": shapes(options.min_shape),
        "trt_profile_opt_shapes": shapes(options.opt_shape),
        "trt_profile_max_shapes": shapes(options.max_shape),
        "trt_layer_norm_fp32_fallback": str(int(options.layer_norm_fp32)),
    }
