"""`trias finetune …`: labelled data becomes a small adapter with a run card."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import Progress, TextColumn
from rich.table import Table

from export.spec import EmbedderSpec, RerankerSpec, RouterSpec, load_spec
from orchestrator.commands.bars import counting_bars
from orchestrator.commands.extras import TRAINERS, extra_needed
from orchestrator.errors import ConfigurationError
from orchestrator.settings import Settings

if TYPE_CHECKING:
    from finetune.card import RunCard
    from finetune.jobs import Job
    from finetune.run import Task

__all__ = ["app"]

app = typer.Typer(
    help="Train a model's adapter on labelled data. What it makes, `trias publish` takes live.", no_args_is_help=True
)

OutOption = Annotated[Path, typer.Option("--out", help="The adapter folder to write: adapters/NAME")]
RecipeOption = Annotated[
    Path | None, typer.Option("--recipe", help="A recipe of your own (YAML); default: the one for two CPU cores")
]
LicenceOption = Annotated[str, typer.Option("--licence", help="Of the data, for the run card")]
EpochsOption = Annotated[int | None, typer.Option(min=1, help="In place of the recipe's")]
SeedOption = Annotated[int | None, typer.Option(min=0, help="In place of the recipe's")]
HeldOption = Annotated[
    float | None, typer.Option("--held-out", min=0, max=0.9, help="Share of the questions that is only measured on")
]


@app.command()
def embedder(
    context: typer.Context,
    data: Annotated[Path, typer.Option("--data", help="Folder with corpus.jsonl[.gz], queries.jsonl, qrels.tsv")],
    out: OutOption,
    recipe: RecipeOption = None,
    epochs: EpochsOption = None,
    seed: SeedOption = None,
    held_out: HeldOption = None,
    licence: LicenceOption = "not stated",
) -> None:
    """Contrastive training on questions and the clauses that answer them, with mined hard negatives.

    Ctrl-C loses nothing but the epoch under way: the same command goes on after the last whole one.
    """
    with extra_needed(TRAINERS):
        from finetune.jobs import finetune_embedder  # noqa: PLC0415 (torch takes seconds to import)
        from finetune.recipe import EmbedderRecipe, load_recipe  # noqa: PLC0415

        spec = load_spec("embedder")
        assert isinstance(spec, EmbedderSpec)
        chosen = load_recipe("embedder", EmbedderRecipe, file=recipe, epochs=epochs, seed=seed, held_out=held_out)
        job = _job(context.obj, spec.checkpoint, data, out, licence)
        _train(job, lambda bars: finetune_embedder(job, chosen, spec, bars))


@app.command()
def reranker(
    context: typer.Context,
    data: Annotated[Path, typer.Option("--data", help="Folder with corpus.jsonl[.gz], queries.jsonl, qrels.tsv")],
    out: OutOption,
    recipe: RecipeOption = None,
    epochs: EpochsOption = None,
    seed: SeedOption = None,
    held_out: HeldOption = None,
    licence: LicenceOption = "not stated",
) -> None:
    """A question and a clause read together: the clause that answers it above those that only look like it.

    Ctrl-C loses nothing but the epoch under way: the same command goes on after the last whole one.
    """
    with extra_needed(TRAINERS):
        from finetune.jobs import finetune_reranker  # noqa: PLC0415 (torch takes seconds to import)
        from finetune.recipe import RerankerRecipe, load_recipe  # noqa: PLC0415

        spec, miner = load_spec("reranker"), load_spec("embedder")
        assert isinstance(spec, RerankerSpec) and isinstance(miner, EmbedderSpec)  # noqa: PT018 (no test)
        chosen = load_recipe("reranker", RerankerRecipe, file=recipe, epochs=epochs, seed=seed, held_out=held_out)
        job = _job(context.obj, spec.checkpoint, data, out, licence)
        _train(job, lambda bars: finetune_reranker(job, chosen, spec, miner, bars))


@app.command()
def router(
    context: typer.Context,
    data: Annotated[Path, typer.Option("--data", help="Labelled questions, JSON lines: trias data synthesise")],
    out: OutOption,
    recipe: RecipeOption = None,
    epochs: EpochsOption = None,
    seed: SeedOption = None,
    held_out: HeldOption = None,
    licence: LicenceOption = "not stated",
) -> None:
    """Intent and slots on labelled questions."""
    with extra_needed(TRAINERS):
        from finetune.jobs import finetune_router  # noqa: PLC0415 (torch takes seconds to import)
        from finetune.recipe import load_recipe  # noqa: PLC0415
        from finetune.router_recipe import RouterRecipe  # noqa: PLC0415

        spec = load_spec("router")
        assert isinstance(spec, RouterSpec)
        chosen = load_recipe("router", RouterRecipe, file=recipe, epochs=epochs, seed=seed, held_out=held_out)
        job = _job(context.obj, spec.checkpoint, data, out, licence)
        _train(job, lambda bars: finetune_router(job, chosen, spec, bars))


@app.command()
def reasoner(
    context: typer.Context,
    data: Annotated[Path, typer.Option("--data", help="A domain pack's claims.yaml")],
    out: OutOption,
    recipe: RecipeOption = None,
    epochs: EpochsOption = None,
    seed: SeedOption = None,
    held_out: HeldOption = None,
    licence: LicenceOption = "not stated",
) -> None:
    """Clause to claim, and colloquial question to formal one, on pairs made from a pack's wordings."""
    with extra_needed(TRAINERS):
        from finetune.reasoner import finetune_reasoner  # noqa: PLC0415 (torch takes seconds to import)
        from finetune.reasoner_recipe import ReasonerRecipe  # noqa: PLC0415
        from finetune.recipe import load_recipe  # noqa: PLC0415

        spec = load_spec("reasoner")
        chosen = load_recipe("reasoner", ReasonerRecipe, file=recipe, epochs=epochs, seed=seed, held_out=held_out)
        job = _job(context.obj, spec.checkpoint, data, out, licence)
        _train(job, lambda bars: finetune_reasoner(job, chosen, spec.source.name, bars))


