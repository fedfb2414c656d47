"""What the agents and ingest see of the served models: typed calls, no tensors of Triton's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

__all__ = [
    "Classification",
    "Classifier",
    "Embedder",
    "Embedding",
    "QuestionReading",
    "Reranker",
    "Reranking",
    "SlotSpan",
    "TextKind",
]

TextKind = Literal["query", "passage"]


@dataclass(frozen=True, slots=True)
class Embedding:
    """Vectors of some texts.

    Attributes:
        vectors: float32, shape [len(texts), dimension], L2-normalised rows, in the order of the texts.
        fingerprint: of the model version that made them.
        model_ms: milliseconds spent waiting for Triton (0 where all came from the cache).
    """

    vectors: npt.NDArray[np.float32]
    fingerprint: str
    model_ms: float


class Embedder(Protocol):
    """Texts to vectors, through Triton."""

    async def embed(self, texts: Sequence[str], *, kind: TextKind, timeout_s: float | None = None) -> Embedding:
        """Embed ``texts``; prefixes, pooling and lengths are the model's own affair.

        Args:
            texts: any number, in any language; blank ones are embedded like others.
            kind: whether the texts ask or are asked about.
            timeout_s: at most this long, retries included; the configured deadline where None.

        Raises:
            ModelUnavailableError: Triton or the model does not answer; retries are used up.
            DeadlineExceededError: the time is up.
            FingerprintMismatchError: model and tokenizer do not belong together.
        """

    async def fingerprint(self) -> str:
        """The fingerprint of the version that would answer now."""


@dataclass(frozen=True, slots=True)
class SlotSpan:
    """A slot as a model sees it: characters [start, end) of the text; ``confidence`` in [0,1] is the model's own."""

    slot_type: str
    start: int
    end: int
    confidence: float


@dataclass(frozen=True, slots=True)
class QuestionReading:
    """What a classifier makes of one question.

    Attributes:
        shares: float64, shape [intents], summing to 1: the chance of each intent as the model has it.
        spans: slots in order, without overlaps.
    """

    shares: npt.NDArray[np.float64]
    spans: tuple[SlotSpan, ...]


@dataclass(frozen=True, slots=True)
class Classification:
    """Readings of some questions.

    Attributes:
        intents: what the shares stand for, in order.
        readings: one a text, in the order of the texts.
        fingerprint: of the model version that made them.
        model_ms: milliseconds spent waiting for Triton.
    """

    intents: tuple[str, ...]
    readings: tuple[QuestionReading, ...]
    fingerprint: str
    model_ms: float


class Classifier(Protocol):
    """Questions to intent and slots, through Triton."""

    async def classify(self, texts: Sequence[str], *, timeout_s: float | None = None) -> Classification:
        """Classify ``texts``.

        Args:
            texts: any number of questions.
            timeout_s: at most this long, retries included; the configured deadline where None.

        Raises:
            ModelNotFoundError: no such model is served.
            ModelUnavailableError: Triton or the model does not answer; retries are used up.
            DeadlineExceededError: the time is up.
            FingerprintMismatchError: model and tokenizer do not belong together.
        """


@dataclass(frozen=True, slots=True)
class Reranking:
    """How well some passages answer one question.

    Attributes:
        logits: float64, shape [len(passages)], in the order of the passages; more is better, 0 is neither.
        fingerprint: of the model version that read them.
        model_ms: milliseconds spent waiting for Triton.
    """

    logits: npt.NDArray[np.float64]
    fingerprint: str
    model_ms: float


class Reranker(Protocol):
    """Question and passage read together, through Triton."""

    async def rerank(self, question: str, passages: Sequence[str], *, timeout_s: float | None = None) -> Reranking:
        """Read each passage together with the question.

        Args:
            question: what is asked.
            passages: any number, as `orchestrator.knowledge.embedded_text.embedded_text` gives them.
            timeout_s: at most this long, retries included; the configured deadline where None.

        Raises:
            ModelNotFoundError: no such model is served.
            ModelUnavailableError: Triton or the model does not answer; retries are used up.
            DeadlineExceededError: the time is up.
            FingerprintMismatchError: model and tokenizer do not belong together.
        """
