"""What a run of `trias finetune router` depends on."""

from __future__ import annotations

from pydantic import Field

from finetune.recipe import Recipe

__all__ = ["RouterRecipe"]


class RouterRecipe(Recipe):
    """Intent and slots together, on one encoder (Chen et al., 2019, with mean pooling for the intent).

    Attributes:
        held_out: only where the data names no test questions itself.
    """

    head_learning_rate: float = Field(gt=0, description="of the two heads, which begin at nothing")
    slot_weight: float = Field(ge=0, description="of the slot loss beside the intent's")
    label_smoothing: float = Field(ge=0, lt=1, description="of the intents: leaves doubt in the confidences")
    head_dropout: float = Field(ge=0, lt=1)
    max_tokens: int = Field(ge=8)
