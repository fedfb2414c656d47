"""Which of two claims that contradict each other prevails, and by which rule.

The rules, in this order: an override of the legal team; an amendment or repeal; the newer document where they differ
by the configured number of days (a year); authority × 1/(1 + 0.1·age in years).
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from orchestrator.domain.pack import DomainPack
from orchestrator.domain.schema import ClauseSelector
from orchestrator.reasoner.claims import Claim
from orchestrator.settings import ReasonerSettings
from trias.v1 import document_pb2, passage_pb2, reasoning_pb2

__all__ = ["Precedence", "Verdict", "authority_score", "date_of", "dated", "named"]

AGEING_PER_YEAR = 0.1
DAYS_A_YEAR = 365.25
# As packs write them.
_LEVELS = {
    number: name.removeprefix("AUTHORITY_LEVEL_").lower() for name, number in document_pb2.AuthorityLevel.items()
} | {document_pb2.AUTHORITY_LEVEL_UNSPECIFIED: "unknown"}
# Scores closer than this are a tie.
TIE = 1e-6


@dataclass(frozen=True)
class Verdict:
    """The claim that prevails over one other, by which rule, and one sentence that says so."""

    winner: Claim
    loser: Claim
    reason: reasoning_pb2.RulingReason
    explanation: str
    override_id: str = ""


def date_of(document: document_pb2.Document) -> dt.date | None:
    """When a document's rule began: its effective date, else its publication; None where neither is known."""
    for text in (document.effective_date, document.publish_date):
        try:
            return dt.date.fromisoformat(text)
        except ValueError:
            continue
    return None


def authority_score(document: document_pb2.Document, pack: DomainPack, as_of: dt.date) -> float:
    """Authority × 1/(1 + 0.1·age in years), in (0,1]; a document without a date counts as new."""
    weight = pack.authority_weight(_LEVELS.get(document.authority_level, "unknown"))
    day = date_of(document)
    age = max(0.0, (as_of - day).days / DAYS_A_YEAR) if day else 0.0
    return weight / (1.0 + AGEING_PER_YEAR * age)


def named(claim: Claim) -> str:
    """Where a claim stands, for a person: 《…》第十二条."""
    source = claim.reading.source
    return f"《{source.document.title}》{source.label.rstrip('、.．')}"


class Precedence:
    """The rules, for one pack and one day."""

    def __init__(self, pack: DomainPack, settings: ReasonerSettings, as_of: dt.date) -> None:
        self._pack = pack
        self._settings = settings
        self._as_of = as_of
        self._scores: dict[str, float] = {}

    def between(self, first: Claim, second: Claim) -> Verdict | None:
        """Which of two claims prevails; None where no rule decides."""
        for rule in (self._override, self._amendment, self._newer, self._authority):
            verdict = rule(first, second)
            opposite = rule(second, first)
            if (verdict is None) != (opposite is None):
                return verdict or opposite
        return None

    def score(self, claim: Claim) -> float:
        """What the last rule makes of the claim's document."""
        # Claims of one clause share it.
        if claim.source_id not in self._scores:
            document = claim.reading.source.document
            self._scores[claim.source_id] = authority_score(document, self._pack, self._as_of)
        return self._scores[claim.source_id]

    def _override(self, claim: Claim, other: Claim) -> Verdict | None:
        for override in self._pack.overrides:
            if (
                override.holds_on(self._as_of)
                and override.matter in {claim.matter, other.matter}
                and _accepts(override.prevails, claim)
                and _accepts(override.match, other)
            ):
                text = f"按照法务确认的意见，{named(claim)}优先于{named(other)}：{override.reason}"
                return Verdict(claim, other, reasoning_pb2.RULING_REASON_OVERRIDE, text, override.override_id)
        return None

    def _amendment(self, claim: Claim, other: Claim) -> Verdict | None:
        if not _supersedes(claim, other):
            return None
        text = f"{named(other)}{_state(other)}，以{named(claim)}（{dated(claim)}）为准。"
        return Verdict(claim, other, reasoning_pb2.RULING_REASON_AMENDMENT, text)

    def _newer(self, claim: Claim, other: Claim) -> Verdict | None:
        day, earlier = date_of(claim.reading.source.document), date_of(other.reading.source.document)
        if day is None or earlier is None or (day - earlier).days < self._settings.newer_by_days:
            return None
        text = (
            f"{named(claim)}（{dated(claim)}）比{named(other)}（{dated(other)}）晚{(day - earlier).days}天，"
            "以较新的为准。"
        )
        return Verdict(claim, other, reasoning_pb2.RULING_REASON_NEWER, text)

    def _authority(self, claim: Claim, other: Claim) -> Verdict | None:
        score, rival = self.score(claim), self.score(other)
        if score - rival <= TIE:
            return None
        text = (
            f"按效力层级与年限折算，{named(claim)}（{dated(claim)}）得{score:.3f}，"
            f"{named(other)}（{dated(other)}）得{rival:.3f}，以前者为准。"
        )
        return Verdict(claim, other, reasoning_pb2.RULING_REASON_AUTHORITY, text)


def _accepts(selector: ClauseSelector, claim: Claim) -> bool:
    source = claim.reading.source
    return selector.accepts(
        title=source.document.title, doc_number=source.document.doc_number, label=source.label, scope=claim.scope
    )


def _supersedes(claim: Claim, other: Claim) -> bool:
    """Whether one claim's document amends or repeals the other's, by the graph or by the other's status."""
    if claim.document_id == other.document_id:
        return False
    source, rival = claim.reading.source, other.reading.source
    if claim.document_id and claim.document_id in {rival.passage.superseded_by, *rival.document.superseded_by}:
        return True
    return rival.is_gone and not source.is_gone


def _state(claim: Claim) -> str:
    source = claim.reading.source
    if source.passage.validity == passage_pb2.VALIDITY_EXPIRED:
        return "已失效"
    return "已废止" if source.is_gone else "已被修订"


def dated(claim: Claim) -> str:
    """Since when a claim's document holds, for a person."""
    document = claim.reading.source.document
    if document.effective_date:
        return f"{document.effective_date}施行"
    return f"{document.publish_date}发布" if document.publish_date else "日期不详"