def _job(settings: Settings, checkpoint: str, data: Path, out: Path, licence: str) -> Job:
    from finetune.jobs import Job  # noqa: PLC0415

    if not data.exists():
        raise ConfigurationError(f"--data {data} does not exist.")
    return Job(
        checkpoint=settings.paths.data / "checkpoints" / checkpoint,
        data=data,
        licence=licence,
        out=out,
        work=settings.paths.data / "finetune",
        command=shlex.join(["trias", *sys.argv[1:]]),
    )


class _Bars:
    """Implements `finetune.run.Progress` on the terminal: a bar a part of the run, the loss beside it."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    @contextlib.contextmanager
    def task(self, title: str, total: int) -> Iterator[Task]:
        """See there."""
        bar = self._progress.add_task(title, total=total, loss="")
        yield _Bar(self._progress, bar)
        self._progress.update(bar, completed=total)


class _Bar:
    def __init__(self, progress: Progress, bar: int) -> None:
        self._progress = progress
        self._bar = bar

    def advance(self, rows: int, loss: float | None = None) -> None:
        """See `finetune.run.Task`."""
        shown = {} if loss is None else {"loss": f"loss {loss:.3f}"}
        self._progress.update(self._bar, advance=rows, **shown)  # type: ignore[arg-type]  # fields of a column


def _train(job: Job, run: Callable[[_Bars], RunCard]) -> None:
    """Run with bars on the terminal, then say what came of it."""
    with counting_bars(Console(stderr=True), TextColumn("{task.fields[loss]}")) as progress:
        card = run(_Bars(progress))
    _tell(card, job.out)


def _tell(card: RunCard, out: Path) -> None:
    console = Console()
    table = Table("measured", "before", "after", title=card.held_out, title_justify="left")
    for name in dict.fromkeys([*card.before, *card.after]):
        before, after = card.before.get(name), card.after.get(name)
        table.add_row(name, "–" if before is None else f"{before:.4f}", "–" if after is None else f"{after:.4f}")
    if card.before or card.after:
        console.print(table)
    console.print(f"{card.minutes} minutes, {card.peak_memory_mb} MB at most.", highlight=False)
    console.print(f"Written to {out}. Live with: trias publish {card.model} {out}", highlight=False, soft_wrap=True)
