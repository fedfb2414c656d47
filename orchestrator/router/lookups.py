"""What the router asks of others: a vector and a reading of the question, titles of the library. None may stop it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from orchestrator.errors import DeadlineExceededError, ModelNotFoundError, TriasError
from orchestrator.inference.models import Classification, Classifier, Embedder, Embedding
from orchestrator.knowledge.clause import Document
from orchestrator.router.normalise import MARKED_TITLE
from orchestrator.router.planner import Titles
from trias.v1 import common_pb2

__all__ = ["Classified", "FindTitles", "Found", "Lookups", "TitleHits", "Vectors"]

FindTitles = Callable[[str, int], Awaitable[Sequence[Document]]]

# Titles wanted per look-up, and the most titles in 《》 that are looked up.
TITLES_PER_LOOKUP = 5
MOST_MARKED_TITLES = 4
# A model that is not served is asked for again after this long: it may be published at any time.
ABSENT_S = 15.0


@dataclass(frozen=True, slots=True)
class Vectors:
    """The question's vector, or why there is none."""

    embedding: Embedding | None
    degradation: common_pb2.Degradation | None = None
    wall_ms: float = 0.0

    @property
    def vector(self) -> npt.NDArray[np.float32] | None:
        """Shape [dimension]."""
        return self.embedding.vectors[0] if self.embedding else None

    @property
    def model_ms(self) -> float:
        """Milliseconds spent waiting for the model."""
        return self.embedding.model_ms if self.embedding else 0.0


@dataclass(frozen=True, slots=True)
class TitleHits:
    """Titles of the library: those near the whole question, and those near each title in 《》."""

    whole: Titles = ()
    marked: Mapping[str, Titles] = field(default_factory=dict)
    degradation: common_pb2.Degradation | None = None
    wall_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Classified:
    """What the classifier made of the question; nothing, and no degradation, where none is served or wanted."""

    classification: Classification | None = None
    degradation: common_pb2.Degradation | None = None
    wall_ms: float = 0.0

    @property
    def model_ms(self) -> float:
        """Milliseconds spent waiting for the model."""
        return self.classification.model_ms if self.classification else 0.0


class Found(NamedTuple):
    """What the look-ups for one question came to."""

    vectors: Vectors
    titles: TitleHits
    classified: Classified


class Lookups:
    """The three look-ups, each under its own deadline.

    Args:
        embedder: makes vectors of questions.
        classifier: reads questions; None: nobody does.
        classifier_required: whether a classifier that is not served is a degradation.
        find_titles: titles of the library near a text.
        embed_timeout_s, classify_timeout_s, titles_timeout_s: how long each may take.
    """

    def __init__(
        self,
        embedder: Embedder,
        classifier: Classifier | None,
        find_titles: FindTitles,
        *,
        classifier_required: bool,
        embed_timeout_s: float,
        classify_timeout_s: float,
        titles_timeout_s: float,
    ) -> None:
        self._embedder = embedder
        self._classifier = classifier
        self._classifier_required = classifier_required
        self._find_titles = find_titles
        self._embed_timeout_s = embed_timeout_s
        self._classify_timeout_s = classify_timeout_s
        self._titles_timeout_s = titles_timeout_s
        self._absent_until = 0.0

    async def vectors(self, text: str) -> Vectors:
        """The vector of one text; a failure becomes a degradation."""
        started = time.perf_counter()
        try:
            # The embedder keeps its own deadline; the outer one is for an embedder that does not.
            embedding = await asyncio.wait_for(
                self._embedder.embed([text], kind="query", timeout_s=self._embed_timeout_s), 2 * self._embed_timeout_s
            )
        except (TriasError, asyncio.TimeoutError) as error:
            return Vectors(None, _degradation("embedder", error, "Rules alone decided on the intent."), _since(started))
        return Vectors(embedding, wall_ms=_since(started))

    async def classified(self, text: str) -> Classified:
        """The reading of one text; a failure becomes a degradation, an absent model nothing at all."""
        started = time.perf_counter()
        if self._classifier is None or (time.monotonic() < self._absent_until and not self._classifier_required):
            return Classified()
        try:
            classification = await asyncio.wait_for(
                self._classifier.classify([text], timeout_s=self._classify_timeout_s), 2 * self._classify_timeout_s
            )
        except (TriasError, asyncio.TimeoutError) as error:
            if isinstance(error, ModelNotFoundError) and not self._classifier_required:
                self._absent_until = time.monotonic() + ABSENT_S
                return Classified(wall_ms=_since(started))
            degradation = _degradation("router_model", error, "Rules and examples decided on intent and slots.")
            return Classified(degradation=degradation, wall_ms=_since(started))
        return Classified(classification, wall_ms=_since(started))

    async def titles(self, text: str) -> TitleHits:
        """Titles that may be named in ``text``; a failure becomes a degradation."""
        started = time.perf_counter()
        marked = list(dict.fromkeys(match[1] for match in MARKED_TITLE.finditer(text)))[:MOST_MARKED_TITLES]
        lookups = [self._find_titles(wanted, TITLES_PER_LOOKUP) for wanted in (text, *marked)]
        try:
            found = await asyncio.wait_for(asyncio.gather(*lookups), self._titles_timeout_s)
        except (TriasError, asyncio.TimeoutError) as error:
            degradation = _degradation("clause_graph", error, "Documents that the question names were not looked up.")
            return TitleHits(degradation=degradation, wall_ms=_since(started))
        whole, *near = [
            # A number names its document as a title does.
            [(one.document_id, name) for one in documents for name in (one.title, one.doc_number) if name]
            for documents in found
        ]
        return TitleHits(whole, dict(zip(marked, near, strict=True)), wall_ms=_since(started))

    async def documents_titled(self, title: str) -> list[str]:
        """Ids of the library's documents of exactly that title; none where the catalogue does not answer."""
        try:
            found = await asyncio.wait_for(self._find_titles(title, TITLES_PER_LOOKUP), self._titles_timeout_s)
        except (TriasError, asyncio.TimeoutError):
            return []
        return [document.document_id for document in found if document.title == title]


def _degradation(component: str, error: BaseException, consequence: str) -> common_pb2.Degradation:
    known = error if isinstance(error, TriasError) else DeadlineExceededError("No answer in time.")
    return common_pb2.Degradation(
        level=common_pb2.FAULT_LEVEL_DEGRADED,
        component=component,
        reason=known.reason,
        detail=f"{known} {consequence}",
    )


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
