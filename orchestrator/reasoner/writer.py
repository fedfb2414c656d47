"""Composes an answer from what stands: quoted sentences, a ruled conflict said in one sentence, part by part."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.reasoner import wording
from orchestrator.reasoner.claims import Claim
from orchestrator.reasoner.conflicts import Conflict
from orchestrator.reasoner.drafts import Draft, Support
from orchestrator.reasoner.evidence import Evidence
from orchestrator.reasoner.negation import is_negated
from orchestrator.reasoner.precedence import dated, named
from orchestrator.reasoner.question import QuestionPart
from orchestrator.reasoner.rulings import Ruling
from orchestrator.reasoner.selection import Choice, Selector
from orchestrator.settings import ReasonerSettings
from trias.v1 import plan_pb2, reasoning_pb2

__all__ = ["PartPlan", "write"]

# A yes or no needs a sentence that holds at least this much of the question.
YES_NO_OVERLAP = 0.6
_ALLOWS = re.compile(r"可以|应当|有权|必须|予以|享受|纳入|允许|准予|属于")
# A question that is itself put negatively (不交会怎样, 不能报销吗) is not answered by yes or no.
_NEGATIVE_QUESTION = re.compile(r"不(?!动产|良|同|予|服)|没有?|未")
# What holds only under a condition is neither yes nor no.
_CONDITIONAL = re.compile(
    r"除外|但是?[，,]?|除.{1,40}外|未经|经.{1,20}(?:批准|同意|许可)|符合.{0,20}(?:条件|规定)的|只有|(?:不?满|超过|不足).{1,20}的"
)
_EITHER_OR = re.compile(r"还是|或者")
_ALTERNATIVE = re.compile(r"(?:能不能|可不可以|是不是|会不会|要不要|需不需要|有没有|是否)")


@dataclass(frozen=True)
class PartPlan:
    """What is known about one part before it is written.

    Attributes:
        answerable: whether the evidence carries an answer.
        evidence: usable sentences, best first.
    """

    part: QuestionPart
    answerable: bool
    evidence: Sequence[Evidence]


def write(
    plans: Sequence[PartPlan],
    selector: Selector,
    rulings: Sequence[Ruling],
    conflicts: Sequence[Conflict],
    settings: ReasonerSettings,
) -> list[Draft]:
    """The drafts of an answer, in order; compound questions are answered part by part under headings."""
    writer = _Writer(selector, rulings, conflicts)
    limit = max(1, -(-settings.max_sentences // len(plans)))
    drafts: list[Draft] = []
    for plan in plans:
        if len(plans) > 1:
            drafts.append(Draft(wording.part_heading(plan.part.text)))
        if plan.answerable:
            drafts += writer.part(plan, limit)
        else:
            drafts.append(Draft(wording.part_not_found(plan.part.text)))
    return drafts


class _Writer:
    def __init__(self, selector: Selector, rulings: Sequence[Ruling], conflicts: Sequence[Conflict]) -> None:
        self._selector = selector
        self._rulings = {ruling.claim.claim_id: ruling for ruling in rulings}
        self._conflicts = conflicts
        self._explained: set[tuple[str, str, str]] = set()

    def part(self, plan: PartPlan, limit: int) -> list[Draft]:
        choices = self._selector.choose(plan.part, plan.evidence, limit)
        drafts: list[Draft] = []
        several = len({choice.evidence.source.document.title for choice in choices}) > 1
        previous = ""
        for index, choice in enumerate(choices):
            title = choice.evidence.source.document.title
            attribution = wording.states(title) if several and title != previous else ""
            previous = title
            claims = self._selector.claims_for(plan.part, choice.evidence)
            ruling = next((self._rulings[claim.claim_id] for claim in claims if claim.claim_id in self._rulings), None)
            lead = _yes_or_no(plan.part, choice) if index == 0 else ""
            frames = tuple(frame for frame in (lead, attribution) if frame)
            drafts.append(Draft(lead + attribution + choice.text, (_support(choice),), frames, ruling))
            for claim in claims:
                if claim.claim_id in self._rulings:
                    drafts += self._explanations(self._rulings[claim.claim_id])
        return drafts

    def _explanations(self, ruling: Ruling) -> list[Draft]:
        """One sentence for each claim that a ruling beat, or that it could not decide against."""
        if ruling.reason == reasoning_pb2.RULING_REASON_UNDECIDED:
            rivals = [
                conflict.second if conflict.first.claim_id == ruling.claim.claim_id else conflict.first
                for conflict in self._conflicts
                if ruling.claim.claim_id in {conflict.first.claim_id, conflict.second.claim_id}
            ]
            rivals = [rival for rival in rivals if rival.claim_id in self._rulings]
        else:
            rivals = list(ruling.beaten)
        drafts = []
        for rival in rivals:
            one, other = sorted((named(ruling.claim), named(rival)))
            key = (one, other, ruling.claim.matter or ruling.claim.text)
            if key not in self._explained:
                self._explained.add(key)
                drafts.append(_explanation(ruling, rival))
        return drafts


def _support(choice: Choice) -> Support:
    return Support(choice.evidence.source, choice.sentence)


def _explanation(ruling: Ruling, rival: Claim) -> Draft:
    """What each of two claims says, and which one is followed: 《新》规定“75%”，《旧》规定“70%”，以较新的前者为准."""
    claim = ruling.claim
    names = [f"{named(item)}（{dated(item)}）规定" for item in (claim, rival)]
    opening = wording.about(claim.matter)
    undecided = ruling.reason == reasoning_pb2.RULING_REASON_UNDECIDED
    prevails = wording.PREVAILS.get(ruling.reason, "，以")
    ending = f"，{wording.UNDECIDED}" if undecided else f"{prevails}前者为准。"
    text = f"{opening}{names[0]}“{_stated(claim)}”，{names[1]}“{_stated(rival)}”{ending}"
    frames = (opening, *names, ending) if opening else (*names, ending)
    supports = tuple(Support(item.reading.source, item.reading.sentence) for item in (claim, rival))
    return Draft(text, supports, frames, ruling)


def _stated(claim: Claim) -> str:
    """What a claim says, short and verbatim: its number with the words that bound it, or its whole statement."""
    sentence = claim.reading.sentence
    if claim.quantity is not None:
        return sentence.text[claim.quantity.phrase_start : claim.quantity.phrase_end]
    return sentence.source if sentence.kind == "row" else sentence.text


def _yes_or_no(part: QuestionPart, choice: Choice) -> str:
    """是。or 否。where the sentence itself determines it; empty where only the quote may speak."""
    if part.question_type != plan_pb2.QUESTION_TYPE_YES_NO or part.kinds or choice.evidence.overlap < YES_NO_OVERLAP:
        return ""
    question = _ALTERNATIVE.sub("", part.text)
    if _NEGATIVE_QUESTION.search(question) or _EITHER_OR.search(question):
        return ""
    # An item's lead-in may be what forbids: 不得有下列行为：（一）….
    text = choice.text
    if _CONDITIONAL.search(text):
        return ""
    if is_negated(text):
        return wording.NO
    return wording.YES if _ALLOWS.search(text) else ""
