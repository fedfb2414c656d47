"""The reasoner's own objects as messages of the contract, filled where they stand: in an answer."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.domain.quantity import Bound, Quantity, QuantityKind
from orchestrator.reasoner.claims import Claim
from orchestrator.reasoner.conflicts import Conflict
from orchestrator.reasoner.precedence import named
from orchestrator.reasoner.rulings import Ruling
from orchestrator.reasoner.scope import Scope
from trias.v1 import reasoning_pb2

__all__ = ["add_claim", "add_conflict", "add_ruling"]

EXTRACTIVE = "extractive"
_BOUNDS = {bound: f"BOUND_{bound.name}" for bound in Bound}
_KINDS = {kind: f"QUANTITY_KIND_{kind.name}" for kind in QuantityKind}


def add_claim(answer: reasoning_pb2.Answer, claim: Claim) -> None:
    """Add a claim with the sentence that it was distilled from."""
    sentence = claim.reading.sentence
    # A table row is read under its headers: its quantities' places are those of the row as it is read.
    message = answer.claims.add(
        claim_id=claim.claim_id,
        text=claim.text,
        source_id=claim.source_id,
        sentence=sentence.source,
        start=sentence.start,
        end=sentence.end,
        matter=claim.matter,
        negated=claim.negated,
        relevance=claim.relevance,
        decided_by=EXTRACTIVE,
    )
    _add_scopes(message, claim.scope)
    for quantity in _quantities(claim):
        message.quantities.add(
            text=quantity.text,
            value=quantity.value_text,
            unit=quantity.unit,
            bound=_BOUNDS[quantity.bound],
            kind=_KINDS[quantity.kind],
            start=quantity.start,
            end=quantity.end,
            upper_value=quantity.upper_text,
        )


def add_conflict(answer: reasoning_pb2.Answer, conflict: Conflict) -> None:
    """Add a conflict, explained in a sentence."""
    first, second = conflict.first, conflict.second
    names = [named(claim) for claim in (first, second)]
    about = f"关于{conflict.matter}，" if conflict.matter else ""
    message = answer.conflicts.add(
        conflict_id=conflict.conflict_id,
        claim_ids=[first.claim_id, second.claim_id],
        matter=conflict.matter,
        explanation=f"{about}{names[0]}为“{first.text}”，{names[1]}为“{second.text}”，适用范围相同，不能同时成立。",
    )
    _add_scopes(message, conflict.scope)


def add_ruling(answer: reasoning_pb2.Answer, ruling: Ruling) -> None:
    """Add a ruling with what it beat."""
    answer.rulings.add(
        ruling_id=ruling.ruling_id,
        claim_id=ruling.claim.claim_id,
        reason=ruling.reason,
        explanation=ruling.explanation,
        beaten_claim_ids=[claim.claim_id for claim in ruling.beaten],
        conflict_id=ruling.conflict_id,
        override_id=ruling.override_id,
        score=ruling.score,
    )


def _quantities(claim: Claim) -> Iterable[Quantity]:
    """The quantity that a claim states, then those that it holds under."""
    return [*([claim.quantity] if claim.quantity is not None else []), *claim.conditions]


def _add_scopes(message: reasoning_pb2.Claim | reasoning_pb2.Conflict, scope: Scope) -> None:
    for dimension, values in sorted(scope.items()):
        message.scopes.add(dimension=dimension, values=sorted(values))
