"""Claims: at most 15 characters, distilled from one sentence of one clause. Every character stands in the sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.domain.quantity import Quantity
from orchestrator.reasoner.evidence import Evidence, Reading
from orchestrator.reasoner.lazy import lazy
from orchestrator.reasoner.numbers import StatedNumber
from orchestrator.reasoner.phrases import CLAIM_CHARACTERS
from orchestrator.reasoner.question import QuestionPart
from orchestrator.reasoner.scope import Scope

__all__ = ["CLAIM_CHARACTERS", "Claim", "extract_claims"]

# A matter of these kinds does not say what kind of number states it.
_UNSPECIFIC = frozenset({"", "other"})


@dataclass(eq=False)
class Claim:
    """What one sentence says of one matter.

    Many claims are only compared with others and never shown, so what a claim says in words is worked out when it is
    asked for.

    Attributes:
        claim_id: "c1", "c2", … within one answer.
        part_ids: the parts of the question that its sentence bears on.
        asked: bigrams of the question, which a phrase of it rather has than not.
        number: the number that it states; None for a rule without one.
    """

    claim_id: str
    reading: Reading
    relevance: float
    part_ids: frozenset[str]
    asked: frozenset[str]
    number: StatedNumber | None = None

    @property
    def text(self) -> str:
        """The claim."""
        return self._phrase[0]

    @property
    def span(self) -> tuple[int, int]:
        """Where the statement stands in the sentence."""
        return self._phrase[1]

    @lazy
    def matter(self) -> str:
        """What it is about, in the pack's words; empty where the pack does not know."""
        if self.number is not None:
            return self.number.matter.name if self.number.matter else ""
        hits = self.reading.matter_hits
        return hits[0].matter.name if hits else ""

    @property
    def matter_is_specific(self) -> bool:
        """Whether the pack says what kind of number states the matter: 报销比例 is, 义务 isn't."""
        matter = self.number.matter if self.number is not None else None
        return matter is not None and matter.kind not in _UNSPECIFIC

    @lazy
    def scope(self) -> Scope:
        """What limits it."""
        reading = self.reading
        return reading.scope if self.number is None else reading.number_scope(self.number.place)

    @property
    def negated(self) -> bool:
        """Whether it forbids or denies."""
        return self.reading.said.negation is not None if self.number is None else self.number.negated

    @property
    def quantity(self) -> Quantity | None:
        """The number that it states; None for a rule without one."""
        return self.number.quantity if self.number is not None else None

    @property
    def conditions(self) -> tuple[Quantity, ...]:
        """Other numbers of the sentence under which it holds (超过5000元的部分)."""
        return self.number.conditions if self.number is not None else ()

    @property
    def increment(self) -> bool:
        """Whether the number adds to another one (提高5个百分点), or states the value itself."""
        return self.number is not None and self.number.increment

    @property
    def source_id(self) -> str:
        """The clause that it comes from."""
        return self.reading.source.source_id

    @property
    def document_id(self) -> str:
        """The document that it comes from."""
        return self.reading.source.document_id

    @lazy
    def _phrase(self) -> tuple[str, tuple[int, int]]:
        if self.number is not None:
            return self.number.text, self.number.span
        return self.reading.said.phrase(self.asked)


def extract_claims(parts: Sequence[QuestionPart], ranked: Sequence[Sequence[Evidence]], limit: int) -> list[Claim]:
    """Claims of the sentences that bear on the question, most relevant first.

    Args:
        parts: the question, or its parts.
        ranked: for each part its evidence, best first.
        limit: how many claims at most.
    """
    merged: dict[tuple[int, int], tuple[Evidence, set[str]]] = {}
    for part, evidence in zip(parts, ranked, strict=True):
        for item in evidence:
            key = (item.source.index, item.sentence.start)
            known = merged.get(key)
            if known is None or item.relevance > known[0].relevance:
                merged[key] = (item, (known[1] if known else set()) | {part.part_id})
            else:
                known[1].add(part.part_id)
    ordered = sorted(merged.values(), key=lambda pair: -pair[0].relevance)
    claims: list[Claim] = []
    kinds = frozenset(kind for part in parts for kind in part.kinds)
    asked = frozenset(gram for part in parts for gram in part.grams)
    for item, part_ids in ordered:
        if len(claims) >= limit:
            break
        numbers: Sequence[StatedNumber | None] = item.reading.said.numbers or (None,)
        # The kind asked for goes first, so that a limit cuts the others.
        numbers = sorted(numbers, key=lambda number: number is not None and number.quantity.kind not in kinds)
        for number in numbers[: limit - len(claims)]:
            claim_id = f"c{len(claims) + 1}"
            claims.append(Claim(claim_id, item.reading, item.relevance, frozenset(part_ids), asked, number))
    return claims
