"""The embedder: texts to vectors through Triton, whatever happens to the model meanwhile."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from orchestrator.errors import ModelError
from orchestrator.inference.batching import Batch
from orchestrator.inference.closing import Closing
from orchestrator.inference.deadline import Deadline, finish_within
from orchestrator.inference.encoder import batches_of, inputs_of
from orchestrator.inference.models import Embedding, TextKind
from orchestrator.inference.querycache import QueryCache
from orchestrator.inference.served import VERSION_CHANGES, ServedModel, endpoint_of
from orchestrator.inference.taskgroup import all_of
from orchestrator.inference.versions import ModelVersion
from orchestrator.settings import InferenceSettings

__all__ = ["TritonEmbedder", "endpoint_of"]

# A question waits for an answer; passages wait for the next file. Models without priority levels ignore it.
PRIORITY: dict[TextKind, int] = {"query": 1, "passage": 2}
# What reading a large vocabulary may take on a busy machine.
FIRST_LOAD_S = 60.0
DENSE = "dense"


class _Rows(NamedTuple):
    """Vectors of one computation, all of one version."""

    vectors: npt.NDArray[np.float32]
    fingerprint: str
    model_ms: float


class TritonEmbedder(Closing):
    """Implements `orchestrator.inference.models.Embedder`.

    Rows are cut to the model's length, sorted into requests of like length within a token budget, and sent
    concurrently. Every request is pinned to the version whose tokenizer made its ids; where that version went away (a
    new one was promoted meanwhile) all rows are done again with the new one's tokenizer, so the vectors of one call
    never mix. Query vectors are kept in memory, and equal queries in flight share one call.

    The live version answers, unless `follow` names another or a call asks for one by its fingerprint: an index is
    queried with the version that filled it, and a new index is filled with a version that is not live yet.

    Args:
        settings: endpoints, deadlines, batch limits.
        model_repository: where the versions' tokenizers and manifests lie.
        model: its name in Triton.
    """

    def __init__(self, settings: InferenceSettings, model_repository: Path, model: str = "embedder") -> None:
        self._settings = settings
        self._served = ServedModel(settings, model_repository, model)
        self._cache = QueryCache(settings.cache_entries)
        self._slots: dict[TextKind, asyncio.Semaphore] = {
            "query": asyncio.Semaphore(settings.max_concurrent_requests),
            "passage": asyncio.Semaphore(settings.max_concurrent_passages),
        }

    async def close(self) -> None:
        """Cancel what is in flight and close the connections."""
        await self._cache.close()
        await self._served.close()

    def follow(self, fingerprint: str | None) -> None:
        """Answer with the version of this fingerprint from now on; None: with the live one.

        The next call meets it. Calls under way end with the version that they began with, as their fingerprint says.
        """
        self._served.follow(fingerprint)

    async def embed(
        self, texts: Sequence[str], *, kind: TextKind, timeout_s: float | None = None, fingerprint: str | None = None
    ) -> Embedding:
        """See `orchestrator.inference.models.Embedder.embed`.

        Args:
            texts: as there.
            kind: as there.
            timeout_s: as there.
            fingerprint: the version that shall answer, whichever is followed or live.

        Raises:
            ModelNotFoundError: Triton does not serve the model, or no version of it with this fingerprint.
            ModelError: the model failed on these texts or answered with something else than unit vectors.
        """
        if isinstance(texts, str):
            raise TypeError("texts must be a sequence of texts, not one text")
        deadline = Deadline.after(self._settings.deadline_s if timeout_s is None else timeout_s)
        embed = self._embed_queries if kind == "query" else self._embed_passages
        return await finish_within(embed(texts, deadline, fingerprint), deadline, f"Embedding {len(texts)} texts")

    async def fingerprint(self) -> str:
        """The fingerprint of the version that would answer now; asks Triton.

        The first call also loads the tokenizer, which may take longer than a question has: servers call this before
        they take questions.
        """
        usual = self._settings.deadline_s
        deadline = Deadline.after(usual if self._served.known else max(usual, FIRST_LOAD_S))
        asking = self._served.refresh(deadline)
        version = await finish_within(asking, deadline, f"Asking for the version of '{self._served.model}'")
        return version.fingerprint

    async def _embed_passages(self, texts: Sequence[str], deadline: Deadline, fingerprint: str | None) -> Embedding:
        return Embedding(*await self._compute(texts, kind="passage", deadline=deadline, fingerprint=fingerprint))

    async def _embed_queries(self, texts: Sequence[str], deadline: Deadline, fingerprint: str | None) -> Embedding:
        for _ in range(VERSION_CHANGES):
            version = await self._served.current(deadline, fingerprint=fingerprint)
            compute = partial(self._compute, kind="query", deadline=deadline, fingerprint=version.wanted)
            found = await self._cache.collect(texts, version.fingerprint, compute)
            if found is not None:
                vectors = np.stack(found.vectors) if texts else _no_rows(version)
                return Embedding(vectors, found.fingerprint, found.model_ms)
        raise self._served.unsettled()

    async def _compute(
        self, texts: Sequence[str], *, kind: TextKind, deadline: Deadline, fingerprint: str | None
    ) -> _Rows:
        async def work(version: ModelVersion) -> _Rows:
            return await self._compute_with(version, texts, kind, deadline)

        return await self._served.run(work, deadline, fingerprint=fingerprint)

    async def _compute_with(
        self, version: ModelVersion, texts: Sequence[str], kind: TextKind, deadline: Deadline
    ) -> _Rows:
        ids = await version.tokenizer.encode(texts, prefix=version.manifest.prefixes.of(kind))
        vectors = _no_rows(version, len(texts))
        started = time.perf_counter()

        async def run(batch: Batch) -> None:
            vectors[list(batch.rows)] = await self._request(version, ids, batch, kind, deadline)

        await all_of([run(batch) for batch in batches_of(ids, version, self._settings)])
        return _Rows(vectors, version.fingerprint, (time.perf_counter() - started) * 1000)

    async def _request(
        self, version: ModelVersion, ids: list[list[int]], batch: Batch, kind: TextKind, deadline: Deadline
    ) -> npt.NDArray[np.float32]:
        inputs = inputs_of(ids, batch, version)
        async with self._slots[kind]:
            answer = await self._served.infer(version, inputs, deadline, roles=(DENSE,), priority=PRIORITY[kind])
        return self._checked(answer[DENSE], len(batch.rows), version)

    def _checked(self, vectors: npt.NDArray[Any], rows: int, version: ModelVersion) -> npt.NDArray[np.float32]:
        wanted = (rows, _dimension(version))
        if vectors.shape != wanted or not np.isfinite(vectors).all():
            raise ModelError(
                f"Model '{self._served.model}' version {version.version} answered shape {list(vectors.shape)} where "
                f"finite vectors of shape {list(wanted)} are due.",
                hint="Build or export the model again.",
            )
        return vectors.astype(np.float32, copy=False)


def _no_rows(version: ModelVersion, rows: int = 0) -> npt.NDArray[np.float32]:
    return np.zeros((rows, _dimension(version)), dtype=np.float32)


def _dimension(version: ModelVersion) -> int:
    if version.manifest.dimension is None:
        raise ModelError(f"The manifest in {version.folder} tells no dimension.", hint="Build or export it again.")
    return version.manifest.dimension
