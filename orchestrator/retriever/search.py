"""The three searches: each under its own deadline, each allowed to fail without failing the others."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TypeVar

from orchestrator.errors import DeadlineExceededError, FingerprintMismatchError, ModelError, TriasError
from orchestrator.inference.models import Embedder
from orchestrator.knowledge.library import Library
from orchestrator.knowledge.ports import Hit
from orchestrator.retriever.waits import Waits
from orchestrator.settings import RetrieverSettings
from trias.v1 import common_pb2

__all__ = ["GraphReach", "Outcome", "Search"]

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class GraphReach:
    """A clause that the graph leads to, and how directly, in [0,1]."""

    source_id: str
    document_id: str
    reached: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one search found, and how it went.

    Attributes:
        search: ``vector``, ``keyword`` or ``graph``.
        hits: best first; empty where it failed.
        wall_ms: from start to end; ``model_ms`` and ``index_ms`` are parts of it.
        fault: None where it went well.
    """

    search: str
    hits: tuple[Hit, ...] = ()
    reaches: tuple[GraphReach, ...] = ()
    wall_ms: float = 0.0
    model_ms: float = 0.0
    index_ms: float = 0.0
    fault: common_pb2.Degradation | None = None
    fingerprint: str = ""


@dataclass(slots=True)
class _Spent:
    model_ms: float = 0.0
    index_ms: float = 0.0
    fingerprint: str = ""


class Search:
    """Runs searches over the library.

    Args:
        library: what is searched.
        embedder: makes the question's vector.
        settings: deadlines and how many candidates each search gives.
    """

    def __init__(self, library: Library, embedder: Embedder, settings: RetrieverSettings) -> None:
        self._library = library
        self._embedder = embedder
        self._settings = settings

    async def vector(self, query: str, waits: Waits, document_ids: Collection[str] | None = None) -> Outcome:
        """Nearest clauses to the question's vector; an Embedder that is down is a fault, not an error."""
        spent = _Spent()

        async def run() -> Sequence[Hit]:
            embedding = await self._embedder.embed([query], kind="query", timeout_s=self._settings.vector_deadline_s)
            spent.model_ms, spent.fingerprint = embedding.model_ms, embedding.fingerprint
            waits.had_model(embedding.model_ms)
            started = time.perf_counter()
            with waits.for_index():
                hits = await self._library.search_vector(
                    embedding.vectors[0],
                    self._settings.candidates,
                    fingerprint=embedding.fingerprint,
                    document_ids=document_ids,
                )
            spent.index_ms = _ms_since(started)
            return hits

        hits, wall_ms, fault = await _guarded("vector", run, self._settings.vector_deadline_s)
        return Outcome(
            search="vector",
            hits=tuple(hits),
            wall_ms=wall_ms,
            model_ms=spent.model_ms,
            index_ms=spent.index_ms,
            fault=fault,
            fingerprint=spent.fingerprint,
        )

    async def keyword(self, query: str, waits: Waits, document_ids: Collection[str] | None = None) -> Outcome:
        """Best clauses by BM25."""

        async def run() -> Sequence[Hit]:
            with waits.for_index():
                return await self._library.search_keyword(query, self._settings.candidates, document_ids)

        hits, wall_ms, fault = await _guarded("keyword", run, self._settings.keyword_deadline_s)
        return Outcome(search="keyword", hits=tuple(hits), wall_ms=wall_ms, index_ms=wall_ms, fault=fault)

    async def graph(self, walk: Callable[[], Awaitable[Sequence[GraphReach]]], waits: Waits) -> Outcome:
        """Clauses that a walk over the graph reaches."""

        async def run() -> Sequence[GraphReach]:
            with waits.for_index():
                return await walk()

        reaches, wall_ms, fault = await _guarded("graph", run, self._settings.graph_deadline_s)
        return Outcome(search="graph", reaches=tuple(reaches), wall_ms=wall_ms, index_ms=wall_ms, fault=fault)


async def _guarded(
    search: str, run: Callable[[], Awaitable[Sequence[_T]]], deadline_s: float
) -> tuple[Sequence[_T], float, common_pb2.Degradation | None]:
    started = time.perf_counter()
    fault: TriasError
    try:
        found = await _by(deadline_s, run())
    except asyncio.TimeoutError:
        fault = DeadlineExceededError(f"The {search} search took longer than {deadline_s:g} s.")
    except TriasError as error:
        fault = error
    else:
        return found, _ms_since(started), None
    return (), _ms_since(started), _degradation(search, fault)


async def _by(deadline_s: float, work: Awaitable[_T]) -> _T:
    """The result of ``work``, or `asyncio.TimeoutError`."""
    if sys.version_info >= (3, 11):
        # In the task that asks: `wait_for` makes another one, which costs as much as some of the searches.
        async with asyncio.timeout(deadline_s):
            return await work
    return await asyncio.wait_for(work, deadline_s)


def _degradation(search: str, fault: TriasError) -> common_pb2.Degradation:
    model_is_at_fault = isinstance(fault, ModelError) and not isinstance(fault, FingerprintMismatchError)
    component = "clause_graph" if search == "graph" else f"{search}_index"
    return common_pb2.Degradation(
        level=common_pb2.FAULT_LEVEL_DEGRADED,
        component="embedder" if model_is_at_fault else component,
        reason=fault.reason,
        detail=str(fault),
    )


def _ms_since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
