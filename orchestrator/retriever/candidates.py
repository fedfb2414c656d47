"""Candidates of one request: what every search said of a clause, merged."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from orchestrator.retriever.scoring import Features, final_score
from orchestrator.retriever.search import GraphReach, Outcome
from orchestrator.settings import ScoringSettings

__all__ = ["Candidate", "Candidates"]


@dataclass(slots=True)
class Candidate:
    """One clause and its features under the query that ranks it highest."""

    source_id: str
    document_id: str
    features: Features
    sub_question_ids: list[str] = field(default_factory=list)


class Candidates:
    """Merges searches of one or several queries; the best query's features count.

    Args:
        scoring: the weights by which the better of two queries is told.
    """

    def __init__(self, scoring: ScoringSettings) -> None:
        self._scoring = scoring
        self._by_id: dict[str, Candidate] = {}

    def __len__(self) -> int:
        return len(self._by_id)

    def add_query(self, outcomes: Iterable[Outcome], query_tokens: int, sub_question_id: str = "") -> None:
        """Add what the searches of one query found."""
        scores: dict[str, dict[str, float]] = {"vector": {}, "keyword": {}}
        documents: dict[str, str] = {}
        for outcome in outcomes:
            of_search = scores[outcome.search]
            for hit in outcome.hits:
                of_search[hit.source_id] = hit.score
                documents[hit.source_id] = hit.document_id
        for source_id, document_id in documents.items():
            features = Features(
                cosine=scores["vector"].get(source_id),
                bm25=scores["keyword"].get(source_id),
                query_tokens=query_tokens,
            )
            self._merge(Candidate(source_id, document_id, features), sub_question_id)

    def add_reaches(self, reaches: Iterable[GraphReach]) -> None:
        """Raise, or add, the clauses that the graph leads to."""
        for reach in reaches:
            candidate = self._by_id.setdefault(
                reach.source_id, Candidate(reach.source_id, reach.document_id, Features())
            )
            if reach.reached > candidate.features.reached:
                candidate.features = replace(candidate.features, reached=reach.reached)

    def raise_documents(self, document_ids: Iterable[str], reached: float) -> None:
        """Raise every candidate of these documents."""
        wanted = set(document_ids)
        self.add_reaches(
            GraphReach(candidate.source_id, candidate.document_id, reached)
            for candidate in tuple(self._by_id.values())
            if candidate.document_id in wanted
        )

    def best(self, limit: int) -> list[Candidate]:
        """The highest final scores, best first; ties in order of id, so that a list can be repeated."""
        candidates = self._by_id.values()
        return heapq.nsmallest(limit, candidates, key=lambda candidate: (-self._final(candidate), candidate.source_id))

    def _merge(self, candidate: Candidate, sub_question_id: str) -> None:
        known = self._by_id.setdefault(candidate.source_id, candidate)
        if sub_question_id and sub_question_id not in known.sub_question_ids:
            known.sub_question_ids.append(sub_question_id)
        if known is not candidate and self._final(candidate) > self._final(known):
            known.features = replace(candidate.features, reached=known.features.reached)

    def _final(self, candidate: Candidate) -> float:
        return final_score(candidate.features, self._scoring)
