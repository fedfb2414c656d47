"""What is asked where the retriever fails: one keyword search, straight on the library."""

from __future__ import annotations

import time

from orchestrator.knowledge.library import Library
from orchestrator.knowledge.text import distinct_grams
from orchestrator.retriever.candidates import Candidates
from orchestrator.retriever.passages import rank, read, to_passages
from orchestrator.retriever.search import Outcome
from orchestrator.retriever.trust import as_of
from orchestrator.settings import RetrieverSettings, ScoringSettings
from trias.v1 import common_pb2, retriever_service_pb2

__all__ = ["KeywordFallback"]


class KeywordFallback:
    """Implements `orchestrator.flow.FallbackRetriever`: no model, no graph walk, no second query.

    Args:
        settings: sizes and the calibration of confidence.
        scoring: weights; what the missing signals would have given goes to the keyword score.
        library: what is searched.
    """

    def __init__(self, settings: RetrieverSettings, scoring: ScoringSettings, library: Library) -> None:
        self._settings = settings
        self._scoring = scoring.model_copy(update={"semantic": 0.0, "bm25": scoring.semantic + scoring.bm25})
        self._library = library

    async def retrieve(self, request: retriever_service_pb2.RetrieveRequest) -> retriever_service_pb2.RetrieveResponse:
        """The best clauses by BM25.

        Raises:
            KnowledgeError: the keyword index or the catalogue failed.
        """
        started = time.perf_counter()
        plan = request.plan
        query = request.query or plan.normalized_question or plan.question
        top_k = request.top_k or self._settings.top_k
        hits = await self._library.search_keyword(query, self._settings.candidates, list(request.document_ids) or None)
        candidates = Candidates(self._scoring)
        candidates.add_query([Outcome(search="keyword", hits=tuple(hits))], distinct_grams(query))
        best = candidates.best(top_k)
        reading = await read(self._library.graph, best)
        ranked = rank(reading, best, self._scoring, on=as_of(plan.as_of_date), any_version=False)
        # Whom a clause refers to is not needed for quoting it.
        passages = to_passages(ranked, self._settings)
        wall_ms = (time.perf_counter() - started) * 1000
        return retriever_service_pb2.RetrieveResponse(
            passages=passages,
            confidence=max((passage.confidence for passage in passages), default=0.0),
            searches=[retriever_service_pb2.SearchReport(search="keyword", hits=len(hits), wall_ms=wall_ms)],
            timing=common_pb2.Timing(total_ms=wall_ms, index_ms=wall_ms),
        )
