"""The question classifier: intent and slots of questions through Triton."""

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
from orchestrator.inference.models import Classification, QuestionReading, SlotSpan
from orchestrator.inference.served import ServedModel
from orchestrator.inference.taskgroup import all_of
from orchestrator.inference.versions import ModelVersion
from orchestrator.settings import InferenceSettings

__all__ = ["TritonClassifier", "spans_of"]

INTENT, SLOTS = "intent", "slots"
INTENT_LABELS, SLOT_LABELS = "intents", "slots"
OUTSIDE = "O"
# Somebody waits for every question.
PRIORITY = 1
Offsets = Sequence[tuple[int, int]]


class TritonClassifier(Closing):
    """Implements `orchestrator.inference.models.Classifier`.

    Args:
        settings: endpoints, deadlines, batch limits.
        model_repository: where the versions' tokenizers, labels and manifests lie.
        model: its name in Triton.
    """

    def __init__(self, settings: InferenceSettings, model_repository: Path, model: str = "router") -> None:
        self._settings = settings
        self._served = ServedModel(settings, model_repository, model)

    async def close(self) -> None:
        """Close the connections."""
        await self._served.close()

    async def classify(self, texts: Sequence[str], *, timeout_s: float | None = None) -> Classification:
        """See `orchestrator.inference.models.Classifier.classify`.

        Raises:
            ModelError: the model failed on these texts, or its outputs and its labels do not fit each other.
        """
        if isinstance(texts, str):
            raise TypeError("texts must be a sequence of texts, not one text")
        deadline = Deadline.after(self._settings.deadline_s if timeout_s is None else timeout_s)

        async def work(version: ModelVersion) -> Classification:
            return await self._classify(version, texts, deadline)

        return await finish_within(self._served.run(work, deadline), deadline, f"Classifying {len(texts)} questions")

    async def _classify(self, version: ModelVersion, texts: Sequence[str], deadline: Deadline) -> Classification:
        intents, tags = self._labels(version)
        prefix = version.manifest.prefixes.query
        encoded = [version.tokenizer.encode_with_offsets(text, prefix=prefix) for text in texts]
        ids = [row for row, _ in encoded]
        readings: list[QuestionReading | None] = [None] * len(texts)
        started = time.perf_counter()

        async def run(batch: Batch) -> None:
            inputs = inputs_of(ids, batch, version)
            answer = await self._served.infer(version, inputs, deadline, roles=(INTENT, SLOTS), priority=PRIORITY)
            intent = self._checked(answer[INTENT], (len(batch.rows), len(intents)), version)
            slots = self._checked(answer[SLOTS], (len(batch.rows), batch.length, len(tags)), version)
            for place, row in enumerate(batch.rows):
                spans = spans_of(_softmax(slots[place]), encoded[row][1], tags, texts[row])
                readings[row] = QuestionReading(_softmax(intent[place]), tuple(spans))

        await all_of([run(batch) for batch in batches_of(ids, version, self._settings)])
        waited_ms = (time.perf_counter() - started) * 1000
        return Classification(intents, tuple(one for one in readings if one), version.fingerprint, waited_ms)

    def _labels(self, version: ModelVersion) -> tuple[tuple[str, ...], tuple[str, ...]]:
        try:
            return version.labels[INTENT_LABELS], version.labels[SLOT_LABELS]
        except KeyError as error:
            raise ModelError(
                f"labels.json in {version.folder} does not tell what {error} are.", hint="Export the model again."
            ) from None

    def _checked(
        self, logits: npt.NDArray[Any], wanted: tuple[int, ...], version: ModelVersion
    ) -> npt.NDArray[np.float64]:
        if logits.shape != wanted or not np.isfinite(logits).all():
            raise ModelError(
                f"Model '{self._served.model}' version {version.version} answered shape {list(logits.shape)} where "
                f"finite logits of shape {list(wanted)} are due.",
                hint="Export the model again.",
            )
        return logits.astype(np.float64)


def spans_of(chances: npt.NDArray[np.float64], offsets: Offsets, tags: Sequence[str], text: str) -> list[SlotSpan]:
    """The slots that a question's tokens mark: each token says its likeliest tag; an I- without its B- begins a slot.

    Args:
        chances: shape [tokens or more, tags], rows summing to 1.
        offsets: of each token in the text; (0, 0) for one without text.
        tags: ``O``, ``B-type``, ``I-type``.
        text: the question; white space at the ends of a slot is no part of it.
    """
    found: list[tuple[str, int, int, list[float]]] = []
    before = ""
    for (start, end), row in zip(offsets, chances, strict=False):
        if end <= start:
            continue
        tag = tags[int(row.argmax())]
        slot_type = "" if tag == OUTSIDE else tag[2:]
        if slot_type:
            chance = float(sum(row[place] for place, name in enumerate(tags) if name[2:] == slot_type))
            if before == slot_type and tag.startswith("I-"):
                found[-1] = (slot_type, found[-1][1], end, [*found[-1][3], chance])
            else:
                found.append((slot_type, start, end, [chance]))
        before = slot_type
    return [span for one in found if (span := _span(*one, text)) is not None]


def _span(slot_type: str, start: int, end: int, chances: Sequence[float], text: str) -> SlotSpan | None:
    written = text[start:end]
    first, last = start + len(written) - len(written.lstrip()), start + len(written.rstrip())
    return SlotSpan(slot_type, first, last, min(sum(chances) / len(chances), 1.0)) if first < last else None


def _softmax(logits: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    odds = np.exp(logits - logits.max(axis=-1, keepdims=True))
    shares: npt.NDArray[np.float64] = odds / odds.sum(axis=-1, keepdims=True)
    return shares
