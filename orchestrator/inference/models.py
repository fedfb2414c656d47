"""What the agents and ingest see of the served models: typed calls, no tensors of Triton's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

__all__ = ["Embedder", "Embedding", "TextKind"]

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
