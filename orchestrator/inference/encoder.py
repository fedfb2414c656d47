"""What every encoder is sent: token ids in batches of like length, as the version that made them takes them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from orchestrator.inference.batching import Batch, pad, plan_batches
from orchestrator.inference.versions import ModelVersion
from orchestrator.settings import InferenceSettings

__all__ = ["batches_of", "inputs_of"]


def batches_of(ids: Sequence[Sequence[int]], version: ModelVersion, settings: InferenceSettings) -> list[Batch]:
    """Group rows of token ids within what the settings and the version allow; see `plan_batches`."""
    return plan_batches(
        [len(row) for row in ids],
        buckets=settings.buckets,
        max_tokens=settings.max_batch_tokens,
        max_rows=min(settings.max_batch_rows, version.max_rows or 1),
        max_length=version.manifest.max_length,
    )


def inputs_of(ids: Sequence[Sequence[int]], batch: Batch, version: ModelVersion) -> dict[str, npt.NDArray[np.int64]]:
    """The input tensors of one batch of ``ids``, by name; int64, shape [len(batch.rows), batch.length]."""
    tokens, mask = pad([ids[row] for row in batch.rows], length=batch.length, pad_id=version.tokenizer.pad_id)
    return {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
