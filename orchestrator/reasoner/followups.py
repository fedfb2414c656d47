"""What else to look for, where an answer is missing something that another search may find."""

from __future__ import annotations

import re
from collections.abc import Sequence

from orchestrator.reasoner.evidence import Evidence, Source
from orchestrator.reasoner.question import QuestionPart
from orchestrator.reasoner.writer import PartPlan
from trias.v1 import passage_pb2, plan_pb2, reasoner_service_pb2, reasoning_pb2

__all__ = ["follow_up"]

MAX_ROUNDS = 2
# Below this share of the question's words in every passage, the passages are about something else.
OFF_INTENT_OVERLAP = 0.2
_DEFERS = re.compile(r"(?:按照?|依照|根据|适用|执行|参照|见)")


def follow_up(
    request: reasoner_service_pb2.ReasonRequest, parts: Sequence[PartPlan], lost: Source | None
) -> reasoning_pb2.FollowUp | None:
    """What to ask the orchestrator for; None where nothing more is worth a search.

    Args:
        request: with the plan, the passages, and how many follow-ups were carried out already.
        parts: every part of the question with its evidence, and whether it can be answered.
        lost: the best source, where it is the only one and no longer holds.
    """
    if request.follow_up_round >= MAX_ROUNDS:
        return None
    if lost is not None:
        return _successor(request, lost)
    if any(item.answerable for item in parts):
        missing = next((item.part for item in parts if not item.answerable), None)
        if missing is not None:
            return _requery(missing.text, f"No passage answers this part: {missing.text}")
        return _referred(parts, request.passages) or _other_scope(parts)
    return _off_intent(request.plan, parts) or _other_scope(parts)


def _successor(request: reasoner_service_pb2.ReasonRequest, lost: Source) -> reasoning_pb2.FollowUp | None:
    """The document that replaced a repealed one, where it is known and none of its clauses is here."""
    known = {passage.document.document_id for passage in request.passages}
    newer = [name for name in (*lost.document.superseded_by, lost.passage.superseded_by) if name and name not in known]
    if not newer:
        return None
    query = request.plan.normalized_question or request.plan.question
    return _requery(query, f"The only source, 《{lost.document.title}》, no longer holds", list(dict.fromkeys(newer)))


def _requery(query: str, reason: str, document_ids: Sequence[str] = ()) -> reasoning_pb2.FollowUp:
    return reasoning_pb2.FollowUp(
        requery=reasoning_pb2.Requery(query=query, reason=reason, document_ids=list(document_ids))
    )


def _other_scope(parts: Sequence[PartPlan]) -> reasoning_pb2.FollowUp | None:
    """Passages that fit the words but cover other regions, grades or groups only."""
    for item in parts:
        if item.part.scope and item.evidence and not any(evidence.in_scope for evidence in item.evidence):
            words = " ".join(value for values in item.part.scope.values() for value in sorted(values))
            return _requery(f"{words} {item.part.text}", f"The passages found hold elsewhere, not for: {words}")
    return None


def _referred(parts: Sequence[PartPlan], passages: Sequence[passage_pb2.Passage]) -> reasoning_pb2.FollowUp | None:
    """The best sentence has no number and refers to a clause, not among the passages, that may hold it."""
    known = {passage.source_id for passage in passages}
    for item in parts:
        if not item.part.kinds or not item.evidence or _has_number(item.part, item.evidence[0]):
            continue
        best = item.evidence[0]
        for reference in best.source.passage.references:
            inside = best.sentence.start <= reference.start < best.sentence.end
            before = best.source.clause.text[max(0, reference.start - 4) : reference.start]
            if (
                not inside
                or reference.target_source_id in known
                or not (reference.target_title or reference.target_label)
            ):
                continue
            if _DEFERS.search(before) or _DEFERS.match(reference.text):
                query = f"{reference.target_title}{reference.target_label} {item.part.text}"
                documents = [reference.target_document_id] if reference.target_document_id else []
                return _requery(
                    query, f"The number stands in a clause that is referred to: {reference.text}", documents
                )
    return None


def _has_number(part: QuestionPart, evidence: Evidence) -> bool:
    return any(quantity.kind in part.kinds for quantity in evidence.reading.quantities)


def _off_intent(plan: plan_pb2.Plan, parts: Sequence[PartPlan]) -> reasoning_pb2.FollowUp | None:
    best = max((evidence.overlap for item in parts for evidence in item.evidence), default=0.0)
    if best >= OFF_INTENT_OVERLAP or not plan.alternatives:
        return None
    hint = "/".join(plan.alternatives[0].path) or plan.alternatives[0].intent_id
    return reasoning_pb2.FollowUp(
        refine_intent=reasoning_pb2.RefineIntent(hint=hint, reason="No passage has the words of the question.")
    )
