"""The retriever agent: a plan in, passages with every score out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence

from orchestrator.errors import BackendUnavailableError, InvalidFieldError
from orchestrator.inference.models import Embedder, Reranker
from orchestrator.knowledge.library import Library
from orchestrator.knowledge.text import distinct_grams
from orchestrator.retriever.candidates import Candidates
from orchestrator.retriever.diversity import diversify
from orchestrator.retriever.passages import Ranked, add_references, all_expired, rank, read, rescored, to_passages
from orchestrator.retriever.reach import (
    NAMED_DOCUMENT,
    named_clauses,
    named_documents,
    names_clauses,
    referenced_clauses,
)
from orchestrator.retriever.reranking import Reread, Rereader
from orchestrator.retriever.search import Outcome, Search
from orchestrator.retriever.trust import as_of
from orchestrator.retriever.waits import Waits
from orchestrator.settings import RetrieverSettings, ScoringSettings
from trias.v1 import common_pb2, passage_pb2, plan_pb2, retriever_service_pb2

__all__ = ["RetrieverAgent"]

MAX_TOP_K = 100
# Candidates read from the catalogue beyond those wanted: position and validity may still reorder them.
SPARE = 20


class RetrieverAgent:
    """Finds the clauses that bear on a plan, and says how far each can be trusted.

    Args:
        settings: deadlines and sizes.
        scoring: weights and normalisations of the hybrid score.
        library: what is searched.
        embedder: makes the question's vector; while it is down, keyword and graph go on without it.
        reranker: reads the best candidates together with the question; None: nobody does.
    """

    def __init__(
        self,
        settings: RetrieverSettings,
        scoring: ScoringSettings,
        library: Library,
        embedder: Embedder,
        reranker: Reranker | None = None,
    ) -> None:
        self._settings = settings
        self._scoring = scoring
        self._library = library
        self._search = Search(library, embedder, settings)
        self._rereader = Rereader(reranker, settings)

    async def warm_up(self) -> None:
        """Make ready what may be slow at first; nothing fails that `retrieve` would not go on without."""
        await self._rereader.warm_up()

    async def retrieve(self, request: retriever_service_pb2.RetrieveRequest) -> retriever_service_pb2.RetrieveResponse:
        """Answer one request.

        Raises:
            InvalidFieldError: no question, or ``top_k`` out of range.
            BackendUnavailableError: every search failed.
        """
        started = time.perf_counter()
        plan = request.plan
        queries = _queries(request)
        top_k = self._top_k(request)

        candidates, waits = Candidates(self._scoring), Waits()
        outcomes = await self._gather(candidates, waits, plan, queries, list(request.document_ids))
        scoring = _without_failed(self._scoring, outcomes)
        ranked = await self._rank(candidates, waits, scoring, plan, top_k)
        degradations = _faults(outcomes)
        if _wants_current(plan) and all_expired(ranked, self._settings.expired_stop):
            newer = {later for item in ranked[:top_k] for later in item.document.superseded_by}
            outcomes += await self._search_documents(candidates, waits, queries, newer)
            ranked = await self._rank(candidates, waits, scoring, plan, top_k)
            degradations.append(_expired(found_newer=bool(newer)))
        reread = await self._rereader.read(queries[0][1], ranked, waits)
        if reread.fault:
            degradations.append(reread.fault)
        chosen = self._order(rescored(ranked, reread.logits) if reread.logits else ranked, plan)[:top_k]
        passages = await self._passages(chosen, waits)
        confidence = max((passage.confidence for passage in passages), default=0.0)
        return retriever_service_pb2.RetrieveResponse(
            passages=passages,
            confidence=confidence,
            searches=[_report(outcome) for outcome in outcomes],
            suggestions=_suggestions(plan) if confidence < self._settings.low_confidence else [],
            timing=_timing(started, outcomes, reread, waits),
            degradations=degradations,
            embedder_fingerprint=next((outcome.fingerprint for outcome in outcomes if outcome.fingerprint), ""),
        )

    def _top_k(self, request: retriever_service_pb2.RetrieveRequest) -> int:
        if not 0 <= request.top_k <= MAX_TOP_K:
            raise InvalidFieldError("top_k", f"{request.top_k} is not between 0 and {MAX_TOP_K}.")
        return request.top_k or self._settings.top_k

    async def _gather(
        self,
        candidates: Candidates,
        waits: Waits,
        plan: plan_pb2.Plan,
        queries: Sequence[tuple[str, str]],
        only: list[str],
    ) -> list[Outcome]:
        """Run every search of every query at once, then follow references from the strongest hits."""
        graph = self._library.graph
        named = named_documents(plan)
        searching = self._search_queries(candidates, waits, queries, only or None)
        if names_clauses(plan):
            walking = self._search.graph(lambda: named_clauses(graph, plan), waits)
            walked, outcomes = await asyncio.gather(walking, searching)
        else:
            walked, outcomes = Outcome(search="graph"), await searching
        if named and not only:
            outcomes += await self._search_documents(candidates, waits, queries, named)
        if all(outcome.fault for outcome in outcomes):
            raise BackendUnavailableError(
                "No search answered: " + "; ".join(outcome.fault.detail for outcome in outcomes if outcome.fault)
            )
        candidates.add_reaches(walked.reaches)
        candidates.raise_documents(named, NAMED_DOCUMENT)
        strong = [candidate.source_id for candidate in candidates.best(self._settings.strong_hits)]
        followed = await self._search.graph(lambda: referenced_clauses(graph, strong), waits)
        candidates.add_reaches(followed.reaches)
        return [*outcomes, walked, followed]

    async def _search_queries(
        self, candidates: Candidates, waits: Waits, queries: Sequence[tuple[str, str]], only: list[str] | None
    ) -> list[Outcome]:
        searches = [
            search(query, waits, only) for _, query in queries for search in (self._search.vector, self._search.keyword)
        ]
        outcomes = await asyncio.gather(*searches)
        for place, (sub_question_id, query) in enumerate(queries):
            candidates.add_query(outcomes[2 * place : 2 * place + 2], distinct_grams(query), sub_question_id)
        return outcomes

    async def _search_documents(
        self, candidates: Candidates, waits: Waits, queries: Sequence[tuple[str, str]], document_ids: Iterable[str]
    ) -> list[Outcome]:
        wanted = sorted(document_ids)
        return await self._search_queries(candidates, waits, queries, wanted) if wanted else []

    async def _rank(
        self, candidates: Candidates, waits: Waits, scoring: ScoringSettings, plan: plan_pb2.Plan, top_k: int
    ) -> list[Ranked]:
        best = candidates.best(top_k + SPARE)
        with waits.for_read():
            reading = await read(self._library.graph, best)
        return rank(reading, best, scoring, on=as_of(plan.as_of_date), any_version=not _wants_current(plan))

    async def _passages(self, chosen: Sequence[Ranked], waits: Waits) -> list[passage_pb2.Passage]:
        """Make the passages while their references are read; only what is left to wait for counts as reading."""
        wanted = [item.clause.source_id for item in chosen]
        reading = asyncio.ensure_future(self._library.graph.references(wanted))
        try:
            await asyncio.sleep(0)  # the read begins
            passages = to_passages(chosen, self._settings)
            with waits.for_read():
                references = await reading
        finally:
            reading.cancel()
        add_references(passages, references)
        return passages

    def _order(self, ranked: list[Ranked], plan: plan_pb2.Plan) -> list[Ranked]:
        if len(named_documents(plan)) == 1:  # the question itself wants one document
            return ranked
        return diversify(
            ranked,
            self._settings.documents_in_top_five,
            document_of=lambda item: item.document_id,
            score_of=lambda item: item.final,
        )


def _queries(request: retriever_service_pb2.RetrieveRequest) -> list[tuple[str, str]]:
    """The texts to search for, each with its sub-question's id; the whole question has none."""
    plan = request.plan
    whole = request.query or plan.normalized_question or plan.question
    if not whole.strip():
        raise InvalidFieldError("plan.question", "is empty.", hint="Send the question, or `query`.")
    parts = [(part.sub_question_id, part.text) for part in plan.sub_questions if part.text.strip()]
    return [("", whole), *([] if request.query else parts)]


