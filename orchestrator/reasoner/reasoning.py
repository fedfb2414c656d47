"""One request, worked through: read, weigh, claim, rule, write, verify. Plain synchronous code."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.reasoner import wording
from orchestrator.reasoner.claims import Claim, extract_claims
from orchestrator.reasoner.conflicts import Conflict, find_conflicts
from orchestrator.reasoner.evidence import Evidence, Reading, Source, read_sources, readings_of, relevance_to
from orchestrator.reasoner.followups import follow_up
from orchestrator.reasoner.messages import add_claim, add_conflict, add_ruling
from orchestrator.reasoner.question import QuestionPart, read_question
from orchestrator.reasoner.reading import PackReader
from orchestrator.reasoner.refusal import Assessment, assess
from orchestrator.reasoner.report import answer_sentences, answer_text, evidence_chains, verification
from orchestrator.reasoner.rulings import Ruling, rule
from orchestrator.reasoner.selection import Selector, usable
from orchestrator.reasoner.verifier import Checked, Verifier
from orchestrator.reasoner.writer import PartPlan, write
from orchestrator.settings import ReasonerSettings
from trias.v1 import common_pb2, passage_pb2, plan_pb2, reasoner_service_pb2, reasoning_pb2

__all__ = ["Reasoning"]

# Characters of all passages that are read at most; what is beyond is named as unread.
MAX_CHARACTERS = 200_000
# Sentences that are weighed at most.
MAX_SENTENCES = 3000
# Claims this relevant, of the most relevant one's, are part of the answer's evidence.
SHOWN = 0.5
# Sentences read closely in the fast tier, for each passage.
FAST_SENTENCES_A_PASSAGE = 6


@dataclass(frozen=True)
class _Findings:
    """All that is known before the answer is written.

    Attributes:
        gone: the best evidence, where the only evidence is repealed or expired.
    """

    plans: Sequence[PartPlan]
    assessments: Sequence[Assessment]
    gone: Evidence | None
    claims: Sequence[Claim]
    conflicts: Sequence[Conflict]
    rulings: Sequence[Ruling]


class Reasoning:
    """The work on one request."""

    def __init__(
        self,
        request: reasoner_service_pb2.ReasonRequest,
        reader: PackReader,
        settings: ReasonerSettings,
        as_of: dt.date,
    ) -> None:
        self._request = request
        self._reader = reader
        self._settings = settings
        self._as_of = as_of
        self._fast = request.tier == common_pb2.TIER_FAST
        self._any_version = request.plan.version_preference in {
            plan_pb2.VERSION_PREFERENCE_NAMED,
            plan_pb2.VERSION_PREFERENCE_ALL,
        }
        self._stages: list[common_pb2.StageTiming] = []
        self._unread: list[str] = []

    def run(self) -> reasoner_service_pb2.ReasonResponse:
        """Work through the request; the response carries the time of each stage."""
        started = time.perf_counter()
        with self._stage("read"):
            parts = read_question(self._request.plan, self._reader.pack, self._reader.matters, self._reader.canonical)
            sources = self._sources()
            readings = readings_of(sources)
            if len(readings) > MAX_SENTENCES:
                self._unread.append(f"资料共{len(readings)}句，只读了前{MAX_SENTENCES}句")
                readings = readings[:MAX_SENTENCES]
        with self._stage("weigh"):
            ranked = [relevance_to(part, readings, self._depth(sources)) for part in parts]
        with self._stage("claims"):
            claims = extract_claims(parts, ranked, self._settings.max_claims)
        with self._stage("rule"):
            conflicts = find_conflicts(claims, self._reader.scopes, self._settings)
            rulings = rule(claims, conflicts, self._reader.pack, self._settings, self._as_of)
        with self._stage("judge"):
            plans, assessments = self._judge(parts, ranked, readings)
            gone = self._gone(parts, ranked, readings, plans)
        # Messages are filled where they stand: each copy into another one costs as much as making it.
        response = reasoner_service_pb2.ReasonResponse()
        self._answer(response.answer, _Findings(plans, assessments, gone, claims, conflicts, rulings))
        if not self._fast:
            request = follow_up(self._request, plans, gone.source if gone is not None else None)
            if request is not None:
                response.follow_up.CopyFrom(request)
        total = (time.perf_counter() - started) * 1000
        response.timing.CopyFrom(common_pb2.Timing(total_ms=total, overhead_ms=total, stages=self._stages))
        return response

    # --- stages -------------------------------------------------------------------------------------------------

    def _sources(self) -> list[Source]:
        passages = list(self._request.passages)
        if self._fast:
            passages = passages[: self._settings.fast_passages]
        read: list[passage_pb2.Passage] = []
        budget = MAX_CHARACTERS
        for passage in passages:
            budget -= len(passage.clause.text)
            if budget < 0:
                self._unread.append(f"《{passage.document.title}》{passage.clause.label}过长，未读")
                continue
            read.append(passage)
        return read_sources(read, self._reader)

    def _depth(self, sources: Sequence[Source]) -> int:
        """How many sentences are read closely."""
        return FAST_SENTENCES_A_PASSAGE * len(sources) if self._fast else self._settings.max_claims

    def _judge(
        self, parts: Sequence[QuestionPart], ranked: Sequence[Sequence[Evidence]], readings: Sequence[Reading]
    ) -> tuple[list[PartPlan], list[Assessment]]:
        plans, assessments = [], []
        for part, evidence in zip(parts, ranked, strict=True):
            kept = [item for item in evidence if usable(item, any_version=self._any_version)]
            assessment = assess(part, kept, readings, self._request.retrieval_confidence)
            assessments.append(assessment)
            in_scope = any(item.in_scope for item in kept)
            answerable = assessment.confidence >= self._settings.refuse_below and (in_scope or not part.scope)
            plans.append(PartPlan(part, answerable, kept))
        return plans, assessments

    def _gone(
        self,
        parts: Sequence[QuestionPart],
        ranked: Sequence[Sequence[Evidence]],
        readings: Sequence[Reading],
        plans: Sequence[PartPlan],
    ) -> Evidence | None:
        """The best evidence, where the only evidence is repealed or expired."""
        if self._any_version:
            return None
        for part, evidence, plan in zip(parts, ranked, plans, strict=True):
            lost = [item for item in evidence if item.source.is_gone]
            if not lost or not lost[0].in_scope:
                continue
            best = plan.evidence[0].relevance if plan.answerable and plan.evidence else 0.0
            if best >= self._settings.keep_relevance * lost[0].relevance:
                continue
            confidence = assess(part, lost, readings, self._request.retrieval_confidence).confidence
            if confidence >= self._settings.refuse_below:
                return lost[0]
        return None

    def _answer(self, answer: reasoning_pb2.Answer, found: _Findings) -> None:
        answer.tier = self._request.tier
        answer.confidence = max((item.confidence for item in found.assessments), default=0.0)
        answer.provisional = self._fast
        checked: list[Checked] = []
        if found.gone is not None:
            self._stop(answer, found.gone)
        elif not any(plan.answerable for plan in found.plans):
            answer.status = reasoning_pb2.ANSWER_STATUS_REFUSED
            answer.notice = wording.not_found(_subject(found.plans[0].part, found.assessments[0]))
            answer.text = answer.notice
        else:
            checked = self._compose(answer, found)
            with self._stage("show"):
                _show_reasons(answer, found)
        cited = [support.source for item in checked if item.passed for support in item.draft.supports]
        used = [found.gone.source] if found.gone is not None else cited
        answer.verification.CopyFrom(verification(checked, used, self._as_of.isoformat(), self._skipped(found.plans)))

    def _compose(self, answer: reasoning_pb2.Answer, found: _Findings) -> list[Checked]:
        with self._stage("write"):
            standing = frozenset(ruling.claim.claim_id for ruling in found.rulings)
            selector = Selector(found.claims, standing, self._reader.scopes, self._settings)
            drafts = write(found.plans, selector, found.rulings, found.conflicts, self._settings)
        with self._stage("verify"):
            verifier = Verifier(self._settings.support_coverage)
            checked = [verifier.check(draft) for draft in drafts]
            answer.sentences.extend(answer_sentences(checked))
            answer.citations.extend(verifier.buffer)
            answer.evidence.extend(evidence_chains(checked, found.claims, verifier.buffer))
        withheld = [item for item in checked if not item.passed]
        answer.status = reasoning_pb2.ANSWER_STATUS_NEEDS_REVIEW if withheld else reasoning_pb2.ANSWER_STATUS_ANSWERED
        answer.text = answer_text(answer.sentences)
        if not verifier.buffer:
            # Nothing that was written survived the check: there is no answer to show.
            answer.notice = wording.NOTHING_VERIFIED if withheld else wording.not_found("")
            answer.text = answer.notice
            if not withheld:
                answer.status = reasoning_pb2.ANSWER_STATUS_REFUSED
        return checked

    def _stop(self, answer: reasoning_pb2.Answer, gone: Evidence) -> None:
        source = gone.source
        newer_ids = [*source.document.superseded_by, source.passage.superseded_by]
        titles = {passage.document.document_id: passage.document.title for passage in self._request.passages}
        newer = next((titles[name] for name in reversed(newer_ids) if titles.get(name)), "")
        expired = source.passage.validity == passage_pb2.VALIDITY_EXPIRED
        answer.status = reasoning_pb2.ANSWER_STATUS_STOPPED
        answer.notice = wording.stopped(source.document.title, "已失效" if expired else "已废止", newer)
        answer.text = answer.notice
        answer.degradations.add(
            level=common_pb2.FAULT_LEVEL_STOP,
            component="source",
            reason="SOURCE_EXPIRED" if expired else "SOURCE_REPEALED",
            detail=answer.notice,
        )

    def _skipped(self, plans: Sequence[PartPlan]) -> list[str]:
        """What was not relied on, in words."""
        notes = [
            wording.not_in_force(passage.document.title, passage.document.effective_date)
            for passage in self._request.passages
            if passage.validity == passage_pb2.VALIDITY_NOT_YET_EFFECTIVE and not self._any_version
        ]
        if len(plans) > 1:
            notes += [wording.part_not_found(plan.part.text) for plan in plans if not plan.answerable]
        return [*notes, *self._unread]

    def _stage(self, name: str) -> _Stage:
        return _Stage(name, self._stages)


class _Stage:
    """Notes how long its body took."""

    def __init__(self, name: str, stages: list[common_pb2.StageTiming]) -> None:
        self._name = name
        self._stages = stages
        self._started = 0.0

    def __enter__(self) -> None:
        self._started = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        wall = (time.perf_counter() - self._started) * 1000
        self._stages.append(common_pb2.StageTiming(stage=self._name, wall_ms=wall))


def _show_reasons(answer: reasoning_pb2.Answer, found: _Findings) -> None:
    """Puts the claims that bear on the question into the answer, with their conflicts and rulings."""
    best = max((claim.relevance for claim in found.claims), default=0.0)
    used = {chain.claim_id for chain in answer.evidence}
    shown = {claim.claim_id for claim in found.claims if claim.relevance >= SHOWN * best or claim.claim_id in used}
    conflicts = [item for item in found.conflicts if {item.first.claim_id, item.second.claim_id} & shown]
    shown |= {claim.claim_id for item in conflicts for claim in (item.first, item.second)}
    for claim in found.claims:
        if claim.claim_id in shown:
            add_claim(answer, claim)
    for conflict in conflicts:
        add_conflict(answer, conflict)
    for ruling in found.rulings:
        if ruling.claim.claim_id in shown:
            add_ruling(answer, ruling)


def _subject(part: QuestionPart, assessment: Assessment) -> str:
    """What the sources say nothing of: the part of the question that none of them knows, in its own words."""
    for word in assessment.missing:
        for run in part.canonical_runs:
            if word in run:
                return run
    return part.text.rstrip("？?。")
