"""What a plan must satisfy beyond its types, and the plan that takes the place of one that does not."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from datetime import date

from orchestrator.domain.pack import DomainPack
from orchestrator.router.cost import estimate
from trias.v1 import plan_pb2

__all__ = ["default_plan", "plan_problems"]


def default_plan(plan_id: str, question: str, domain: str, as_of_date: str) -> plan_pb2.Plan:
    """The plan that assumes nothing: search for the question as it stands."""
    return plan_pb2.Plan(
        plan_id=plan_id,
        question=question,
        normalized_question=question,
        domain=domain,
        intent=plan_pb2.Intent(decided_by="default"),
        question_type=plan_pb2.QUESTION_TYPE_FACT,
        version_preference=plan_pb2.VERSION_PREFERENCE_CURRENT,
        as_of_date=as_of_date,
        strategy=plan_pb2.STRATEGY_FULL,
        estimates=estimate(len(question), 1),
        is_default=True,
    )


def plan_problems(plan: plan_pb2.Plan, pack: DomainPack, max_sub_questions: int) -> list[str]:
    """Everything that is wrong with a plan, one sentence each; empty for a valid one."""
    return [
        *_text(plan, pack),
        *_intents(plan, pack),
        *_slots("slots", plan.slots, plan.normalized_question, pack),
        *_sub_questions(plan, pack, max_sub_questions),
        *_time(plan),
        *_strategy(plan),
        *_clarifications(plan, pack),
    ]


def _text(plan: plan_pb2.Plan, pack: DomainPack) -> Iterator[str]:
    if not plan.plan_id:
        yield "plan_id is empty."
    if not plan.question.strip() or not plan.normalized_question.strip():
        yield "question or normalized_question is blank."
    if plan.domain != pack.name:
        yield f"domain is {plan.domain!r}, the pack {pack.name!r}."
    if not plan.question_type or plan.question_type not in plan_pb2.QuestionType.values():
        yield "question_type is unspecified."
    if not _unit(plan.confidence):
        yield f"confidence {plan.confidence} is not in [0,1]."
    for mention in plan.named_documents:
        if not (mention.text or mention.clause_label):
            yield "a named document has neither text nor label."


def _intents(plan: plan_pb2.Plan, pack: DomainPack) -> Iterator[str]:
    for field, intent in (("intent", plan.intent), *(("alternatives", item) for item in plan.alternatives)):
        if not _unit(intent.confidence):
            yield f"{field}: confidence {intent.confidence} is not in [0,1]."
        if not intent.intent_id and field == "intent" and intent.decided_by == "default" and not intent.path:
            continue
        if intent.intent_id not in pack.intent_paths:
            yield f"{field}: the pack has no intent {intent.intent_id!r}."
        elif tuple(intent.path) != pack.labels(intent.intent_id):
            yield f"{field}: the path {list(intent.path)} is not that of {intent.intent_id!r}."


def _slots(field: str, slots: Iterable[plan_pb2.Slot], text: str, pack: DomainPack) -> Iterator[str]:
    for slot in slots:
        if slot.type not in pack.slot_types:
            yield f"{field}: the pack has no slot type {slot.type!r}."
        if not (0 <= slot.start < slot.end <= len(text)) or text[slot.start : slot.end] != slot.text:
            yield f"{field}: {slot.text!r} does not stand at [{slot.start}, {slot.end})."
        if not slot.value or not _unit(slot.confidence):
            yield f"{field}: {slot.text!r} has no value or no confidence in [0,1]."


def _sub_questions(plan: plan_pb2.Plan, pack: DomainPack, limit: int) -> Iterator[str]:
    parts = plan.sub_questions
    if len(parts) == 1 or len(parts) > limit:
        yield f"sub_questions: {len(parts)} parts; there are none, or 2 to {limit}."
    if len({part.sub_question_id for part in parts}) != len(parts):
        yield "sub_questions: an id stands twice."
    for part in parts:
        if not part.sub_question_id or not part.text.strip() or not part.question_type:
            yield "sub_questions: a part lacks its id, text or type."
        yield from _slots(f"sub_questions.{part.sub_question_id}", part.slots, part.text, pack)


def _time(plan: plan_pb2.Plan) -> Iterator[str]:
    if plan.as_of_date:
        try:
            date.fromisoformat(plan.as_of_date)
        except ValueError:
            yield f"as_of_date {plan.as_of_date!r} is no date."
    if not plan.version_preference:
        yield "version_preference is unspecified."
    if (plan.version_preference == plan_pb2.VERSION_PREFERENCE_NAMED) != bool(plan.version_label):
        yield "version_label is set for a named version, and only for one."


def _strategy(plan: plan_pb2.Plan) -> Iterator[str]:
    estimated = [item.strategy for item in plan.estimates]
    if plan.strategy not in estimated:
        yield "strategy has no estimate."
    if len(set(estimated)) != len(estimated):
        yield "estimates: a strategy stands twice."
    for item in plan.estimates:
        if not (math.isfinite(item.milliseconds) and item.milliseconds >= 0 and item.tokens >= 0):
            yield "estimates: a cost is negative or no number."


def _clarifications(plan: plan_pb2.Plan, pack: DomainPack) -> Iterator[str]:
    for item in plan.clarifications:
        if item.about != "intent" and item.about not in pack.slot_types:
            yield f"clarifications: {item.about!r} is neither intent nor slot type."
        if not item.question.strip():
            yield "clarifications: a question is blank."


def _unit(value: float) -> bool:
    return 0.0 <= value <= 1.0
