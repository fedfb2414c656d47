"""Everything that a sentence of an answer rests on, gathered from the answer as it was kept."""

from __future__ import annotations

from orchestrator.errors import InvalidFieldError
from trias.v1 import answer_service_pb2

__all__ = ["trace_evidence"]


def trace_evidence(
    record: answer_service_pb2.GetAnswerResponse,
    retrieved: answer_service_pb2.Retrieved,
    sentence_index: int | None,
) -> answer_service_pb2.TraceEvidenceResponse:
    """The chains of one sentence of the last tier, or of all, with the claims, rulings and passages on them.

    A ruling brings the claims that it beat, so that a reader sees both sides.

    Raises:
        InvalidFieldError: the answer has no such sentence.
    """
    if not record.answers:
        return answer_service_pb2.TraceEvidenceResponse()
    answer = record.answers[-1].answer
    if sentence_index is not None and not 0 <= sentence_index < len(answer.sentences):
        raise InvalidFieldError(
            "sentence_index", f"{sentence_index} is no sentence: the answer has {len(answer.sentences)}, from 0."
        )
    chains = [chain for chain in answer.evidence if sentence_index in (None, chain.sentence_index)]
    rulings = [ruling for ruling in answer.rulings if ruling.ruling_id in {chain.ruling_id for chain in chains}]
    claim_ids = {chain.claim_id for chain in chains}
    for ruling in rulings:
        claim_ids |= {ruling.claim_id, *ruling.beaten_claim_ids}
    claims = [claim for claim in answer.claims if claim.claim_id in claim_ids]
    source_ids = {chain.source_id for chain in chains} | {claim.source_id for claim in claims}
    return answer_service_pb2.TraceEvidenceResponse(
        chains=chains,
        claims=claims,
        rulings=rulings,
        passages=[passage for passage in retrieved.passages if passage.source_id in source_ids],
    )