def _wants_current(plan: plan_pb2.Plan) -> bool:
    return plan.version_preference in (
        plan_pb2.VERSION_PREFERENCE_UNSPECIFIED,
        plan_pb2.VERSION_PREFERENCE_CURRENT,
    )


def _without_failed(scoring: ScoringSettings, outcomes: Sequence[Outcome]) -> ScoringSettings:
    """Weights with a failed signal's share given to the others, so that scores keep their meaning."""
    alive = {outcome.search for outcome in outcomes if not outcome.fault}
    if {"vector", "keyword"} <= alive:
        return scoring
    weights = {
        "semantic": scoring.semantic if "vector" in alive else 0.0,
        "bm25": scoring.bm25 if "keyword" in alive else 0.0,
    }
    left = sum(weights.values())
    if not left:
        return scoring
    share = (scoring.semantic + scoring.bm25) / left
    return scoring.model_copy(update={name: weight * share for name, weight in weights.items()})


def _faults(outcomes: Sequence[Outcome]) -> list[common_pb2.Degradation]:
    """One fault a component and reason, however many searches it failed."""
    faults = {(outcome.fault.component, outcome.fault.reason): outcome.fault for outcome in outcomes if outcome.fault}
    return list(faults.values())


def _expired(*, found_newer: bool) -> common_pb2.Degradation:
    return common_pb2.Degradation(
        level=common_pb2.FAULT_LEVEL_RECOVERABLE if found_newer else common_pb2.FAULT_LEVEL_STOP,
        component="source",
        reason="SOURCES_EXPIRED",
        detail="The best sources are repealed or expired"
        + ("; the documents that replace them were searched too." if found_newer else "; no newer one is known."),
    )


