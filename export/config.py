"""Renders a model's ``config.pbtxt``: one file for NVIDIA's container and for a CPU."""

from __future__ import annotations

from export.spec import EmbedderSpec, EncoderSpec, ModelSpec

__all__ = ["CONFIG", "render_config"]

CONFIG = "config.pbtxt"

# `backend: "onnxruntime"` is the native backend in NVIDIA's container, and model_repository/backends/onnxruntime where
# there is none. KIND_AUTO takes a GPU where there is one. Parameters that a backend does not know, it ignores.
TEMPLATE = """\
# Rendered from export/specs/{model}.yaml: a test holds the two equal.
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


def render_config(spec: ModelSpec) -> str:
    """The text of ``config.pbtxt``, which parses as ``inference.ModelConfig``.

    The fingerprint is not in it: it belongs to a version, and whoever loads the model passes it as an override.
    """
    if not isinstance(spec, EncoderSpec):
        raise NotImplementedError
    serving = spec.serving
    return TEMPLATE.format(
        model=spec.model,
        max_batch_size=serving.max_batch_size,
        outputs=",\n".join(
            f'  {{ name: "{tensor}" data_type: TYPE_FP32 dims: [ {_sizes(spec, role)} ] }}'
            for role, tensor in spec.outputs.items()
        ),
        instances=serving.instances,
        queue_delay_us=serving.queue_delay_us,
        queue_timeout_us=serving.queue_timeout_us,
        queue_size=serving.queue_size,
        threads=serving.threads,
        row_wise=str(serving.row_wise).lower(),
    )


def _sizes(spec: EncoderSpec, role: str) -> str:
    """An output's dimensions without the batch's; -1 where a version or a text decides."""
    if isinstance(spec, EmbedderSpec):
        return {"dense": f"{spec.dimension}", "sparse": "-1", "colbert": f"-1, {spec.dimension}"}[role]
    return {"score": "1", "intent": "-1", "slots": "-1, -1"}[role]
