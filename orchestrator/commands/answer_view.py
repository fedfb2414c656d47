"""How an answer looks in a terminal. All text from the server is shown as it is, never read as markup."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from trias.v1 import answer_service_pb2, common_pb2, document_pb2, passage_pb2, plan_pb2, reasoning_pb2

__all__ = ["final", "progress", "provisional"]

EXCERPT_CHARS = 60
_STATUS_STYLE = {
    reasoning_pb2.ANSWER_STATUS_ANSWERED: "green",
    reasoning_pb2.ANSWER_STATUS_NEEDS_REVIEW: "yellow",
    reasoning_pb2.ANSWER_STATUS_REFUSED: "red",
    reasoning_pb2.ANSWER_STATUS_STOPPED: "red",
    reasoning_pb2.ANSWER_STATUS_NEEDS_CLARIFICATION: "cyan",
}


def progress(plan: plan_pb2.Plan, tiers: Sequence[answer_service_pb2.Answered]) -> RenderableType:
    """What is known while the deep answer is still being made."""
    parts: list[RenderableType] = [_plan_line(plan)]
    if tiers:
        parts.append(provisional(tiers[-1]))
    parts.append(Text("…", style="dim"))
    return Group(*parts)


def provisional(answered: answer_service_pb2.Answered) -> RenderableType:
    """A tier that a later one may replace."""
    title = f"{_name(common_pb2.Tier, answered.answer.tier)} answer, provisional"
    return Panel(_body(answered.answer), title=title, title_align="left", border_style="dim")


def final(
    plan: plan_pb2.Plan,
    tiers: Sequence[answer_service_pb2.Answered],
    retrieved: answer_service_pb2.Retrieved | None,
) -> RenderableType:
    """The last tier with everything that it rests on."""
    answered = tiers[-1]
    answer = answered.answer
    parts: list[RenderableType] = [_plan_line(plan), _panel(answered)]
    parts += _degradations(answer)
    parts += _clarifications(answered)
    parts += _evidence(answer)
    parts += _conflicts(answer)
    parts += _verification(answer)
    parts += [_labelled("widen", suggestion) for suggestion in answered.suggestions]
    if retrieved is not None:
        parts.append(_passages(retrieved))
    parts.append(_timing(tiers))
    return Group(*parts)


def _plan_line(plan: plan_pb2.Plan) -> Text:
    line = Text(style="dim")
    line.append("plan ")
    if plan.intent.path:
        line.append(" › ".join(plan.intent.path))
        line.append(f" ({plan.intent.confidence:.2f}, {plan.intent.decided_by})")
    else:
        line.append("default" if plan.is_default else "no intent")
    line.append(f" · {_name(plan_pb2.QuestionType, plan.question_type)}")
    for slot in plan.slots:
        line.append(f" · {slot.type}={slot.value or slot.text}")
    for mention in plan.named_documents:
        line.append(f" · 《{mention.text}》{mention.clause_label}")
    if plan.as_of_date:
        line.append(f" · as of {plan.as_of_date}")
    if len(plan.sub_questions) > 1:
        line.append(f" · {len(plan.sub_questions)} sub-questions")
    return line


def _panel(answered: answer_service_pb2.Answered) -> Panel:
    answer = answered.answer
    style = _STATUS_STYLE.get(answer.status, "white")
    title = Text(f"{_name(reasoning_pb2.AnswerStatus, answer.status)}", style=f"bold {style}")
    title.append(f" · {_name(common_pb2.Tier, answer.tier)} · confidence {answer.confidence:.2f}", style="not bold")
    if answer.degraded:
        title.append(" · DEGRADED", style="bold yellow")
    return Panel(_body(answer), title=title, title_align="left", border_style=style)


def _body(answer: reasoning_pb2.Answer) -> Text:
    body = Text()
    if answer.notice and answer.notice != answer.text:
        body.append(answer.notice + "\n", style="italic")
    body.append(answer.text)
    for sentence in answer.sentences:
        if sentence.status == reasoning_pb2.SENTENCE_STATUS_WITHHELD:
            body.append(f"\n(withheld: {sentence.reason})", style="yellow")
    return body


def _degradations(answer: reasoning_pb2.Answer) -> Iterator[Text]:
    for entry in answer.degradations:
        name = "stopped" if entry.level == common_pb2.FAULT_LEVEL_STOP else "degraded"
        yield _labelled(name, f"{entry.component}: {entry.reason}. {entry.detail}", style="yellow")


def _clarifications(answered: answer_service_pb2.Answered) -> Iterator[Text]:
    for clarification in answered.clarifications:
        alternatives = f" ({' / '.join(clarification.alternatives)})" if clarification.alternatives else ""
        yield _labelled("please say", clarification.question + alternatives, style="cyan")


def _evidence(answer: reasoning_pb2.Answer) -> Iterator[Text]:
    if answer.citations:
        yield Text("\nEvidence", style="bold")
    for citation in answer.citations:
        line = Text(f"  #{citation.number} ", style="bold")
        line.append(citation.display or citation.document_title, style="cyan")
        line.append(f"\n     {citation.sentence}", style="not bold")
        yield line


def _conflicts(answer: reasoning_pb2.Answer) -> Iterator[Text]:
    claims = {claim.claim_id: claim for claim in answer.claims}
    rulings: dict[str, list[reasoning_pb2.Ruling]] = {}
    for ruling in answer.rulings:
        rulings.setdefault(ruling.conflict_id, []).append(ruling)
    if answer.conflicts:
        yield Text("\nConflicts", style="bold")
    for conflict in answer.conflicts:
        texts = " ↔ ".join(claims[claim_id].text for claim_id in conflict.claim_ids if claim_id in claims)
        yield Text(f"  {conflict.matter}: {texts}\n     {conflict.explanation}", style="magenta")
        for ruling in rulings.get(conflict.conflict_id, ()):
            standing = claims[ruling.claim_id].text if ruling.claim_id in claims else ruling.claim_id
            reason = _name(reasoning_pb2.RulingReason, ruling.reason)
            yield Text(f"     → {standing} stands ({reason}): {ruling.explanation}")


def _verification(answer: reasoning_pb2.Answer) -> Iterator[Text]:
    if not answer.HasField("verification"):
        return
    summary = answer.verification
    line = (
        f"{summary.sentences_verified} of {summary.sentences_checked} sentences"
        f", {summary.numbers_equal} of {summary.numbers_checked} numbers"
    )
    if summary.sentences_withheld:
        line += f", {summary.sentences_withheld} withheld"
    if summary.as_of_date:
        line += f", as of {summary.as_of_date}"
    yield Text()
    yield _labelled("verified", line)
    for source in summary.sources:
        dates = " ".join(filter(None, (source.version, source.effective_date or source.publish_date)))
        status = _name(document_pb2.DocumentStatus, source.status) if source.status else "status unknown"
        yield _labelled("source", f"《{source.title}》 {dates} ({status})".replace("  ", " "))
    for unverified in summary.unverified:
        yield _labelled("unverified", unverified, style="yellow")


def _timing(tiers: Sequence[answer_service_pb2.Answered]) -> Text:
    arrivals = ", ".join(f"{_name(common_pb2.Tier, tier.answer.tier)} {tier.elapsed_ms:.0f} ms" for tier in tiers)
    timing = tiers[-1].timing
    stages = ", ".join(f"{stage.stage} {stage.wall_ms:.0f}" for stage in timing.stages if "/" not in stage.stage)
    return _labelled(
        "time",
        f"{arrivals}; of {timing.total_ms:.0f} ms: models {timing.model_ms:.0f}, indexes {timing.index_ms:.0f}, "
        f"the rest {timing.overhead_ms:.0f} ({stages})",
        style="dim",
    )


def _passages(retrieved: answer_service_pb2.Retrieved) -> Table:
    table = Table(
        title=f"Passages (confidence {retrieved.confidence:.2f}); value × weight = what a term adds",
        title_justify="left",
        show_lines=True,
    )
    for column in ("#", "final", "semantic", "bm25", "graph", "position", "consistency", "trust", "clause"):
        table.add_column(column, overflow="fold", no_wrap=column != "clause")
    for passage in retrieved.passages:
        scores = passage.scores
        terms = (scores.semantic, scores.bm25, scores.graph, scores.position, scores.consistency)
        table.add_row(
            str(passage.rank), f"{scores.final:.3f}", *map(_term, terms), f"{passage.confidence:.2f}", _clause(passage)
        )
    return table


def _term(term: passage_pb2.ScoreTerm) -> Text:
    if not term.present:
        return Text("–", style="dim")
    shown = Text(f"{term.contribution:+.3f}")
    shown.append(f"\n{term.value:.2f} × {term.weight:.2f}\n{term.origin} {term.raw:.3g}", style="dim")
    return shown


def _clause(passage: passage_pb2.Passage) -> Text:
    text = passage.clause.text.replace("\n", " ")
    shown = Text(f"《{passage.document.title}》{passage.clause.label}", style="cyan")
    if passage.validity not in {passage_pb2.VALIDITY_IN_FORCE, passage_pb2.VALIDITY_UNKNOWN}:
        shown.append(f" {_name(passage_pb2.Validity, passage.validity)}", style="yellow")
    shown.append("\n" + (text if len(text) <= EXCERPT_CHARS else text[:EXCERPT_CHARS] + "…"), style="default")
    return shown


def _labelled(label: str, text: str, *, style: str = "") -> Text:
    line = Text(f"{label:<11}", style="dim")
    line.append(text, style=style or "default")
    return line


def _name(enum: object, number: int) -> str:
    """``ANSWER_STATUS_NEEDS_REVIEW`` → "needs review"; a number that this version does not know stays a number."""
    descriptor = enum.DESCRIPTOR  # type: ignore[attr-defined]
    value = descriptor.values_by_number.get(number)
    if value is None:
        return str(number)
    prefix = descriptor.values_by_number[0].name.removesuffix("UNSPECIFIED")
    return str(value.name.removeprefix(prefix)).replace("_", " ").lower()
