"""Claims: at most 15 characters, distilled from one sentence of one clause. Every character stands in the sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from orchestrator.domain.quantity import Quantity
from orchestrator.reasoner.evidence import Evidence, Reading
from orchestrator.reasoner.matters import MatterReader
from orchestrator.reasoner.negation import is_negated, negation_span
from orchestrator.reasoner.phrases import key_phrase, number_phrase
from orchestrator.reasoner.question import QuestionPart
from orchestrator.reasoner.scope import Scope

__all__ = ["CLAIM_CHARACTERS", "Claim", "extract_claims"]

CLAIM_CHARACTERS = 15

_INCREMENT = re.compile(
    r"(?:提高|增加|上浮|上调|增长|追加|降低|减少|下调|下浮|减|加|再|延长|缩短|高出|多)\s?(?:至多|最多|不超过|了)?$"
)
_INCREMENT_TO = re.compile(r"(?:提高|增加|上调|降低|下调|调整|延长|缩短)(?:到|至|为)$")
_CONDITION_TAIL = re.compile(r"^(?:的?部分|的(?=[，,；;]|$)|之?间|的人员|的职工|的参保)")


@dataclass(frozen=True)
class Claim:
    """What one sentence says of one matter.

    Attributes:
        claim_id: "c1", "c2", … within one answer.
        matter_is_specific: whether the pack says what kind of number states the matter: 报销比例 is, 义务 isn't.
        quantity: the number that it states; None for a rule without one.
        conditions: other numbers of the sentence under which it holds (超过5000元的部分).
        increment: whether the number adds to another one (提高5个百分点), or states the value itself.
        skeleton: the sentence with its numbers blanked, for comparing rules.
        span: where the statement stands in the sentence.
    """

    claim_id: str
    text: str
    reading: Reading
    relevance: float
    matter: str
    scope: Scope
    negated: bool
    matter_is_specific: bool = False
    quantity: Quantity | None = None
    conditions: tuple[Quantity, ...] = ()
    increment: bool = False
    span: tuple[int, int] = (0, 0)
    part_ids: frozenset[str] = field(default_factory=frozenset)

    @property
    def source_id(self) -> str:
        """The clause that it comes from."""
        return self.reading.source.passage.source_id

    @property
    def document_id(self) -> str:
        """The document that it comes from."""
        return self.reading.source.document.document_id


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
    for item, part_ids in ordered:
        if len(claims) >= limit:
            break
        drafts = list(_of_quantities(item)) or [_of_rule(item, parts)]
        # The kind asked for goes first, so that a limit cuts the others.
        drafts.sort(key=lambda claim: claim.quantity is not None and claim.quantity.kind not in kinds)
        claims.extend(_numbered(drafts[: limit - len(claims)], len(claims), part_ids))
    return claims


def _numbered(drafts: Iterable[Claim], offset: int, part_ids: set[str]) -> Iterable[Claim]:
    for number, claim in enumerate(drafts, start=offset + 1):
        yield replace(claim, claim_id=f"c{number}", part_ids=frozenset(part_ids))


def _of_quantities(item: Evidence) -> Iterable[Claim]:
    reading, text = item.reading, item.sentence.text
    quantities = reading.quantities
    mentions = reading.reader.scopes.by_weight(reading.mentions)
    for index, quantity in enumerate(quantities):
        if _is_condition(text, quantity):
            continue
        hit = MatterReader.of_quantity(quantity, reading.matter_hits, reading.wider_matter_hits)
        start, end = _statement(text, quantity, quantities[index - 1] if index else None)
        scope = reading.scope_at(quantity.end)
        yield Claim(
            claim_id="",
            text=number_phrase(text, quantity, hit, mentions, CLAIM_CHARACTERS),
            reading=reading,
            relevance=item.relevance,
            matter=hit.matter.name if hit else "",
            scope=scope,
            negated=is_negated(text[start:end]),
            matter_is_specific=bool(hit and hit.matter.kind not in {"", "other"}),
            quantity=quantity,
            conditions=tuple(
                other for other in quantities[:index] if other.end <= quantity.start and _is_condition(text, other)
            ),
            increment=_is_increment(text, quantity),
            span=(start, end),
        )


def _is_condition(text: str, quantity: Quantity) -> bool:
    """超过5000元的部分, 连续缴费满10年的: a number that says when, not what."""
    return bool(_CONDITION_TAIL.match(text[quantity.phrase_end :]))


def _is_increment(text: str, quantity: Quantity) -> bool:
    before = text[max(0, quantity.phrase_start - 8) : quantity.phrase_start]
    return bool(_INCREMENT.search(before)) and not _INCREMENT_TO.search(before)


def _statement(text: str, quantity: Quantity, previous: Quantity | None) -> tuple[int, int]:
    """The part of the sentence that states a quantity: from the comma (or the number) before it to the next."""
    start = max((text.rfind(mark, 0, quantity.phrase_start) + 1 for mark in "，,；;。"), default=0)
    if previous is not None:
        start = max(start, previous.phrase_end)
    ends = [place for mark in "，,；;。" if (place := text.find(mark, quantity.phrase_end)) >= 0]
    return start, min(ends, default=len(text))


def _of_rule(item: Evidence, parts: Sequence[QuestionPart]) -> Claim:
    reading, text = item.reading, item.sentence.text
    grams = {gram for part in parts for gram in part.grams}
    phrase, span = key_phrase(text, grams, CLAIM_CHARACTERS, negation_span(text))
    names = [hit.matter.name for hit in reading.matter_hits]
    return Claim(
        claim_id="",
        text=phrase,
        reading=reading,
        relevance=item.relevance,
        matter=names[0] if names else "",
        scope=reading.scope,
        negated=is_negated(text),
        span=span,
    )
