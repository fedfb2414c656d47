"""Candidates of one request: what every search said of a clause, merged.

Hundreds of clauses are found for every question and a handful of them is looked at, so what is known of them is kept
in columns and scored at once; only the best become objects.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from orchestrator.retriever.scoring import Features, final_of, searched_scores
from orchestrator.retriever.search import GraphReach, Outcome
from orchestrator.settings import ScoringSettings

__all__ = ["Candidate", "Candidates"]

_Column = npt.NDArray[np.float64]


class Candidate(NamedTuple):
    """One clause and its features under the query that ranks it highest."""

    source_id: str
    document_id: str
    features: Features
    sub_question_ids: tuple[str, ...] = ()


class Candidates:
    """Merges searches of one or several queries; the best query's features count.

    Args:
        scoring: the weights by which the better of two queries is told.
    """

    def __init__(self, scoring: ScoringSettings) -> None:
        self._scoring = scoring
        self._rows: dict[str, int] = {}
        self._document_ids: list[str] = []
        # One value a clause, NaN where a search did not find it.
        self._cosine = self._bm25 = _missing(0)
        self._query_tokens = np.ones(0, dtype=np.int64)
        self._searched, self._reached = np.zeros(0), np.zeros(0)
        self._sub_question_ids: dict[int, list[str]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def add_query(self, outcomes: Iterable[Outcome], query_tokens: int, sub_question_id: str = "") -> None:
        """Add what the searches of one query found."""
        known = len(self._rows)
        found: dict[str, tuple[list[int], list[float]]] = {"vector": ([], []), "keyword": ([], [])}
        for outcome in outcomes:
            rows, scores = found[outcome.search]
            rows += [self._row(hit.source_id, hit.document_id) for hit in outcome.hits]
            scores += [hit.score for hit in outcome.hits]
        self._grow()
        columns = {}
        for search, (rows, scores) in found.items():
            columns[search] = _missing(len(self))
            columns[search][rows] = scores
        self._take_better(columns["vector"], columns["keyword"], query_tokens, known)
        if sub_question_id:
            for row in dict.fromkeys(row for rows, _ in found.values() for row in rows):
                names = self._sub_question_ids.setdefault(row, [])
                if sub_question_id not in names:
                    names.append(sub_question_id)

    def add_reaches(self, reaches: Iterable[GraphReach]) -> None:
        """Raise, or add, the clauses that the graph leads to."""
        led = [(self._row(reach.source_id, reach.document_id), reach.reached) for reach in reaches]
        self._grow()
        for row, reached in led:
            self._reached[row] = max(self._reached[row], reached)

    def raise_documents(self, document_ids: Iterable[str], reached: float) -> None:
        """Raise every candidate of these documents."""
        wanted = set(document_ids)
        rows = [row for row, document_id in enumerate(self._document_ids) if document_id in wanted] if wanted else []
        self._reached[rows] = np.maximum(self._reached[rows], reached)

    def best(self, limit: int) -> list[Candidate]:
        """The highest final scores, best first; ties in order of id, so that a list can be repeated."""
        # Without what only the clause itself tells: its PageRank, its position, its validity.
        finals = final_of(self._searched, self._scoring, reached=self._reached)
        running = np.arange(len(finals))
        if 0 < limit < len(finals):
            running = np.flatnonzero(finals >= np.partition(finals, -limit)[-limit])
        source_ids = list(self._rows)
        order = sorted(running.tolist(), key=lambda row: (-finals[row], source_ids[row]))
        return [self._candidate(source_ids[row], row) for row in order[: max(0, limit)]]

    def _row(self, source_id: str, document_id: str) -> int:
        row = self._rows.get(source_id)
        if row is None:
            row = self._rows[source_id] = len(self._rows)
            self._document_ids.append(document_id)
        return row

    def _grow(self) -> None:
        """Make room for the clauses that were added last."""
        more = len(self._rows) - len(self._searched)
        if not more:
            return
        self._cosine = np.concatenate([self._cosine, _missing(more)])
        self._bm25 = np.concatenate([self._bm25, _missing(more)])
        self._query_tokens = np.concatenate([self._query_tokens, np.ones(more, dtype=np.int64)])
        self._searched = np.concatenate([self._searched, np.zeros(more)])
        self._reached = np.concatenate([self._reached, np.zeros(more)])

    def _take_better(self, cosine: _Column, bm25: _Column, query_tokens: int, known: int) -> None:
        """Take a query's features where the clause is new or scores higher by them; the first ``known`` are not new."""
        searched = searched_scores(cosine, bm25, query_tokens, self._scoring)
        before = final_of(self._searched, self._scoring, reached=self._reached)
        better = final_of(searched, self._scoring) > before
        better[known:] = True
        self._cosine = np.where(better, cosine, self._cosine)
        self._bm25 = np.where(better, bm25, self._bm25)
        self._query_tokens[better] = query_tokens
        self._searched = np.where(better, searched, self._searched)

    def _candidate(self, source_id: str, row: int) -> Candidate:
        cosine, bm25 = float(self._cosine[row]), float(self._bm25[row])
        features = Features(
            cosine=None if math.isnan(cosine) else cosine,
            bm25=None if math.isnan(bm25) else bm25,
            query_tokens=int(self._query_tokens[row]),
            reached=float(self._reached[row]),
        )
        return Candidate(source_id, self._document_ids[row], features, tuple(self._sub_question_ids.get(row, ())))


def _missing(size: int) -> _Column:
    return np.full(size, np.nan)
