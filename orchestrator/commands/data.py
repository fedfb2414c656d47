"""`trias data`: training questions, made from templates or labelled by people."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from finetune.synthesis.generate import SPLITS, Synthesis, synthesise
from finetune.synthesis.questions import LabelledQuestion, LabelledSlot, read_questions, write_questions
from orchestrator.domain.lexicon import SlotMatcher
from orchestrator.domain.pack import DomainPack, load_pack
from orchestrator.domain.templates import load_templates
from orchestrator.errors import ConfigurationError
from orchestrator.server.database import DATABASE_FILE, Database
from orchestrator.server.labelling import LabellingEntry, LabellingQueue
from orchestrator.settings import Settings

__all__ = ["app"]

app = typer.Typer(help="Make training questions of a domain pack, and have people correct them.", no_args_is_help=True)

DEFAULT = Synthesis()

DomainOption = Annotated[str | None, typer.Option("--domain", help="domain pack; default: domain.default")]


@app.command("synthesise")
def synthesise_(
    context: typer.Context,
    domain: DomainOption = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="JSON lines; default: training/<domain>.jsonl in the data folder")
    ] = None,
    seed: Annotated[int, typer.Option(min=0)] = DEFAULT.seed,
    per_template: Annotated[int, typer.Option(min=1, help="questions of each wording, at most")] = (
        DEFAULT.per_template
    ),
    noise: Annotated[float, typer.Option(min=0, max=1, help="share of questions with slips in them")] = DEFAULT.noise,
    test: Annotated[float, typer.Option(min=0, max=0.9, help="share of wordings kept for the test")] = DEFAULT.test,
) -> None:
    """Make labelled questions from the pack's templates; whole wordings are held out, not only values."""
    settings: Settings = context.obj
    pack = _pack(settings, domain)
    templates = load_templates(pack, settings.paths.domains / pack.name)
    questions = synthesise(pack, templates, Synthesis(seed=seed, per_template=per_template, noise=noise, test=test))
    path = out or settings.paths.data / "training" / f"{pack.name}.jsonl"
    write_questions(path, questions)
    wordings = {split: {(one.intent, one.template) for one in questions if one.split == split} for split in SPLITS}
    table = Table("split", "wordings", "questions", "with noise", "slots")
    for split in SPLITS:
        rows = [one for one in questions if one.split == split]
        noisy = sum(one.noisy for one in rows)
        slots = sum(len(one.slots) for one in rows)
        table.add_row(split, str(len(wordings[split])), str(len(rows)), str(noisy), str(slots))
    console = Console()
    console.print(table)
    console.print(f"Written to {path}.", highlight=False, soft_wrap=True)


@app.command("export")
def export(
    context: typer.Context,
    out: Annotated[Path, typer.Argument(help="the labelling file to write, JSON lines")],
    domain: DomainOption = None,
    data: Annotated[
        Path | None, typer.Option("--data", help="also take questions of this training file, for review")
    ] = None,
    sample: Annotated[int, typer.Option(min=1, help="how many of them")] = 100,
    limit: Annotated[int, typer.Option(min=1, help="questions of the queue, least confident first")] = 1000,
    seed: Annotated[int, typer.Option(min=0)] = 0,
) -> None:
    """Write a labelling file: what the router was unsure of, with its guesses, for experts to correct.

    In each line correct "intent" and "slots" (for a slot, type, text and value suffice where its text stands in the
    question once), then set "checked" to true.
    """
    settings: Settings = context.obj
    pack = _pack(settings, domain)
    database = settings.paths.data / DATABASE_FILE
    entries = asyncio.run(_queued(database, limit)) if database.exists() else []
    find = SlotMatcher(pack)
    rows = [_guess(entry, pack, find) for entry in entries if entry.domain == pack.name]
    queued = len(rows)
    if data is not None:
        known = {row.text for row in rows}
        fresh = [one for one in read_questions(data, pack) if one.text not in known and one.split == "train"]
        chosen = random.Random(seed).sample(fresh, min(sample, len(fresh)))  # noqa: S311 (no secrets here)
        rows.extend(one.model_copy(update={"checked": False}) for one in chosen)
    write_questions(out, rows)
    typer.echo(f"{queued} questions of the queue and {len(rows) - queued} of training written to {out}.")


@app.command("import")
def import_(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="a labelling file that experts have corrected")],
    into: Annotated[
        Path | None, typer.Option("--into", help="training file; default: training/<domain>.jsonl in the data folder")
    ] = None,
    domain: DomainOption = None,
) -> None:
    """Merge corrected labels into the training questions: every line is checked first, and all are taken or none."""
    settings: Settings = context.obj
    pack = _pack(settings, domain)
    corrected = read_questions(file, pack, checked_only=True)
    path = into or settings.paths.data / "training" / f"{pack.name}.jsonl"
    present = read_questions(path, pack) if path.exists() else []
    merged, counts = _merge(present, corrected)
    write_questions(path, merged)
    typer.echo(
        f"{counts['added']} added, {counts['changed']} changed, {counts['same']} as they were; {path} now holds "
        f"{len(merged)} questions."
    )


def _pack(settings: Settings, domain: str | None) -> DomainPack:
    name = domain or settings.domain.default
    folder = settings.paths.domains / name
    if not folder.is_dir():
        raise ConfigurationError(
            f"--domain: there is no domain pack {name!r} in {settings.paths.domains}.", hint="Check the name."
        )
    return load_pack(folder)


async def _queued(path: Path, limit: int) -> list[LabellingEntry]:
    database = await asyncio.to_thread(Database, path)
    try:
        return await LabellingQueue(database).entries(limit)
    finally:
        await database.close()


def _guess(entry: LabellingEntry, pack: DomainPack, matcher: SlotMatcher) -> LabelledQuestion:
    path = pack.intent_paths.get(entry.intent_id)
    return LabelledQuestion(
        text=entry.question,
        intent=entry.intent_id if path and not path[-1].children else "",
        slots=tuple(
            LabelledSlot(type=one.slot_type, start=one.start, end=one.end, text=one.text, value=one.value)
            for one in matcher.find(entry.question)
        ),
        checked=False,
        reason=entry.reason,
        confidence=entry.confidence,
        times=entry.times,
    )


def _merge(
    present: Sequence[LabelledQuestion], corrected: Sequence[LabelledQuestion]
) -> tuple[list[LabelledQuestion], Counter[str]]:
    """Corrected labels take the place of those of the same text, which keeps its split; others are trained on."""
    rows = {one.text: one for one in present}
    counts: Counter[str] = Counter()
    for one in corrected:
        before = rows.get(one.text)
        labels = {"intent": one.intent, "slots": one.slots}
        if before is None:
            # Of the queue only the labels are kept.
            rows[one.text] = LabelledQuestion(text=one.text, intent=one.intent, slots=one.slots)
            counts["added"] += 1
        elif (before.intent, before.slots) == (one.intent, one.slots):
            counts["same"] += 1
        else:
            rows[one.text] = before.model_copy(update=labels)
            counts["changed"] += 1
    return list(rows.values()), counts
