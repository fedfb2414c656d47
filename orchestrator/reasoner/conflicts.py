"""Conflicts: two claims on the same matter, with compatible scope, that cannot both hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from orchestrator.domain.quantity import Quantity, QuantityKind, Relation, contradicts, relation
from orchestrator.domain.units import base_of
from orchestrator.reasoner.claims import Claim
from orchestrator.reasoner.matters import masked
from orchestrator.reasoner.scope import Scope, ScopeReader
from orchestrator.reasoner.similarity import aligned_quantities, dice, grams_of, without_negation
from orchestrator.settings import ReasonerSettings
from trias.v1 import passage_pb2

__all__ = ["Conflict", "find_conflicts"]

# Dates of publication and of coming into force differ between any two documents and contradict nothing.
_UNCOMPARED_MATTERS = frozenset({"施行日期", "文件有效期"})
# Two clauses of one document are held against each other only where they are all but the same sentence.
SAME_DOCUMENT_SIMILARITY = 0.95


@dataclass(frozen=True)
class Conflict:
    """Two claims that cannot both hold.

    Attributes:
        conflict_id: "k1", "k2", … within one answer.
        scope: the scope in which both apply.
    """

    conflict_id: str
    first: Claim
    second: Claim
    matter: str
    scope: Scope


def find_conflicts(claims: Sequence[Claim], scopes: ScopeReader, settings: ReasonerSettings) -> list[Conflict]:
    """Every pair of claims that cannot both hold. Claims of one clause never conflict.

    Args:
        claims: of one answer.
        scopes: compares their scopes.
        settings: thresholds of similarity.
    """
    detector = _Detector(scopes, settings)
    found: list[Conflict] = []
    pending = passage_pb2.VALIDITY_NOT_YET_EFFECTIVE
    in_force = [claim for claim in claims if claim.reading.source.passage.validity != pending]
    for first, second in combinations(in_force, 2):
        if detector.conflict(first, second):
            scope = {**first.scope, **second.scope}
            found.append(Conflict(f"k{len(found) + 1}", first, second, first.matter or second.matter, scope))
    return found


class _Detector:
    """Compares claims; what it works out of a claim, it works out once."""

    def __init__(self, scopes: ScopeReader, settings: ReasonerSettings) -> None:
        self._scopes = scopes
        self._settings = settings
        self._skeletons: dict[tuple[int, int], str] = {}
        self._grams: dict[str, frozenset[str]] = {}
        self._terms: dict[str, tuple[str, str]] = {}

    def conflict(self, first: Claim, second: Claim) -> bool:
        if first.source_id == second.source_id:
            return False
        if first.quantity is None and second.quantity is None:
            return first.negated != second.negated and self._together(first, second) and self._denies(first, second)
        return self._comparable(first, second) and self._together(first, second) and self._same_rule(first, second)

    def _together(self, first: Claim, second: Claim) -> bool:
        """Whether both can apply to the same case: at one time, in one place, to one group."""
        if first.document_id != second.document_id:
            one, other = self._term_of(first), self._term_of(second)
            if _ends_before(one, other) or _ends_before(other, one):
                return False
        return self._scopes.compatible(first.scope, second.scope)

    def _term_of(self, claim: Claim) -> tuple[str, str]:
        key = claim.document_id or claim.source_id
        if key not in self._terms:
            self._terms[key] = _term(claim)
        return self._terms[key]

    def _comparable(self, first: Claim, second: Claim) -> bool:
        """Whether both state a number of the same thing, and the numbers cannot both hold."""
        if first.quantity is None or second.quantity is None or first.quantity.kind is not second.quantity.kind:
            return False
        if first.increment != second.increment or (first.matter != second.matter and first.matter and second.matter):
            return False
        return first.matter not in _UNCOMPARED_MATTERS and self._cannot_both_hold(first.quantity, second.quantity)

    def _cannot_both_hold(self, first: Quantity, second: Quantity) -> bool:
        if contradicts(first, second):
            return True
        # 15日 and 15个工作日 cannot be compared, yet are not the same period either.
        return (
            relation(first, second) is Relation.INCOMPARABLE
            and first.kind is QuantityKind.DURATION
            and base_of(first.unit)[0] != base_of(second.unit)[0]
        )

    def _same_rule(self, first: Claim, second: Claim) -> bool:
        likeness = self._likeness(first, second)
        if first.document_id == second.document_id:
            return likeness >= SAME_DOCUMENT_SIMILARITY and self._aligned(first, second)
        if likeness >= self._settings.conflict_similarity and self._aligned(first, second):
            return True
        # The pack knows the matter: the wording may differ, the conditions may not.
        same_matter = bool(first.matter) and first.matter == second.matter
        return same_matter and self._same_units(first, second) and self._same_conditions(first, second)

    def _same_units(self, first: Claim, second: Claim) -> bool:
        assert first.quantity is not None
        assert second.quantity is not None
        return relation(first.quantity, second.quantity) is not Relation.INCOMPARABLE

    def _same_conditions(self, first: Claim, second: Claim) -> bool:
        """Neither is a special case of the other: a general rule and a special one can both hold."""
        if self._scopes.one_sided(first.scope, second.scope) - {"region"}:
            return False
        if len(first.conditions) != len(second.conditions):
            return False
        return all(not contradicts(one, other) for one, other in zip(first.conditions, second.conditions, strict=True))

    def _denies(self, first: Claim, second: Claim) -> bool:
        """The same predicate, negated in one and not in the other."""
        if first.document_id == second.document_id:
            return False
        one, other = without_negation(self._skeleton(first)), without_negation(self._skeleton(second))
        return dice(self._grams_of(one), self._grams_of(other)) >= self._settings.negation_similarity

    def _likeness(self, first: Claim, second: Claim) -> float:
        """How alike the sentences are, numbers apart; that of the statements alone where they are long enough."""
        return dice(self._grams_of(self._skeleton(first)), self._grams_of(self._skeleton(second)))

    def _aligned(self, first: Claim, second: Claim) -> bool:
        """Whether the two numbers stand at the same place of the two sentences."""
        assert first.quantity is not None
        assert second.quantity is not None
        pairs = aligned_quantities(
            first.reading.sentence.text,
            first.reading.quantities,
            second.reading.sentence.text,
            second.reading.quantities,
        )
        one = first.reading.quantities.index(first.quantity)
        other = second.reading.quantities.index(second.quantity)
        return (one, other) in pairs

    def _skeleton(self, claim: Claim) -> str:
        key = (claim.reading.source.index, claim.reading.sentence.start)
        if key not in self._skeletons:
            text = masked(claim.reading.sentence.text, claim.reading.quantities)
            self._skeletons[key] = text.replace("\x00", "")
        return self._skeletons[key]

    def _grams_of(self, text: str) -> frozenset[str]:
        if text not in self._grams:
            self._grams[text] = grams_of(text)
        return self._grams[text]


def _term(claim: Claim) -> tuple[str, str]:
    """The first and last day of a document's validity, ISO; empty where unknown."""
    document = claim.reading.source.document
    return document.effective_date or document.publish_date, document.expiry_date


def _ends_before(first: tuple[str, str], second: tuple[str, str]) -> bool:
    return bool(first[1] and second[0] and first[1] < second[0])
