"""A model's spec: one YAML file from which its build, its manifest and its serving configuration follow."""

from __future__ import annotations

from importlib import resources
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from orchestrator.errors import ConfigurationError, NotFoundError

__all__ = ["Gates", "ModelSpec", "Precision", "Serving", "Source", "known_models", "load_spec"]

Precision = Literal["fp32", "int8", "nbits8", "nbits4"]
Share = Annotated[float, Field(ge=0, le=1)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Source(_Part):
    """Where the weights come from: a file inside an installed Python package."""

    name: str = Field(min_length=1, description="the weights' name where they were published")
    license: str = Field(min_length=1, description="SPDX identifier of the weights' own licence")
    package: str = Field(pattern=r"^[A-Za-z0-9_]+$")
    file: str = Field(pattern=r"^[A-Za-z0-9_.-]+$")
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class Gates(_Part):
    """The least that each check of a build must measure."""

    token_ids_equal: Share = Field(description="texts whose ids are those of SentencePiece itself")
    token_counts_equal: Share = Field(description="texts of which the source's own engine makes as many tokens")
    cosine_checkpoint: Share = Field(description="checkpoint in torch against the source's own engine, worst text")
    cosine_onnx: Share = Field(description="float32 graph against the checkpoint, worst text")
    cosine_quantised: Share = Field(description="quantised graph against the checkpoint, worst text")
    rank_agreement: Share = Field(description="queries whose best passage is that of the checkpoint")


class Serving(_Part):
    """How Triton serves the model."""

    max_batch_size: int = Field(ge=1)
    instances: int = Field(ge=1)
    threads: int = Field(ge=1, description="intra-op threads of each instance")
    row_wise: bool = Field(description="on CPU, run a batch row by row, each trimmed to its own length")
    queue_delay_us: int = Field(ge=0)
    queue_timeout_us: int = Field(ge=1)
    queue_size: int = Field(ge=1)


class ModelSpec(_Part):
    """Everything that makes one served text encoder what it is."""

    model: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    source: Source
    checkpoint: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]*$", description="its folder under <data>/checkpoints")
    pooling: Literal["mean"]
    normalize: Literal[True]
    prefixes: dict[Literal["query", "passage"], str]
    max_length: int = Field(ge=8, description="tokens of a text, control tokens included")
    dimension: int = Field(ge=1)
    outputs: dict[Literal["dense"], str]
    opset: int = Field(ge=17)
    precision: Precision
    full_precision: tuple[str, ...] = Field((), description="linear layers of the checkpoint that `int8` leaves alone")
    gates: Gates
    serving: Serving


def known_models() -> tuple[str, ...]:
    """The names of the models that can be built."""
    folder = resources.files("export") / "specs"
    return tuple(sorted(entry.name[: -len(".yaml")] for entry in folder.iterdir() if entry.name.endswith(".yaml")))


def load_spec(model: str) -> ModelSpec:
    """Read the spec of ``model``.

    Raises:
        NotFoundError: there is no such model.
        ConfigurationError: the spec is malformed; names each field.
    """
    if model not in known_models():
        raise NotFoundError(f"There is no model {model!r} to build.", hint=f"Known: {', '.join(known_models())}.")
    text = (resources.files("export") / "specs" / f"{model}.yaml").read_text(encoding="utf-8")
    return parse_spec(text, name=f"export/specs/{model}.yaml")


def parse_spec(text: str, *, name: str) -> ModelSpec:
    """A spec from YAML text; ``name`` is how errors call it."""
    try:
        return ModelSpec.model_validate(yaml.safe_load(text))
    except ValidationError as error:
        lines = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors())
        raise ConfigurationError(f"The model spec {name} is not valid: {lines}.") from None
    except yaml.YAMLError as error:
        raise ConfigurationError(f"The model spec {name} is not YAML: {error}.") from None