def _report(outcome: Outcome) -> retriever_service_pb2.SearchReport:
    return retriever_service_pb2.SearchReport(
        search=outcome.search,
        hits=len(outcome.hits) + len(outcome.reaches),
        wall_ms=outcome.wall_ms,
        error=outcome.fault.detail if outcome.fault else "",
    )


def _suggestions(plan: plan_pb2.Plan) -> list[str]:
    suggestions = ["换一种说法，或写出文件名称、条款号"]
    if plan.named_documents:
        suggestions.append("去掉文件名称，在全部文件中查找")
    if plan.slots:
        suggestions.append("去掉部分限定条件：" + "、".join(dict.fromkeys(slot.text for slot in plan.slots)))
    return suggestions


def _timing(started: float, outcomes: Sequence[Outcome], reread: Reread, waits: Waits) -> common_pb2.Timing:
    total = (time.perf_counter() - started) * 1000
    model, index = waits.spent_ms()
    return common_pb2.Timing(
        total_ms=total,
        model_ms=model,
        index_ms=index,
        overhead_ms=max(0.0, total - model - index),
        stages=[
            common_pb2.StageTiming(
                stage=f"search.{outcome.search}",
                wall_ms=outcome.wall_ms,
                model_ms=outcome.model_ms,
                index_ms=outcome.index_ms,
            )
            for outcome in outcomes
        ]
        + [common_pb2.StageTiming(stage="read", wall_ms=waits.reads_ms, index_ms=waits.reads_ms)]
        + [common_pb2.StageTiming(stage="rerank", wall_ms=reread.wall_ms, model_ms=reread.model_ms)]
        * bool(reread.wall_ms),
    )
