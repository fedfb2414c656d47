"""From candidates to passages: texts, validity, final order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from orchestrator.knowledge import messages
from orchestrator.knowledge.clause import Clause, Document, Reference
from orchestrator.knowledge.ports import ClauseGraph
from orchestrator.retriever.candidates import Candidate
from orchestrator.retriever.scoring import score
from orchestrator.retriever.trust import INVALID, confidence_of, contradiction_of, validity_of
from orchestrator.settings import RetrieverSettings, ScoringSettings
from trias.v1 import passage_pb2

__all__ = ["Ranked", "Reading", "all_expired", "rank", "read", "to_passages"]


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate with its clause, its document and its scores."""

    candidate: Candidate
    clause: Clause
    document: Document
    validity: passage_pb2.Validity
    scores: passage_pb2.Scores

    @property
    def document_id(self) -> str:
        """Of the clause."""
        return self.clause.document_id

    @property
    def final(self) -> float:
        """The final score."""
        return self.scores.final


@dataclass(frozen=True, slots=True)
class Reading:
    """What the catalogue says of some candidates."""

    clauses: Mapping[str, Clause]
    ranks: Mapping[str, float]
    documents: Mapping[str, Document]
    newer: Mapping[str, Document]


async def read(graph: ClauseGraph, candidates: Sequence[Candidate]) -> Reading:
    """Read the candidates' clauses, their PageRank, their documents, and the documents that supersede those."""
    ids = [candidate.source_id for candidate in candidates]
    clauses = await graph.clauses(ids)
    ranks = await graph.ranks(ids)
    documents = await graph.documents({clause.document_id for clause in clauses.values()})
    newer = await graph.documents({later for document in documents.values() for later in document.superseded_by})
    return Reading(clauses, ranks, documents, newer)


def rank(
    reading: Reading, candidates: Sequence[Candidate], scoring: ScoringSettings, *, on: str, any_version: bool
) -> list[Ranked]:
    """Check validity and score; best first.

    Args:
        reading: what the catalogue says of the candidates; those that it does not know were deleted since the search.
        candidates: those worth ranking.
        scoring: weights.
        on: the date that validity is checked against, YYYY-MM-DD.
        any_version: whether superseded versions are wanted as much as current ones.
    """
    ranked = []
    for candidate in candidates:
        clause = reading.clauses.get(candidate.source_id)
        document = reading.documents.get(clause.document_id) if clause else None
        if clause is None or document is None:
            continue
        validity = validity_of(document, on, _superseded_from(document, reading.newer))
        features = replace(
            candidate.features,
            rank=reading.ranks.get(candidate.source_id, 0.0),
            position=clause.position,
            contradicted=0.0 if any_version else contradiction_of(validity),
        )
        ranked.append(Ranked(candidate, clause, document, validity, score(features, scoring)))
    return sorted(ranked, key=lambda item: (-item.final, item.clause.source_id))


def all_expired(ranked: Sequence[Ranked], first: int) -> bool:
    """Whether the first so many are all repealed or expired."""
    head = ranked[:first]
    return bool(head) and all(item.validity in INVALID for item in head)


def to_passages(
    ranked: Sequence[Ranked], references: Mapping[str, Sequence[Reference]], settings: RetrieverSettings
) -> list[passage_pb2.Passage]:
    """Passages of the contract, ranks from 1."""
    return [
        passage_pb2.Passage(
            source_id=item.clause.source_id,
            snippet_hash=item.clause.snippet_hash,
            confidence=confidence_of(item.final, settings),
            scores=item.scores,
            clause=messages.clause_to_message(item.clause),
            document=messages.document_to_message(item.document),
            validity=item.validity,
            superseded_by=item.document.superseded_by[-1] if item.document.superseded_by else "",
            references=[
                messages.reference_to_message(reference) for reference in references.get(item.clause.source_id, ())
            ],
            sub_question_ids=item.candidate.sub_question_ids,
            rank=place,
        )
        for place, item in enumerate(ranked, start=1)
    ]


def _superseded_from(document: Document, newer: Mapping[str, Document]) -> str:
    starts = [
        newer[later].effective_date or newer[later].publish_date for later in document.superseded_by if later in newer
    ]
    return min((start for start in starts if start), default="")
