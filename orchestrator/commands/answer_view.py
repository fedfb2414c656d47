"""How an answer looks in a terminal. All text from the server is shown as it is, never read as markup."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from trias.v1 import answer_service_pb2, common_pb2, document_pb2, passage_pb2, plan_pb2, reasoning_pb2

__all__ = ["final", "progress", "provisional"]

EXCERPT_CHARS = 60
LABEL_WIDTH = 10
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


def _degradations(answer: reasoning_pb2.Answer) -> Iterator[RenderableType]:
    for entry in answer.degradations:
        name = "stopped" if entry.level == common_pb2.FAULT_LEVEL_STOP else "degraded"
        yield _labelled(name, f"{entry.component}: {entry.reason}. {entry.detail}", style="yellow")


def _clarifications(answered: answer_service_pb2.Answered) -> Iterator[RenderableType]:
    for clarification in answered.clarifications:
        alternatives = f" ({' / '.join(clarification.alternatives)})" if clarification.alternatives else ""
        yield _labelled("please say", clarification.question + alternatives, style="cyan")


def _evidence(answer: reasoning_pb2.Answer) -> Iterator[RenderableType]:
    if answer.citations:
        yield Text("\nEvidence", style="bold")
    for citation in answer.citations:
        yield _numbered(citation)


def _conflicts(answer: reasoning_pb2.Answer) -> Iterator[RenderableType]:
    """The conflicts that a sentence of the answer rests on, each with its ruling; others are only counted."""
    claims = {claim.claim_id: claim.text for claim in answer.claims}
    told = {sentence.ruling_id for sentence in answer.sentences if sentence.ruling_id}
    rulings: dict[str, list[reasoning_pb2.Ruling]] = {}
    for ruling in answer.rulings:
        if ruling.ruling_id in told:
            rulings.setdefault(ruling.conflict_id, []).append(ruling)
    shown = [conflict for conflict in answer.conflicts if conflict.conflict_id in rulings]
    if shown:
        yield Text("\nConflicts", style="bold")
    for conflict in shown:
        texts = " ↔ ".join(claims[claim_id] for claim_id in conflict.claim_ids if claim_id in claims)
        lines = [Text(f"{conflict.matter}: {texts}".removeprefix(": "), style="magenta"), Text(conflict.explanation)]
        for ruling in rulings[conflict.conflict_id]:
            standing = claims.get(ruling.claim_id, ruling.claim_id)
            reason = _name(reasoning_pb2.RulingReason, ruling.reason)
            lines.append(Text(f"→ {standing} ({reason}): {ruling.explanation}"))
        yield Padding(Group(*lines), (0, 0, 0, 2))
    if len(shown) < len(answer.conflicts):
        aside = len(answer.conflicts) - len(shown)
        yield Text(f"({aside} conflicts among the passages do not touch this answer; --json has them)", style="dim")


def _numbered(citation: reasoning_pb2.Citation) -> RenderableType:
    line = Table.grid(padding=(0, 1))
    line.add_column(width=4, justify="right", style="bold")
    line.add_column(overflow="fold")
    place = Text(citation.display or citation.document_title, style="cyan")
    line.add_row(f"#{citation.number}", Group(place, Text(citation.sentence)))
    return line


def _verification(answer: reasoning_pb2.Answer) -> Iterator[RenderableType]:
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


def _timing(tiers: Sequence[answer_service_pb2.Answered]) -> RenderableType:
    arrivals = ", ".join(f"{_name(common_pb2.Tier, tier.answer.tier)} {tier.elapsed_ms:.0f} ms" for tier in tiers)
    timing = tiers[-1].timing
    stages = ", ".join(f"{stage.stage} {stage.wall_ms:.0f}" for stage in timing.stages if "/" not in stage.stage)
    return _labelled(
        "time",
        f"{arrivals}; of {timing.total_ms:.0f} ms: models {timing.model_ms:.0f}, indexes {timing.index_ms:.0f}, "
        f"the rest {timing.overhead_ms:.0f} ({stages})",
        style="dim",
    )


def _passages(retrieved: answer_service_pb2.Retrieved) -> RenderableType:
    """One row a passage: its clause, and under each term's name what it adds, value × weight, origin and raw signal."""
    table = Table(
        title=f"\nPassages (confidence {retrieved.confidence:.2f}); final = Σ value × weight",
        title_justify="left",
        title_style="bold",
        show_header=False,
        box=None,
        padding=(0, 1, 0, 0),
    )
    table.add_column(width=4, justify="right", style="bold")
    table.add_column(overflow="fold")
    for passage in retrieved.passages:
        table.add_row(f"{passage.rank}.", Group(_clause(passage), _scores(passage.scores)))
    return table


def _scores(scores: passage_pb2.Scores) -> Table:
    terms = {
        "semantic": scores.semantic,
        "bm25": scores.bm25,
        "graph": scores.graph,
        "position": scores.position,
        "consistency": scores.consistency,
    }
    grid = Table.grid(padding=(0, 1))
    for _ in terms:
        grid.add_column(min_width=12)
    grid.add_row(*(Text(name, style="dim") for name in terms))
    grid.add_row(*(Text(f"{term.contribution:+.3f}" if term.present else "–") for term in terms.values()))
    grid.add_row(*map(_origin, terms.values()))
    return grid


def _origin(term: passage_pb2.ScoreTerm) -> Text:
    if not term.present:
        return Text()
    return Text(f"{term.value:.2f}×{term.weight:.2f}\n{term.origin} {term.raw:.3g}", style="dim")


def _clause(passage: passage_pb2.Passage) -> Text:
    text = passage.clause.text.replace("\n", " ")
    shown = Text(f"《{passage.document.title}》{passage.clause.label}", style="cyan")
    shown.append(f"  final {passage.scores.final:.3f}, trust {passage.confidence:.2f}", style="bold default")
    if passage.validity not in {passage_pb2.VALIDITY_IN_FORCE, passage_pb2.VALIDITY_UNKNOWN}:
        shown.append(f", {_name(passage_pb2.Validity, passage.validity)}", style="yellow")
    shown.append("\n" + (text if len(text) <= EXCERPT_CHARS else text[:EXCERPT_CHARS] + "…"), style="default")
    return shown


def _labelled(label: str, text: str, *, style: str = "") -> RenderableType:
    """A line with its label in front; what does not fit goes on below the text, not below the label."""
    line = Table.grid(padding=(0, 1))
    line.add_column(width=LABEL_WIDTH, style="dim")
    line.add_column(overflow="fold")
    line.add_row(label, Text(text, style=style))
    return line


def _name(enum: object, number: int) -> str:
    """``ANSWER_STATUS_NEEDS_REVIEW`` → "needs review"; a number that this version does not know stays a number."""
    descriptor = enum.DESCRIPTOR  # type: ignore[attr-defined]
    value = descriptor.values_by_number.get(number)
    if value is None:
        return str(number)
    prefix = descriptor.values_by_number[0].name.removesuffix("UNSPECIFIED")
    return str(value.name.removeprefix(prefix)).replace("_", " ").lower()
