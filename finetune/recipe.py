"""Recipes: every number that a fine-tuning run depends on, one YAML file a model."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Annotated, Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from orchestrator.errors import ConfigurationError

__all__ = ["EmbedderRecipe", "Lora", "Recipe", "RerankerRecipe", "load_recipe"]

Share = Annotated[float, Field(ge=0, lt=1)]
RecipeT = TypeVar("RecipeT", bound="Recipe")


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Lora(_Part):
    """Low-rank adapters on the linear layers of the layers that are trained (Hu et al., 2021)."""

    rank: int = Field(ge=1)
    alpha: int = Field(ge=1, description="the update is scaled by alpha / rank")
    dropout: Share = 0.0


class Recipe(_Part):
    """What every run has."""

    seed: int = Field(ge=0)
    epochs: int = Field(ge=1)
    batch_size: int = Field(ge=2)
    learning_rate: float = Field(gt=0, description="the peak: it rises linearly and falls with a cosine")
    warmup: Share = Field(description="share of the steps on which the learning rate rises")
    weight_decay: float = Field(ge=0)
    gradient_norm: float = Field(gt=0, description="longer gradients are scaled down to this norm")
    frozen_layers: int = Field(ge=0, description="lowest layers left alone; their outputs are computed once a text")
    lora: Lora
    dropout: Share = Field(description="of the base's own layers, beside the adapters'; on a CPU it costs much time")
    held_out: Share = Field(description="share of the questions that training never sees")


class EmbedderRecipe(Recipe):
    """Contrastive training of a dense encoder: in-batch and mined hard negatives (Karpukhin et al., 2020)."""

    temperature: float = Field(gt=0)
    max_query_tokens: int = Field(ge=8)
    max_passage_tokens: int = Field(ge=8)
    hard_negatives: int = Field(ge=0, description="mined passages a question in each batch")
    mining_depth: int = Field(ge=1, description="how far down the encoder's own list they are drawn from")
    answer_share: Share = Field(description="share of the batches' questions whose human answer is asked instead")
    rounds: int = Field(ge=1, description="times that negatives are mined; `epochs` are trained after each")


class RerankerRecipe(Recipe):
    """Training of a cross-encoder: a question's right passage against wrong ones that the embedder finds for it."""

    head_learning_rate: float = Field(gt=0, description="of the linear layer, which starts from nothing")
    max_tokens: int = Field(ge=16, description="of a pair; longer ones are cut")
    candidates: int = Field(ge=2, description="passages of one question in a step, one of them right")
    mining_depth: int = Field(ge=2, description="how far down the embedder's list the wrong ones are drawn from")
    reranked: int = Field(ge=2, description="candidates of a held-out question that are put in a new order")
    answer_share: Share = Field(description="share of the questions whose human answer is asked instead")


def load_recipe(model: str, kind: type[RecipeT], *, file: Path | None = None, **changes: Any) -> RecipeT:
    """The recipe of ``model``: the one in this package or ``file``, with ``changes`` (None: leave) on top.

    Raises:
        ConfigurationError: it cannot be read or is malformed; names each field.
    """
    path = file or resources.files("finetune") / "recipes" / f"{model}.yaml"
    try:
        tree = yaml.safe_load(path.read_text(encoding="utf-8"))
        if not isinstance(tree, dict):
            raise ConfigurationError(f"The recipe {path} is not a mapping.")
        return kind.model_validate({**tree, **{key: value for key, value in changes.items() if value is not None}})
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigurationError(f"The recipe {path} cannot be read: {error}.") from None
    except ValidationError as error:
        lines = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors())
        raise ConfigurationError(f"The recipe {path} is not valid: {lines}.") from None
