"""Renders what serves a causal language model: ``config.pbtxt`` with llmapi's tensors, and ``model.yaml``.

The tensors are those of TensorRT-LLM's ``all_models/llmapi`` (release 1.2.1), so that a request is the same whether
onnxruntime-genai answers on a CPU or TensorRT-LLM on a GPU.
"""

from __future__ import annotations

from typing import Any

import yaml

from export.spec import GenerativeSpec

__all__ = ["MODEL_YAML", "WEIGHTS_FOLDER", "render_llm_config", "render_model_yaml"]

MODEL_YAML = "model.yaml"
# Of the merged checkpoint, inside a version's folder.
WEIGHTS_FOLDER = "checkpoint"
# How often llmapi's model.py looks for cancelled requests, in milliseconds; its own default.
CANCELLATION_MS = 100

# Name, type and size; all but the first are optional.
INPUTS = (
    ("text_input", "STRING", -1),
    ("streaming", "BOOL", 1),
    ("sampling_param_max_tokens", "INT32", 1),
    ("sampling_param_temperature", "FP32", 1),
    ("sampling_param_top_k", "INT32", 1),
    ("sampling_param_top_p", "FP32", 1),
    ("sampling_param_best_of", "INT32", 1),
    ("sampling_param_frequency_penalty", "FP32", 1),
    ("sampling_param_presence_penalty", "FP32", 1),
    ("sampling_param_seed", "UINT64", 1),
    ("sampling_param_stop", "STRING", -1),
    ("sampling_param_exclude_input_from_output", "BOOL", 1),
    ("sampling_param_return_perf_metrics", "BOOL", 1),
    ("return_finish_reason", "BOOL", 1),
    ("return_stop_reason", "BOOL", 1),
    ("return_cumulative_logprob", "BOOL", 1),
    ("stop", "BOOL", 1),
)
# Not of llmapi, whose model.py ignores them; Triton would refuse a request with an input that no config names.
GUIDES = (("guided_decoding_guide_type", "STRING", 1), ("guided_decoding_guide", "STRING", 1))
OUTPUTS = (
    ("text_output", "STRING", -1),
    ("finish_reason", "STRING", -1),
    ("stop_reason", "STRING", -1),
    ("cumulative_logprob", "FP32", -1),
)
# Only TensorRT-LLM measures these.
METRICS = (
    ("kv_cache_reused_block", "INT32", -1),
    ("kv_cache_missed_block", "INT32", -1),
    ("kv_cache_alloc_new_blocks", "INT32", -1),
    ("kv_cache_alloc_total_blocks", "INT32", -1),
    ("kv_cache_hit_rate", "FP32", -1),
    ("arrival_time_ns", "INT64", 1),
    ("first_scheduled_time_ns", "INT64", 1),
    ("first_token_time_ns", "INT64", 1),
    ("last_token_time_ns", "INT64", 1),
    ("acceptance_rate", "FP32", 1),
    ("total_accepted_draft_tokens", "INT32", 1),
    ("total_draft_tokens", "INT32", 1),
)

TEMPLATE = """\
# Rendered from export/specs/{source}.yaml: a test holds the two equal.
name: "{model}"
backend: "{backend}"
{batching}input [
{inputs}
]
output [
{outputs}
]
{rest}version_policy {{ latest {{ num_versions: 1 }} }}
"""

GENAI = """\
max_batch_size: 0
model_transaction_policy {{ decoupled: {decoupled} }}
"""
GENAI_REST = """\
instance_group [ {{ count: {instances} kind: KIND_CPU }} ]
# Batches of one, for the model has no batch dimension; it is the queue that is wanted. A full queue, or a request that
# waited too long, is answered UNAVAILABLE.
dynamic_batching {{
  default_queue_policy {{
    timeout_action: REJECT
    default_timeout_microseconds: {queue_timeout_us}
    allow_timeout_override: true
    max_queue_size: {queue_size}
  }}
}}
parameters {{ key: "threads" value {{ string_value: "{threads}" }} }}
parameters {{ key: "max_input_tokens" value {{ string_value: "{max_input}" }} }}
parameters {{ key: "max_output_tokens" value {{ string_value: "{max_output}" }} }}
"""
# llmapi's model.py sets the batch size and the transaction policy itself, from model.yaml, when Triton completes the
# configuration: they must not be here, and Triton must not be started with --disable-auto-complete-config.
LLMAPI_REST = """\
# The engine batches by itself, and takes the GPU that the process sees: this only counts Python processes.
instance_group [ {{ count: {instances} kind: KIND_CPU }} ]
"""


def render_llm_config(spec: GenerativeSpec, *, source: str) -> str:
    """The text of ``config.pbtxt``, which parses as ``inference.ModelConfig``."""
    serving = spec.serving
    cpu = serving.backend == "genai"
    return TEMPLATE.format(
        source=source,
        model=spec.model,
        backend="genai" if cpu else "python",
        batching=GENAI.format(decoupled=str(serving.streaming).lower()) if cpu else "",
        inputs=_tensors((*INPUTS, *GUIDES), required=INPUTS[0][0]),
        outputs=_tensors(OUTPUTS if cpu else (*OUTPUTS, *METRICS)),
        rest=(GENAI_REST if cpu else LLMAPI_REST).format(
            instances=serving.instances,
            threads=serving.threads,
            max_input=serving.max_input_tokens,
            max_output=serving.max_output_tokens,
            queue_size=serving.queue_size,
            queue_timeout_us=serving.queue_timeout_us,
        ),
    )


def _tensors(rows: tuple[tuple[str, str, int], ...], required: str | None = None) -> str:
    optional = "" if required is None else " optional: true"
    return ",\n".join(
        f'  {{ name: "{name}" data_type: TYPE_{kind} dims: [ {size} ]{"" if name == required else optional} }}'
        for name, kind, size in rows
    )


def render_model_yaml(spec: GenerativeSpec) -> str:
    """``model.yaml``: the arguments of ``tensorrt_llm.LLM``, and what llmapi's model.py tells Triton.

    ``model`` is a folder beside the file; ``model_repository/backends/llmapi/model.py`` makes a whole path of it.
    """
    assert spec.build is not None
    serving, build = spec.serving, spec.build
    cache: dict[str, Any] = {
        "free_gpu_memory_fraction": build.kv_cache_share,
        "enable_block_reuse": build.block_reuse,
    }
    if build.attention_windows:
        cache["max_attention_window"] = list(build.attention_windows)
    tree = {
        "model": WEIGHTS_FOLDER,
        "backend": "pytorch",
        "dtype": {"fp16": "float16", "bf16": "bfloat16"}[spec.precision],
        "tensor_parallel_size": 1,
        "pipeline_parallel_size": 1,
        "max_batch_size": serving.max_batch_size,
        "max_input_len": serving.max_input_tokens,
        "max_seq_len": serving.max_input_tokens + serving.max_output_tokens,
        "kv_cache_config": cache,
        "triton_config": {
            "max_batch_size": 0,
            "decoupled": serving.streaming,
            "cancellation_check_period_ms": CANCELLATION_MS,
        },
    }
    return "# The arguments of tensorrt_llm.LLM; triton_config is read by llmapi's model.py.\n" + yaml.safe_dump(
        tree, sort_keys=False
    )
