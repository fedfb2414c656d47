"""A cross-encoder trained on a tiny real encoder: it learns, it can be stopped, and its adapter is what was trained."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer

from export.adapter import merge_adapter
from export.checkpoint import load_checkpoint
from export.heads import PairScorer
from export.spec import EmbedderSpec, RerankerSpec, load_spec
from finetune.card import read_card
from finetune.jobs import Job, finetune_reranker
from finetune.labelled import LabelledSet, read_labelled_set, split
from finetune.recipe import RerankerRecipe, load_recipe
from finetune.reranker import RerankerRun, TrainedReranker
from finetune.run import QuietProgress, Snapshot, Task

PREFIXES = {"query": "", "passage": ""}
MINING = {"query": "query: ", "passage": "passage: "}
SMALL = {
    "batch_size": 16,
    "frozen_layers": 0,
    "learning_rate": 0.004,
    "head_learning_rate": 0.02,
    "answer_share": 0.0,
    "mining_depth": 40,
    "reranked": 40,
    "candidates": 6,
    "max_tokens": 48,
    "lora": {"rank": 16, "alpha": 64, "dropout": 0.0},
}


class StoppingProgress(QuietProgress):
    """Ctrl-C in the middle of the second epoch."""

    def __init__(self) -> None:
        self._epochs = 0

    @contextlib.contextmanager
    def task(self, title: str, total: int) -> Iterator[Task]:
        self._epochs += "Epoch" in title
        yield self

    def advance(self, rows: int, loss: float | None = None) -> None:
        if self._epochs == 2 and loss is not None:
            raise KeyboardInterrupt


def recipe(**changes: object) -> RerankerRecipe:
    return load_recipe("reranker", RerankerRecipe, **{**SMALL, "epochs": 2, **changes})


def begun(checkpoint: Path, chosen: RerankerRecipe, work: Path, progress: QuietProgress | None = None) -> RerankerRun:
    return RerankerRun(
        chosen, checkpoint, PREFIXES, MINING, (), snapshot=Snapshot(work), progress=progress or QuietProgress()
    )


@pytest.fixture(scope="module")
def data(labelled_folder: Path) -> LabelledSet:
    return read_labelled_set(labelled_folder, licence="ours")


@pytest.fixture(scope="module")
def run_once(
    tiny_checkpoint: Path, data: LabelledSet, tmp_path_factory: pytest.TempPathFactory
) -> tuple[RerankerRun, TrainedReranker]:
    chosen = recipe(epochs=60)
    run = begun(tiny_checkpoint, chosen, tmp_path_factory.mktemp("work"))
    return run, run.train(data, *split(data.questions, chosen.held_out, chosen.seed))


def test_training_puts_the_right_passage_first_more_often(run_once: tuple[RerankerRun, TrainedReranker]) -> None:
    _, measured = run_once
    assert measured.after["MRR@10"] > measured.before["MRR@10"] + 0.3
    # A new order finds nothing new.
    assert measured.after["R@100"] == measured.before["R@100"]


def test_the_adapter_merged_by_the_exporter_gives_the_trained_scores(
    run_once: tuple[RerankerRun, TrainedReranker], tiny_checkpoint: Path, data: LabelledSet, tmp_path: Path
) -> None:
    run, _ = run_once
    run.save(tmp_path / "adapter")
    heads = load_file(tmp_path / "adapter" / "heads.safetensors")
    merged = merge_adapter(load_checkpoint(tiny_checkpoint), tmp_path / "adapter")
    scorer = PairScorer(merged, {name: tensor.float() for name, tensor in heads.items()})
    tokenizer = Tokenizer.from_file(str(tiny_checkpoint / "tokenizer.json"))
    pairs = [(one.text, passage) for one in data.questions[:3] for passage in data.passages[:4]]
    with torch.no_grad():
        rows = [torch.tensor([tokenizer.encode(*pair).ids]) for pair in pairs]
        exported = [float(scorer(row, torch.ones_like(row))) for row in rows]
        wanted = run.scores(pairs).tolist()
    assert np.allclose(exported, wanted, atol=0.05)  # the adapter is kept in half precision
    assert np.std(wanted) > 0.2


def test_an_interrupted_run_goes_on_and_ends_where_an_undisturbed_one_does(
    tiny_checkpoint: Path, data: LabelledSet, tmp_path: Path
) -> None:
    chosen = recipe(held_out=0.0)
    whole = begun(tiny_checkpoint, chosen, tmp_path / "whole")
    whole.train(data, data.questions, [])
    with pytest.raises(KeyboardInterrupt):
        begun(tiny_checkpoint, chosen, tmp_path / "cut", StoppingProgress()).train(data, data.questions, [])
    resumed = begun(tiny_checkpoint, chosen, tmp_path / "cut")
    resumed.train(data, data.questions, [])
    whole.save(tmp_path / "one")
    resumed.save(tmp_path / "other")
    for name in ("adapter_model.safetensors", "heads.safetensors"):
        one, other = load_file(tmp_path / "one" / name), load_file(tmp_path / "other" / name)
        assert all(torch.allclose(one[key].float(), other[key].float(), atol=1e-3) for key in one), name


def test_a_job_leaves_an_adapter_with_its_card(tiny_checkpoint: Path, labelled_folder: Path, tmp_path: Path) -> None:
    spec, miner = load_spec("reranker"), load_spec("embedder")
    assert isinstance(spec, RerankerSpec)
    assert isinstance(miner, EmbedderSpec)
    job = Job(tiny_checkpoint, labelled_folder, "ours", tmp_path / "adapter", tmp_path / "work", "trias finetune …")
    finetune_reranker(job, recipe(epochs=1), spec, miner.model_copy(update={"full_precision": ()}), QuietProgress())
    card = read_card(tmp_path / "adapter")
    assert card.model == "reranker"
    assert card.before.keys() == card.after.keys()
    assert {"adapter_model.safetensors", "heads.safetensors"} <= {
        path.name for path in (tmp_path / "adapter").iterdir()
    }
