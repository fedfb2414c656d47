"""The embedder: texts to vectors through Triton, whatever happens to the model meanwhile."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from orchestrator.errors import ConfigurationError, ModelError, ModelNotFoundError, ModelUnavailableError, TriasError
from orchestrator.inference.batching import Batch, pad, plan_batches
from orchestrator.inference.control import TritonControl
from orchestrator.inference.deadline import Deadline, finish_within
from orchestrator.inference.models import Embedding, TextKind
from orchestrator.inference.querycache import QueryCache
from orchestrator.inference.retry import retrying
from orchestrator.inference.taskgroup import all_of
from orchestrator.inference.triton import Inference, TritonClient
from orchestrator.inference.versions import ModelVersion, VersionKeeper
from orchestrator.settings import InferenceSettings

__all__ = ["TritonEmbedder", "endpoint_of"]

# A question waits for an answer; passages wait for the next file. Models without priority levels ignore it.
PRIORITY: dict[TextKind, int] = {"query": 1, "passage": 2}
# What reading a large vocabulary may take on a busy machine.
FIRST_LOAD_S = 60.0
# Kept back from each call's time, so that Triton's answer "too late" still reaches us in time.
MARGIN_S = 0.01
# Versions that may replace each other within one call before we give up on it.
VERSION_CHANGES = 4


Result = TypeVar("Result")


class _OtherVersionError(Exception):
    """Another version answered than the one whose tokenizer made the ids."""


class _Rows(NamedTuple):
    """Vectors of one computation, all of one version."""

    vectors: npt.NDArray[np.float32]
    fingerprint: str
    model_ms: float


def endpoint_of(settings: InferenceSettings, model: str) -> str:
    """The address of the Triton that serves ``model``.

    Raises:
        ConfigurationError: inference.endpoints names neither the model nor '*'.
    """
    address = settings.endpoints.get(model) or settings.endpoints.get("*")
    if not address:
        raise ConfigurationError(f"inference.endpoints has no address for model '{model}'.", hint="Add it, or '*'.")
    return address


class TritonEmbedder:
    """Implements `orchestrator.inference.models.Embedder`.

    Rows are cut to the model's length, sorted into requests of like length within a token budget, and sent
    concurrently. Every answer must come from the version whose tokenizer made the ids; where another one answered (a
    new version was promoted meanwhile) all rows are done again with that version's tokenizer, so the vectors of one
    call never mix. Query vectors are kept in memory, and equal queries in flight share one call.

    Args:
        settings: endpoints, deadlines, batch limits.
        model_repository: where the versions' tokenizers and manifests lie.
        model: its name in Triton.
    """

    def __init__(self, settings: InferenceSettings, model_repository: Path, model: str = "embedder") -> None:
        self._settings = settings
        self._model = model
        self._address = endpoint_of(settings, model)
        self._repository = model_repository
        self._cache = QueryCache(settings.cache_entries)
        self._slots: dict[TextKind, asyncio.Semaphore] = {
            "query": asyncio.Semaphore(settings.max_concurrent_requests),
            "passage": asyncio.Semaphore(settings.max_concurrent_passages),
        }
        self._client: TritonClient | None = None
        self._control: TritonControl | None = None
        self._keeper: VersionKeeper | None = None

    async def __aenter__(self) -> TritonEmbedder:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Cancel what is in flight and close the connections."""
        await self._cache.close()
        if self._keeper is not None:
            await self._keeper.close()
        for connection in (self._client, self._control):
            if connection is not None:
                await connection.close()

    async def embed(self, texts: Sequence[str], *, kind: TextKind, timeout_s: float | None = None) -> Embedding:
        """See `orchestrator.inference.models.Embedder.embed`.

        Raises:
            ModelNotFoundError: Triton does not serve the model.
            ModelError: the model failed on these texts or answered with something else than unit vectors.
        """
        if isinstance(texts, str):
            raise TypeError("texts must be a sequence of texts, not one text")
        deadline = Deadline.after(self._settings.deadline_s if timeout_s is None else timeout_s)
        work = self._embed_queries(texts, deadline) if kind == "query" else self._embed_passages(texts, deadline)
        return await finish_within(work, deadline, f"Embedding {len(texts)} texts")

    async def fingerprint(self) -> str:
        """The fingerprint of the version that would answer now; asks Triton.

        The first call also loads the tokenizer, which may take longer than a question has: servers call this before
        they take questions.
        """
        usual = self._settings.deadline_s
        deadline = Deadline.after(usual if self._versions().known else max(usual, FIRST_LOAD_S))
        version = await finish_within(self._refresh(deadline), deadline, f"Asking for the version of '{self._model}'")
        return version.fingerprint

    async def _embed_passages(self, texts: Sequence[str], deadline: Deadline) -> Embedding:
        return Embedding(*await self._compute(texts, "passage", deadline))

    async def _embed_queries(self, texts: Sequence[str], deadline: Deadline) -> Embedding:
        for _ in range(VERSION_CHANGES):
            version = await self._current(deadline)
            found = await self._cache.collect(
                texts, version.fingerprint, lambda missing: self._compute(missing, "query", deadline)
            )
            if found is not None:
                vectors = np.stack(found.vectors) if texts else _no_rows(version)
                return Embedding(vectors, found.fingerprint, found.model_ms)
        raise self._unsettled()

    async def _compute(self, texts: Sequence[str], kind: TextKind, deadline: Deadline) -> _Rows:
        for _ in range(VERSION_CHANGES):
            version = await self._current(deadline)
            try:
                return await self._compute_with(version, texts, kind, deadline)
            except _OtherVersionError:
                await self._refresh(deadline)
        raise self._unsettled()

    async def _compute_with(
        self, version: ModelVersion, texts: Sequence[str], kind: TextKind, deadline: Deadline
    ) -> _Rows:
        ids = await version.tokenizer.encode(texts, prefix=version.manifest.prefixes.of(kind))
        settings = self._settings
        batches = plan_batches(
            [len(row) for row in ids],
            buckets=settings.buckets,
            max_tokens=settings.max_batch_tokens,
            max_rows=min(settings.max_batch_rows, version.max_rows),
            max_length=version.manifest.max_length,
        )
        vectors = _no_rows(version, len(texts))
        started = time.perf_counter()

        async def run(batch: Batch) -> None:
            vectors[list(batch.rows)] = await self._request(
                version, [ids[row] for row in batch.rows], batch, kind, deadline
            )

        await all_of([run(batch) for batch in batches])
        return _Rows(vectors, version.fingerprint, (time.perf_counter() - started) * 1000)

    async def _request(
        self, version: ModelVersion, ids: list[list[int]], batch: Batch, kind: TextKind, deadline: Deadline
    ) -> npt.NDArray[np.float32]:
        tokens, mask = pad(ids, length=batch.length, pad_id=version.tokenizer.pad_id)
        available = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
        inputs = {name: tensor for name, tensor in available.items() if name in version.inputs}
        client = self._connect()

        async def call() -> Inference:
            return await client.infer(
                self._model,
                inputs,
                outputs=(version.output,),
                timeout_s=max(deadline.remaining_s - MARGIN_S, MARGIN_S),
                priority=PRIORITY[kind],
            )

        try:
            async with self._slots[kind]:
                answer = await self._retrying(call, deadline)
        except ModelError as error:
            # A new version may have answered after all: ids of the old tokenizer can be errors to it.
            if not error.retryable and await self._versions().changed_from(version):
                raise _OtherVersionError from None
            raise
        if answer.version != version.version:
            raise _OtherVersionError
        return self._checked(answer.outputs.get(version.output), len(ids), version)

    def _checked(self, vectors: npt.NDArray[Any] | None, rows: int, version: ModelVersion) -> npt.NDArray[np.float32]:
        wanted = (rows, version.manifest.dimension)
        if vectors is None or vectors.shape != wanted or not np.isfinite(vectors).all():
            shape = "nothing" if vectors is None else f"shape {list(vectors.shape)}"
            raise ModelError(
                f"Model '{self._model}' version {version.version} answered {shape} where finite vectors of shape "
                f"{list(wanted)} are due.",
                hint="Build or export the model again.",
            )
        return vectors.astype(np.float32, copy=False)

    async def _current(self, deadline: Deadline) -> ModelVersion:
        return await self._retrying(self._versions().current, deadline)

    async def _refresh(self, deadline: Deadline) -> ModelVersion:
        return await self._retrying(self._versions().refresh, deadline)

    async def _retrying(self, call: Callable[[], Awaitable[Result]], deadline: Deadline) -> Result:
        return await retrying(call, attempts=self._settings.attempts, deadline=deadline, may_retry=self._may_retry)

    def _may_retry(self, error: TriasError) -> bool:
        # A model that was served a moment ago is not unknown: Triton restarts, or is between unload and load.
        gone = isinstance(error, ModelNotFoundError) and self._versions().known
        return isinstance(error, ModelUnavailableError) or gone

    def _unsettled(self) -> ModelUnavailableError:
        return ModelUnavailableError(
            f"Model '{self._model}' on {self._address} changed its version {VERSION_CHANGES} times during one call.",
            hint="Try again.",
        )

    def _connect(self) -> TritonClient:
        # Connections belong to the running event loop, so they are opened by the first call.
        if self._client is None:
            self._client = TritonClient(self._address)
        return self._client

    def _versions(self) -> VersionKeeper:
        if self._keeper is None:
            self._control = TritonControl(self._address, timeout_s=self._settings.deadline_s)
            self._keeper = VersionKeeper(self._control, self._repository, self._model)
        return self._keeper


def _no_rows(version: ModelVersion, rows: int = 0) -> npt.NDArray[np.float32]:
    return np.zeros((rows, version.manifest.dimension), dtype=np.float32)
