"""How the learning rate goes over a run."""

from __future__ import annotations

import torch
from transformers.optimization import get_cosine_schedule_with_warmup

from finetune.recipe import Recipe

__all__ = ["warm_then_cosine"]


def warm_then_cosine(optimizer: torch.optim.Optimizer, recipe: Recipe, steps: int) -> torch.optim.lr_scheduler.LambdaLR:
    """It rises linearly for the recipe's share of the steps, one at least, and falls with a cosine to nothing."""
    schedule: torch.optim.lr_scheduler.LambdaLR = get_cosine_schedule_with_warmup(
        optimizer, max(1, round(recipe.warmup * steps)), steps
    )
    return schedule
