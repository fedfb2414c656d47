"""Conflicts: two claims on the same matter, with compatible scope, that cannot both hold."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product

from orchestrator.domain.quantity import Quantity, QuantityKind, Relation, contradicts, exclusive, relation
from orchestrator.domain.units import base_of
from orchestrator.reasoner.claims import Claim
from orchestrator.reasoner.matters import masked
from orchestrator.reasoner.negation import without_negation
from orchestrator.reasoner.scope import Scope, ScopeReader
from orchestrator.reasoner.similarity import aligned_quantities, dice, grams_of, plain
from orchestrator.settings import ReasonerSettings

__all__ = ["Conflict", "find_conflicts"]

# Dates of publication and of coming into force differ between any two documents and contradict nothing.
_UNCOMPARED_MATTERS = frozenset({"施行日期", "文件有效期"})
# A statement this little less like than the best counterpart is as good as it.
NEARLY = 0.03
# What each condition that two statements share takes off the likeness that one matter needs, and what it needs always.
SHARED_CONDITION, LEAST_SIMILARITY = 0.1, 0.2
# What regulations say of any case: it tells nothing of which.
_STOCK = re.compile(
    r"有下列(?:行为|情形|情况)之一的?|违反(?:本|前款).{0,12}规定的?|第.{1,8}[条款项]|责令(?:限期)?改正|(?:逾期|拒)不改正的?|给予警告|通报批评"
    r"|没收违法(?:所得|经营额)?|没有违法所得的?|违法所得|情节(?:较轻|严重|特别严重)的?|构成犯罪的?|依法追究刑事责任|依法给予处分|并?处以?%?的?罚款|罚款"
    r"|直接负责的主管人员和其他直接责任人员|应当|可以|由|自|收到|之日起|以?内|以[上下]|并处|处|的|%"
)
LEAST_CONTEXT = 6
_ALLOWS = re.compile(r"可以|应当|允许|有权|享受|纳入|予以|准予|必须|需要")
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
    detector = _Detector(claims, scopes, settings)
    found: list[Conflict] = []
    in_force = [claim for claim in claims if not claim.reading.source.is_pending]
    for first, second in _pairs(in_force):
        if detector.conflict(first, second):
            scope = {**first.scope, **second.scope}
            found.append(Conflict(f"k{len(found) + 1}", first, second, first.matter or second.matter, scope))
    return found


def _pairs(claims: Sequence[Claim]) -> list[tuple[Claim, Claim]]:
    """The pairs that may contradict each other, in order: numbers of one kind, a rule and a denial; of two clauses."""
    alike: dict[QuantityKind | bool, list[int]] = {}
    for place, claim in enumerate(claims):
        alike.setdefault(claim.negated if claim.quantity is None else claim.quantity.kind, []).append(place)
    denials, rules = alike.pop(True, []), alike.pop(False, [])
    places = [(min(pair), max(pair)) for pair in product(denials, rules)]
    for numbers in alike.values():
        places += combinations(numbers, 2)
    sources = [claim.source_id for claim in claims]
    return [(claims[one], claims[other]) for one, other in sorted(places) if sources[one] != sources[other]]


class _Detector:
    """Compares claims; what it works out of a claim, it works out once."""

    def __init__(self, claims: Sequence[Claim], scopes: ScopeReader, settings: ReasonerSettings) -> None:
        self._claims = claims
        self._scopes = scopes
        self._settings = settings
        self._skeletons: dict[str, str] = {}
        self._likenesses: dict[tuple[str, str], float] = {}
        self._nearest: dict[tuple[str, str], float] = {}
        self._grams: dict[str, frozenset[str]] = {}
        self._terms: dict[str, tuple[str, str]] = {}
        self._allowing: dict[str, bool] = {}
        self._predicates: dict[str, frozenset[str]] = {}

    def conflict(self, first: Claim, second: Claim) -> bool:
        if first.quantity is None and second.quantity is None:
            return self._denies(first, second) and self._together(first, second)
        return self._comparable(first, second) and self._together(first, second) and self._same_rule(first, second)

    def _together(self, first: Claim, second: Claim) -> bool:
        """Whether both can apply to the same case: at one time, in one place, to one group."""
        if first.document_id != second.document_id:
            one, other = self._term_of(first), self._term_of(second)
            if _ends_before(one, other) or _ends_before(other, one):
                return False
        # 超过5000元的部分, 5000元以下的部分: two tiers of one rule.
        if any(exclusive(mine, theirs) for mine in first.conditions for theirs in second.conditions):
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
        same_case = self._context_likeness(first, second) >= self._settings.context_similarity
        # A bare date or a signature says too little to be compared.
        telling = min(len(plain(self._skeleton(claim))) for claim in (first, second)) >= LEAST_CONTEXT
        if (
            telling
            and same_case
            and likeness >= self._settings.conflict_similarity
            and self._counterparts(first, second)
        ):
            return True
        # The pack knows the matter: the wording may differ, the conditions may not.
        if not first.matter_is_specific or first.matter != second.matter or not self._same_units(first, second):
            return False
        shared = sum(1 for name in first.scope.keys() & second.scope.keys() if first.scope[name] == second.scope[name])
        needed = max(LEAST_SIMILARITY, self._settings.matter_similarity - SHARED_CONDITION * shared)
        return self._context_likeness(first, second) >= needed and self._same_conditions(first, second)

    def _same_units(self, first: Claim, second: Claim) -> bool:
        assert first.quantity is not None
        assert second.quantity is not None
        return relation(first.quantity, second.quantity) is not Relation.INCOMPARABLE

    def _same_conditions(self, first: Claim, second: Claim) -> bool:
        """Neither is a special case of the other: a general rule and a special one can both hold."""
        if self._scopes.one_sided(first.scope, second.scope) - {"region"}:
            return False
        return len(first.conditions) == len(second.conditions)

    def _denies(self, first: Claim, second: Claim) -> bool:
        """The same predicate, negated in one and not in the other."""
        allowing = second if first.negated else first
        if first.document_id == second.document_id or not self._allows(allowing):
            return False
        return dice(self._predicate(first), self._predicate(second)) >= self._settings.negation_similarity

    def _allows(self, claim: Claim) -> bool:
        if claim.claim_id not in self._allowing:
            self._allowing[claim.claim_id] = _ALLOWS.search(claim.reading.said.text) is not None
        return self._allowing[claim.claim_id]

    def _predicate(self, claim: Claim) -> frozenset[str]:
        """The bigrams of a rule, whether it allows or forbids apart."""
        if claim.claim_id not in self._predicates:
            self._predicates[claim.claim_id] = grams_of(without_negation(self._skeleton(claim)))
        return self._predicates[claim.claim_id]

    def _likeness(self, first: Claim, second: Claim) -> float:
        """How alike the statements are, numbers apart."""
        one, other = sorted((first.claim_id, second.claim_id))
        if (one, other) not in self._likenesses:
            value = dice(self._grams_of(self._skeleton(first)), self._grams_of(self._skeleton(second)))
            self._likenesses[one, other] = value
        return self._likenesses[one, other]

    def _context_likeness(self, first: Claim, second: Claim) -> float:
        """How alike the cases are that the statements are about, stock phrases apart: by sentence, or by clause."""
        sentences = dice(self._grams_of(self._context(first)), self._grams_of(self._context(second)))
        return max(sentences, dice(self._grams_of(self._clause(first)), self._grams_of(self._clause(second))))

    def _context(self, claim: Claim) -> str:
        """The sentence with its lead-in; the whole clause where those are all stock phrases."""
        sentence = claim.reading.sentence
        key = f"context {claim.claim_id}"
        if key not in self._skeletons:
            whole = masked(sentence.text, claim.reading.quantities).replace("\x00", "")
            text = plain(_STOCK.sub("", sentence.lead + whole))
            self._skeletons[key] = text if len(text) >= LEAST_CONTEXT else self._clause(claim)
        return self._skeletons[key]

    def _clause(self, claim: Claim) -> str:
        key = f"clause {claim.source_id}"
        if key not in self._skeletons:
            self._skeletons[key] = plain(_STOCK.sub("", claim.reading.source.said.text))
        return self._skeletons[key]

    def _counterparts(self, first: Claim, second: Claim) -> bool:
        """Whether each is what the other's document says of the same: nothing there is more like it."""
        likeness = self._likeness(first, second) + NEARLY
        return (
            likeness >= self._best(first, second.document_id)
            and likeness >= self._best(second, first.document_id)
            and self._aligned(first, second)
        )

    def _best(self, claim: Claim, document_id: str) -> float:
        key = (claim.claim_id, document_id)
        if key not in self._nearest:
            self._nearest[key] = max(
                (
                    self._likeness(claim, other)
                    for other in self._claims
                    if other.document_id == document_id
                    and other.quantity is not None
                    and claim.quantity is not None
                    and other.quantity.kind is claim.quantity.kind
                ),
                default=0.0,
            )
        return self._nearest[key]

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
        """The statement (from one ；to the next) with its numbers blanked."""
        if claim.claim_id not in self._skeletons:
            text = masked(claim.reading.sentence.text, claim.reading.quantities)
            start = max(text.rfind(mark, 0, claim.span[0] + 1) for mark in "；;") + 1
            end = min((place for mark in "；;" if (place := text.find(mark, claim.span[1])) >= 0), default=len(text))
            self._skeletons[claim.claim_id] = text[start:end].replace("\x00", "")
        return self._skeletons[claim.claim_id]

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
