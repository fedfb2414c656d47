"""Contrastive training on a tiny real encoder: it learns, it can be stopped, and its adapter is what was trained."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from transformers import BertModel

from export.adapter import merge_adapter
from export.checkpoint import load_checkpoint
from export.heads import DenseEncoder
from export.spec import EmbedderSpec, load_spec
from finetune.card import read_card
from finetune.embedder import EmbedderRun, TrainedEmbedder
from finetune.encoding import nearest
from finetune.jobs import Job, finetune_embedder
from finetune.labelled import read_labelled_set, split
from finetune.recipe import EmbedderRecipe, load_recipe
from finetune.run import QuietProgress, Snapshot, Task
from orchestrator.errors import ConfigurationError

PREFIXES = {"query": "query: ", "passage": "passage: "}
SMALL = {
    "batch_size": 8,
    "frozen_layers": 0,
    "learning_rate": 0.01,
    "mining_depth": 12,
    "lora": {"rank": 8, "alpha": 16, "dropout": 0.0},
    "max_passage_tokens": 32,
    "temperature": 0.05,
}


class StoppingProgress(QuietProgress):
    """Ctrl-C in the middle of the second epoch."""

    def __init__(self) -> None:
        self._epochs = 0

    @contextlib.contextmanager
    def task(self, title: str, total: int) -> Iterator[Task]:
        self._epochs += "epoch" in title
        yield self

    def advance(self, rows: int, loss: float | None = None) -> None:
        if self._epochs == 2 and loss is not None:
            raise KeyboardInterrupt


def recipe(**changes: object) -> EmbedderRecipe:
    return load_recipe("embedder", EmbedderRecipe, **{**SMALL, "epochs": 2, "rounds": 2, **changes})


def trained(
    checkpoint: Path,
    folder: Path,
    chosen: EmbedderRecipe,
    work: Path,
    out: Path,
    progress: QuietProgress | None = None,
) -> TrainedEmbedder:
    data = read_labelled_set(folder, licence="ours")
    run = EmbedderRun(chosen, checkpoint, PREFIXES, (), snapshot=Snapshot(work), progress=progress or QuietProgress())
    measured = run.train(data, *split(data.questions, chosen.held_out, chosen.seed))
    run.save(out)
    return measured


@pytest.fixture(scope="module")
def run_once(
    tiny_checkpoint: Path, labelled_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[EmbedderRun, TrainedEmbedder]:
    """A whole run of two rounds; exporting the encoder for each measurement is what takes the time."""
    chosen = recipe(epochs=8, hard_negatives=0, rounds=1)
    data = read_labelled_set(labelled_folder, licence="ours")
    snapshot = Snapshot(tmp_path_factory.mktemp("work"))
    run = EmbedderRun(chosen, tiny_checkpoint, PREFIXES, (), snapshot=snapshot, progress=QuietProgress())
    return run, run.train(data, *split(data.questions, chosen.held_out, chosen.seed))


def test_training_finds_what_the_base_did_not(run_once: tuple[EmbedderRun, TrainedEmbedder]) -> None:
    _, measured = run_once
    assert measured.after["MRR@10"] > measured.before["MRR@10"] + 0.15


def test_the_adapter_merged_by_the_exporter_gives_the_trained_vectors(
    run_once: tuple[EmbedderRun, TrainedEmbedder], tiny_checkpoint: Path, labelled_folder: Path, tmp_path: Path
) -> None:
    run, _ = run_once
    run.save(tmp_path / "adapter")
    merged = merge_adapter(load_checkpoint(tiny_checkpoint), tmp_path / "adapter")
    tokenizer = Tokenizer.from_file(str(tiny_checkpoint / "tokenizer.json"))
    texts = read_labelled_set(labelled_folder, licence="ours").passages[:8]

    def vectors(encoder: BertModel) -> npt.NDArray[np.float32]:
        rows = [torch.tensor([tokenizer.encode(text).ids]) for text in texts]
        with torch.no_grad():
            return np.concatenate([DenseEncoder(encoder)(row, torch.ones_like(row)).numpy() for row in rows])

    wanted = vectors(run._merged())
    assert np.allclose(vectors(merged), wanted, atol=0.02)  # the adapter is kept in half precision
    assert not np.allclose(vectors(load_checkpoint(tiny_checkpoint)), wanted, atol=0.05)


def test_an_interrupted_run_goes_on_and_ends_where_an_undisturbed_one_does(
    tiny_checkpoint: Path, labelled_folder: Path, tmp_path: Path
) -> None:
    chosen = recipe(rounds=1, held_out=0.0)
    trained(tiny_checkpoint, labelled_folder, chosen, tmp_path / "whole", tmp_path / "one")
    (tmp_path / "cut").mkdir()
    shutil.copy(tmp_path / "whole" / "mined-0.json", tmp_path / "cut")
    with pytest.raises(KeyboardInterrupt):
        trained(tiny_checkpoint, labelled_folder, chosen, tmp_path / "cut", tmp_path / "no", StoppingProgress())
    assert not (tmp_path / "no").exists()
    trained(tiny_checkpoint, labelled_folder, chosen, tmp_path / "cut", tmp_path / "two")
    one, two = (load_file(tmp_path / name / "adapter_model.safetensors") for name in ("one", "two"))
    assert all(torch.equal(one[name], two[name]) for name in one)


def test_the_job_writes_an_adapter_folder_with_its_card(
    tiny_checkpoint: Path, labelled_folder: Path, tmp_path: Path
) -> None:
    spec = load_spec("embedder")
    assert isinstance(spec, EmbedderSpec)
    spec = spec.model_copy(update={"full_precision": ()})
    job = Job(tiny_checkpoint, labelled_folder, "ours", tmp_path / "adapters" / "mine", tmp_path / "work", "trias …")
    card = finetune_embedder(job, recipe(rounds=1, epochs=1, held_out=0.0), spec, QuietProgress())
    names = {path.name for path in job.out.iterdir()}
    assert names == {"adapter_config.json", "adapter_model.safetensors", "card.yaml"}
    assert read_card(job.out) == card
    assert card.recipe["epochs"] == 1
    assert card.data[0].rows == 64
    assert str(tiny_checkpoint) not in (job.out / "adapter_config.json").read_text()
    assert json.loads((job.out / "adapter_config.json").read_text())["base_model_name_or_path"] == ""
    assert not list(job.out.parent.glob(".unfinished-*"))


def test_a_target_that_is_no_adapter_is_refused_before_training(
    tiny_checkpoint: Path, labelled_folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "thesis.docx").write_text("years of work")
    job = Job(tiny_checkpoint, labelled_folder, "ours", tmp_path, tmp_path / "work", "trias …")
    with pytest.raises(ConfigurationError, match=r"holds \['thesis.docx'\]"):
        job.check_out()


def test_a_missing_base_says_how_to_get_it(labelled_folder: Path, tmp_path: Path) -> None:
    job = Job(tmp_path / "nothing", labelled_folder, "ours", tmp_path / "out", tmp_path / "work", "trias …")
    with pytest.raises(ConfigurationError, match="trias models build"):
        job.base_sha256()


def test_nearest_is_exact_search() -> None:
    rng = np.random.default_rng(1)
    queries, passages = rng.normal(size=(300, 6)).astype(np.float32), rng.normal(size=(50, 6)).astype(np.float32)
    wanted = np.argsort(-(queries @ passages.T), axis=1, kind="stable")[:, :7]
    assert np.array_equal(nearest(queries, passages, 7), wanted)
    assert nearest(queries, passages, 500).shape == (300, 50)
