"""A model's spec: one YAML file from which its build, its manifest and its serving configuration follow.

``export/specs/*.yaml`` are the models that a CPU serves, ``export/specs/gpu/*.yaml`` those that need a GPU; ``kind``
says which sort of model it is.
"""

from __future__ import annotations

from importlib import resources
from typing import Annotated, Any, ClassVar, Literal

import yaml
from pydantic import Field, TypeAdapter, ValidationError, model_validator

from export.parts import (
    EmbedderGates,
    GpuOptions,
    LlmBuild,
    LlmServing,
    Part,
    Precisions,
    RerankerGates,
    RouterGates,
    Serving,
    Sizes,
    Source,
)
from orchestrator.errors import ConfigurationError, NotFoundError

__all__ = [
    "AnySpec",
    "EmbedderSpec",
    "EncoderSpec",
    "GenerativeSpec",
    "LlmPrecision",
    "ModelSpec",
    "ReasonerSpec",
    "RerankerSpec",
    "RouterLlmSpec",
    "RouterSpec",
    "known_models",
    "known_specs",
    "load_spec",
    "parse_spec",
]

NAME = r"^[a-z][a-z0-9_]*$"
FOLDER = r"^[a-z0-9][a-z0-9._-]*$"
SUFFIX = ".yaml"
# int8 and k_quant_mixed are onnxruntime-genai's; plain 4-bit rounding was measured useless on a model this small.
LlmPrecision = Literal["fp16", "bf16", "int8", "k_quant_mixed"]
Loss = Annotated[float, Field(ge=0)]


class AnySpec(Part):
    """What every model has."""

    kind: str
    model: str = Field(pattern=NAME, description="its folder in the model repository, and its name in Triton")
    source: Source
    checkpoint: str = Field(pattern=FOLDER, description="its folder under <data>/checkpoints")
    sizes: Sizes | None = Field(None, description="checked against the checkpoint where it is given")
    adapter: str = Field(
        "", pattern=rf"{FOLDER}|^$", description="folder under adapters/ that the default build merges"
    )
    max_length: int = Field(ge=8, description="tokens of an input, control tokens included")
    quality: dict[str, Loss] = Field(
        default_factory=dict, description="metric of the golden set → what a new version may lose against the live one"
    )


class EncoderSpec(AnySpec):
    """A text encoder with heads: one ONNX graph, served by the `onnxruntime` backend."""

    architecture: Literal["bert", "xlm_roberta"]
    prefixes: dict[Literal["query", "passage"], str]
    buckets: tuple[int, ...] = Field(min_length=1, description="padded lengths in tokens, rising to max_length")
    outputs: dict[str, str] = Field(description="what it is → the tensor's name")
    gates: Any
    opset: int = Field(ge=17, description="LayerNormalization is one operator from 17 on")
    precision: Precisions
    full_precision: tuple[str, ...] = Field((), description="linear layers of the checkpoint that `int8` leaves alone")
    external_data: bool = Field(
        False, description="weights in model.onnx.data: a message of 2 GB or more can't be read"
    )
    serving: Serving
    gpu: GpuOptions | None = None

    # What the model gives, in the order in which the exported module returns it.
    roles: ClassVar[tuple[str, ...]]
    optional: ClassVar[frozenset[str]] = frozenset()

    @model_validator(mode="after")
    def _outputs_are_its_own(self) -> EncoderSpec:
        if set(self.outputs) not in (set(self.roles), set(self.roles) - self.optional):
            raise ValueError(f"outputs must name the tensors of {', '.join(self.roles)}, not of {sorted(self.outputs)}")
        return self

    @model_validator(mode="after")
    def _buckets_rise(self) -> EncoderSpec:
        if list(self.buckets) != sorted(set(self.buckets)) or self.buckets[-1] != self.max_length:
            raise ValueError(f"buckets must rise and end at max_length ({self.max_length}), not {list(self.buckets)}")
        return self


class EmbedderSpec(EncoderSpec):
    """Texts to vectors: dense; where asked for, weights of tokens (sparse) and a vector a token (colbert)."""

    kind: Literal["embedder"]
    pooling: Literal["mean", "cls"]
    normalize: Literal[True]
    dimension: int = Field(ge=1)
    gates: EmbedderGates
    roles: ClassVar[tuple[str, ...]] = ("dense", "sparse", "colbert")
    optional: ClassVar[frozenset[str]] = frozenset({"sparse", "colbert"})


