"""From candidates to passages: texts, validity, final order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from orchestrator.knowledge import messages
from orchestrator.knowledge.clause import Clause, Document, Reference
from orchestrator.knowledge.ports import ClauseGraph
from orchestrator.retriever.candidates import Candidate
from orchestrator.retriever.scoring import Features, final_score, score
from orchestrator.retriever.trust import INVALID, confidence_of, contradiction_of, validity_of
from orchestrator.settings import RetrieverSettings, ScoringSettings
from trias.v1 import passage_pb2

__all__ = ["Ranked", "Reading", "add_references", "all_expired", "rank", "read", "rescored", "to_passages"]


class Ranked(NamedTuple):
    """A candidate with its clause, its document and its final score.

    Attributes:
        features: what the score was made of.
        scoring: the weights that it was made with.
        final: in [0,1].
    """

    candidate: Candidate
    clause: Clause
    document: Document
    validity: passage_pb2.Validity
    features: Features
    scoring: ScoringSettings
    final: float

    @property
    def document_id(self) -> str:
        """Of the clause."""
        return self.clause.document_id

    @property
    def scores(self) -> passage_pb2.Scores:
        """The final score with its terms, made anew: only what is returned needs them."""
        return score(self.features, self.scoring)


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
    validities = {
        document_id: validity_of(document, on, _superseded_from(document, reading.newer))
        for document_id, document in reading.documents.items()
    }
    for candidate in candidates:
        clause = reading.clauses.get(candidate.source_id)
        document = reading.documents.get(clause.document_id) if clause else None
        if clause is None or document is None:
            continue
        validity = validities[clause.document_id]
        features = candidate.features._replace(
            rank=reading.ranks.get(candidate.source_id, 0.0),
            position=clause.position,
            contradicted=0.0 if any_version else contradiction_of(validity),
        )
        final = _clamped(final_score(features, scoring))
        ranked.append(Ranked(candidate, clause, document, validity, features, scoring, final))
    return sorted(ranked, key=_best_first)


def rescored(ranked: Sequence[Ranked], logits: Mapping[str, float]) -> list[Ranked]:
    """The same candidates with the reranker's ``logits`` in their scores, source id → logit; best first."""
    return sorted((_with_logit(item, logits.get(item.clause.source_id)) for item in ranked), key=_best_first)


def all_expired(ranked: Sequence[Ranked], first: int) -> bool:
    """Whether the first so many are all repealed or expired."""
    head = ranked[:first]
    return bool(head) and all(item.validity in INVALID for item in head)


def to_passages(ranked: Sequence[Ranked], settings: RetrieverSettings) -> list[passage_pb2.Passage]:
    """Passages of the contract, ranks from 1; `add_references` completes them."""
    # Passages of one document share its message: each takes a copy.
    documents = {item.document_id: item.document for item in ranked}
    known = {document_id: messages.document_to_message(document) for document_id, document in documents.items()}
    passages = []
    for place, item in enumerate(ranked, start=1):
        passage = passage_pb2.Passage(
            source_id=item.clause.source_id,
            confidence=confidence_of(item.final, settings),
            validity=item.validity,
            superseded_by=item.document.superseded_by[-1] if item.document.superseded_by else "",
            sub_question_ids=item.candidate.sub_question_ids,
            rank=place,
        )
        # Copied in: twice as fast as handed to the constructor.
        passage.scores.CopyFrom(item.scores)
        passage.clause.CopyFrom(messages.clause_to_message(item.clause))
        passage.document.CopyFrom(known[item.document_id])
        passage.snippet_hash = passage.clause.snippet_hash
        passages.append(passage)
    return passages


def add_references(passages: Sequence[passage_pb2.Passage], references: Mapping[str, Sequence[Reference]]) -> None:
    """Put what each clause refers to into its passage; ``references``: source id → in the order of the text."""
    for passage in passages:
        passage.references.extend(
            messages.reference_to_message(reference) for reference in references.get(passage.source_id, ())
        )


def _with_logit(item: Ranked, logit: float | None) -> Ranked:
    if logit is None:
        return item
    features = item.features._replace(logit=logit)
    return item._replace(features=features, final=_clamped(final_score(features, item.scoring)))


def _best_first(item: Ranked) -> tuple[float, str]:
    return (-item.final, item.clause.source_id)


def _clamped(final: float) -> float:
    return min(1.0, max(0.0, final))


def _superseded_from(document: Document, newer: Mapping[str, Document]) -> str:
    starts = [
        newer[later].effective_date or newer[later].publish_date for later in document.superseded_by if later in newer
    ]
    return min((start for start in starts if start), default="")
