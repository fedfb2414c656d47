"""What a run of `trias finetune reasoner` depends on."""

from __future__ import annotations

from pydantic import Field

from finetune.recipe import Recipe

__all__ = ["ReasonerRecipe"]


class ReasonerRecipe(Recipe):
    """Clause → claim and question → formal question, completed by a causal language model.

    Attributes:
        held_out: share of the wordings that training never sees; the loss on them is measured before and after.
        frozen_layers: lowest layers without an adapter.
    """

    per_claim: int = Field(ge=1, description="pairs made of each claim")
    per_rewrite: int = Field(ge=1, description="pairs made of each way of asking")
    max_tokens: int = Field(ge=32, description="of prompt and answer together; longer pairs are left out")
