"""The reranker: how well passages answer a question, each pair read as one, through Triton."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from orchestrator.errors import ModelError
from orchestrator.inference.batching import Batch
from orchestrator.inference.closing import Closing
from orchestrator.inference.deadline import Deadline, finish_within
from orchestrator.inference.encoder import batches_of, inputs_of
from orchestrator.inference.models import Reranking
from orchestrator.inference.served import ServedModel
from orchestrator.inference.taskgroup import all_of
from orchestrator.inference.versions import ModelVersion
from orchestrator.settings import InferenceSettings

__all__ = ["TritonReranker"]

SCORE = "score"
# Somebody waits for every question.
PRIORITY = 1


class TritonReranker(Closing):
    """Implements `orchestrator.inference.models.Reranker`.

    Args:
        settings: endpoints, deadlines, batch limits.
        model_repository: where the versions' tokenizers and manifests lie.
        model: its name in Triton.
    """

    def __init__(self, settings: InferenceSettings, model_repository: Path, model: str = "reranker") -> None:
        self._settings = settings
        self._served = ServedModel(settings, model_repository, model)

    async def close(self) -> None:
        """Close the connections."""
        await self._served.close()

    async def rerank(self, question: str, passages: Sequence[str], *, timeout_s: float | None = None) -> Reranking:
        """See `orchestrator.inference.models.Reranker.rerank`.

        Raises:
            ModelError: the model failed on these texts or answered with something else than one logit a pair.
        """
        if isinstance(passages, str):
            raise TypeError("passages must be a sequence of texts, not one text")
        deadline = Deadline.after(self._settings.deadline_s if timeout_s is None else timeout_s)

        async def work(version: ModelVersion) -> Reranking:
            return await self._rerank(version, question, passages, deadline)

        return await finish_within(self._served.run(work, deadline), deadline, f"Reranking {len(passages)} passages")

    async def _rerank(
        self, version: ModelVersion, question: str, passages: Sequence[str], deadline: Deadline
    ) -> Reranking:
        prefixes = version.manifest.prefixes
        ids = await version.tokenizer.encode_pairs(
            [(prefixes.query + question, prefixes.passage + passage) for passage in passages]
        )
        logits = np.zeros(len(passages), np.float64)
        started = time.perf_counter()

        async def run(batch: Batch) -> None:
            inputs = inputs_of(ids, batch, version)
            answer = await self._served.infer(version, inputs, deadline, roles=(SCORE,), priority=PRIORITY)
            logits[list(batch.rows)] = self._checked(answer[SCORE], len(batch.rows), version)

        await all_of([run(batch) for batch in batches_of(ids, version, self._settings)])
        return Reranking(logits, version.fingerprint, (time.perf_counter() - started) * 1000)

    def _checked(self, scores: npt.NDArray[Any], rows: int, version: ModelVersion) -> npt.NDArray[np.float64]:
        if scores.shape != (rows, 1) or not np.isfinite(scores).all():
            raise ModelError(
                f"Model '{self._served.model}' version {version.version} answered shape {list(scores.shape)} where "
                f"finite logits of shape {[rows, 1]} are due.",
                hint="Export the model again.",
            )
        return scores[:, 0].astype(np.float64)
