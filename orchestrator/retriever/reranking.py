"""The best candidates read together with the question, by the served reranker."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from orchestrator.errors import DeadlineExceededError, ModelNotFoundError, TriasError
from orchestrator.inference.models import Reranker
from orchestrator.knowledge.embedded_text import embedded_text
from orchestrator.retriever.passages import Ranked
from orchestrator.retriever.waits import Waits
from orchestrator.settings import RetrieverSettings
from trias.v1 import common_pb2

__all__ = ["Reread", "Rereader"]

# How long a reranker that is not served is left alone.
ABSENT_S = 30.0


@dataclass(frozen=True, slots=True)
class Reread:
    """What the reranker made of some candidates; nothing where none is served or wanted, or where it failed.

    Attributes:
        logits: source id → logit.
        fault: None where it went well, or where nobody demands it.
        wall_ms: 0 where it was not asked.
    """

    logits: Mapping[str, float] = field(default_factory=dict)
    fault: common_pb2.Degradation | None = None
    wall_ms: float = 0.0
    model_ms: float = 0.0


class Rereader:
    """Has the best candidates read, within a deadline; a failure leaves the order as it is.

    Args:
        reranker: reads them; None: nobody does.
        settings: how many, how much of each, how long, and whether it is a degradation where none answers.
    """

    def __init__(self, reranker: Reranker | None, settings: RetrieverSettings) -> None:
        self._reranker = reranker if settings.reranker != "off" else None
        self._required = settings.reranker == "required"
        self._settings = settings
        self._absent_until = 0.0

    async def warm_up(self) -> None:
        """Have one pair read: the first question shall not wait for tokenizer and model. A failure is its to meet."""
        if self._reranker is not None:
            with contextlib.suppress(TriasError):
                await self._reranker.rerank("甲", ["乙"])

    async def read(self, question: str, ranked: Sequence[Ranked], waits: Waits) -> Reread:
        """Read the first of ``ranked``, unless their scores would not tell."""
        if self._reranker is None or not ranked or (time.monotonic() < self._absent_until and not self._required):
            return Reread()
        scoring = ranked[0].scoring
        if not scoring.semantic * scoring.rerank_share:
            return Reread()
        started = time.perf_counter()
        chosen = ranked[: self._settings.rerank_candidates]
        texts = [embedded_text(item.document, item.clause)[: self._settings.rerank_chars] for item in chosen]
        timeout_s = self._settings.rerank_timeout_s
        try:
            # The reranker keeps its own deadline; the outer one is for a reranker that does not.
            answer = await asyncio.wait_for(
                self._reranker.rerank(question, texts, timeout_s=timeout_s), timeout=2 * timeout_s
            )
        except (TriasError, asyncio.TimeoutError) as error:
            wall_ms = _since(started)
            # In vain, but waited for the model and not for us.
            waits.had_model(wall_ms)
            if isinstance(error, ModelNotFoundError):
                self._absent_until = time.monotonic() + ABSENT_S
            fault = _degradation(error) if self._required else None
            return Reread(fault=fault, wall_ms=wall_ms, model_ms=wall_ms)
        waits.had_model(answer.model_ms)
        logits = {item.clause.source_id: float(logit) for item, logit in zip(chosen, answer.logits, strict=True)}
        return Reread(logits, wall_ms=_since(started), model_ms=answer.model_ms)


def _degradation(error: BaseException) -> common_pb2.Degradation:
    known = error if isinstance(error, TriasError) else DeadlineExceededError("No answer in time.")
    return common_pb2.Degradation(
        level=common_pb2.FAULT_LEVEL_DEGRADED,
        component="reranker",
        reason=known.reason,
        detail=f"{known} The passages stay in the order of vectors and keywords.",
    )


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