class RerankerSpec(EncoderSpec):
    """A question and a passage, encoded as a pair, to one logit."""

    kind: Literal["reranker"]
    head: Literal["mean_linear", "classifier"] = Field(
        description="mean_linear: score.weight and score.bias on the mean; classifier: the checkpoint's own, on <s>"
    )
    gates: RerankerGates
    roles: ClassVar[tuple[str, ...]] = ("score",)


class RouterSpec(EncoderSpec):
    """A question to logits of its intent (on the mean) and of each token's slot label."""

    kind: Literal["router"]
    gates: RouterGates
    roles: ClassVar[tuple[str, ...]] = ("intent", "slots")


class GenerativeSpec(AnySpec):
    """A causal language model behind the tensors of TensorRT-LLM's `llmapi`."""

    architecture: Literal["gemma3_text", "phi3"]
    precision: LlmPrecision
    serving: LlmServing
    build: LlmBuild | None = Field(None, description="for `llmapi` only")

    @model_validator(mode="after")
    def _build_fits_backend(self) -> GenerativeSpec:
        if (self.serving.backend == "llmapi") != (self.build is not None):
            raise ValueError("`build` belongs to serving.backend llmapi, and llmapi needs it")
        if (self.serving.backend == "llmapi") != (self.precision in ("fp16", "bf16")):
            raise ValueError(f"precision {self.precision} is not one of backend {self.serving.backend}")
        if self.serving.max_input_tokens + self.serving.max_output_tokens > self.max_length:
            raise ValueError("max_input_tokens + max_output_tokens exceed max_length")
        return self


class ReasonerSpec(GenerativeSpec):
    """Clauses to claims, under a grammar."""

    kind: Literal["reasoner"]


class RouterLlmSpec(GenerativeSpec):
    """A question to a plan in JSON, which the caller validates and asks for again where it is not valid."""

    kind: Literal["router_llm"]


ModelSpec = Annotated[
    EmbedderSpec | RerankerSpec | RouterSpec | ReasonerSpec | RouterLlmSpec, Field(discriminator="kind")
]
_ANY: TypeAdapter[EmbedderSpec | RerankerSpec | RouterSpec | ReasonerSpec | RouterLlmSpec] = TypeAdapter(ModelSpec)


def known_models() -> tuple[str, ...]:
    """The names of the models that a CPU serves."""
    return _specs_in("")


def known_specs() -> tuple[str, ...]:
    """The names of all specs: `known_models` and, as ``gpu/<name>``, those that need a GPU."""
    return known_models() + tuple(f"gpu/{name}" for name in _specs_in("gpu"))


def _specs_in(folder: str) -> tuple[str, ...]:
    place = resources.files("export") / "specs" / folder
    return tuple(sorted(entry.name[: -len(SUFFIX)] for entry in place.iterdir() if entry.name.endswith(SUFFIX)))


def load_spec(name: str) -> ModelSpec:
    """Read the spec of that name: ``embedder``, ``gpu/bge-m3``.

    Raises:
        NotFoundError: there is no such spec.
        ConfigurationError: the spec is malformed; names each field.
    """
    if name not in known_specs():
        raise NotFoundError(f"There is no model {name!r} to build.", hint=f"Known: {', '.join(known_specs())}.")
    text = (resources.files("export") / "specs" / f"{name}{SUFFIX}").read_text(encoding="utf-8")
    return parse_spec(text, name=f"export/specs/{name}{SUFFIX}")


def parse_spec(text: str, *, name: str) -> ModelSpec:
    """A spec from YAML text; ``name`` is how errors call it.

    Raises:
        ConfigurationError: it is not YAML or no valid spec; names each field.
    """
    try:
        return _ANY.validate_python(yaml.safe_load(text))
    except ValidationError as error:
        lines = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors())
        raise ConfigurationError(f"The model spec {name} is not valid: {lines}.") from None
    except yaml.YAMLError as error:
        raise ConfigurationError(f"The model spec {name} is not YAML: {error}.") from None
