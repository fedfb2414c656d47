"""A real, tiny run: intents and slots are learnt, and what is saved is what was trained."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer

from finetune.recipe import load_recipe
from finetune.router import RouterRun, split_questions
from finetune.router_labels import IGNORED, QuestionEncoder, labels_of
from finetune.router_recipe import RouterRecipe
from finetune.run import QuietProgress, Snapshot, Task
from finetune.synthesis.questions import LabelledQuestion
from orchestrator.errors import ConfigurationError
from tests.finetune.conftest import FILLER, LAY


def recipe(**changes: object) -> RouterRecipe:
    small: dict[str, object] = {
        "frozen_layers": 1,
        "epochs": 14,
        "batch_size": 8,
        "learning_rate": 5e-3,
        "head_learning_rate": 2e-2,
        "lora": {"rank": 4, "alpha": 8},
        "max_tokens": 32,
    }
    return load_recipe("router", RouterRecipe, **{**small, **changes})


def question(text: str, intent: str, *slots: tuple[str, str], split: str = "train") -> LabelledQuestion:
    tree = [{"type": slot_type, "text": part, "value": part} for slot_type, part in slots]
    return LabelledQuestion.model_validate({"text": text, "intent": intent, "slots": tree, "split": split})


@pytest.fixture(scope="module")
def questions() -> list[LabelledQuestion]:
    """What is asked about is the slot; whether 怎么办 stands there is the intent."""
    made = []
    for number in range(64):
        word, fill = LAY[number % len(LAY)], FILLER[number % 20 : number % 20 + 3]
        split = "test" if number % 8 == 5 else "validation" if number % 8 == 3 else "train"
        made.append(question(f"{fill}{word}怎么办", "how", ("matter", word), split=split))
        made.append(question(f"{word}{fill}", "what", ("matter", word), split=split))
    return made


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


def begun(
    chosen: RouterRecipe,
    checkpoint: Path,
    questions: list[LabelledQuestion],
    work: Path,
    progress: QuietProgress | None = None,
) -> RouterRun:
    return RouterRun(
        chosen, checkpoint, "query: ", questions, snapshot=Snapshot(work), progress=progress or QuietProgress()
    )


def test_a_run_learns_and_saves(tiny_checkpoint: Path, questions: list[LabelledQuestion], tmp_path: Path) -> None:
    run = begun(recipe(), tiny_checkpoint, questions, tmp_path / "work")
    trained = run.train()
    assert len(trained.validation) == 14
    assert trained.test["intent_accuracy"] > 0.9
    assert trained.test["slot_f1"] > 0.6
    run.save(tmp_path / "adapter")
    heads = load_file(tmp_path / "adapter" / "heads.safetensors")
    assert {name: tuple(tensor.shape) for name, tensor in heads.items()} == {
        "intent.weight": (2, 32),
        "intent.bias": (2,),
        "slots.weight": (3, 32),
        "slots.bias": (3,),
    }
    assert json.loads((tmp_path / "adapter" / "labels.json").read_text("utf-8")) == {
        "intents": ["how", "what"],
        "slots": ["O", "B-matter", "I-matter"],
    }
    assert (tmp_path / "adapter" / "adapter_model.safetensors").stat().st_size < 100_000


def test_a_run_is_repeatable(tiny_checkpoint: Path, questions: list[LabelledQuestion], tmp_path: Path) -> None:
    short = recipe(epochs=1)
    torch.manual_seed(99)
    first = begun(short, tiny_checkpoint, questions, tmp_path / "one").train()
    torch.manual_seed(1)
    assert begun(short, tiny_checkpoint, questions, tmp_path / "two").train() == first


def test_an_interrupted_run_ends_where_an_undisturbed_one_does(
    tiny_checkpoint: Path, questions: list[LabelledQuestion], tmp_path: Path
) -> None:
    chosen = recipe(epochs=3)
    whole = begun(chosen, tiny_checkpoint, questions, tmp_path / "whole").train()
    with pytest.raises(KeyboardInterrupt):
        begun(chosen, tiny_checkpoint, questions, tmp_path / "cut", StoppingProgress()).train()
    resumed = begun(chosen, tiny_checkpoint, questions, tmp_path / "cut").train()
    assert len(resumed.validation) == 3
    assert resumed == whole


def test_tokens_get_the_labels_of_their_characters(tiny_checkpoint: Path) -> None:
    asked = question("之看病一", "what", ("matter", "看病"))
    labels = labels_of([asked, question("怎么办", "how")])
    tokenizer = Tokenizer.from_file(str(tiny_checkpoint / "tokenizer.json"))
    found = QuestionEncoder(tokenizer, "query: ", labels, 32).encode(asked)
    assert len(found.ids) == len(found.slots) == 2 + len("query: 之看病一")
    kept = [labels.slots[tag] for tag in found.slots if tag != IGNORED]
    assert kept == ["O", "B-matter", "I-matter", "O"]
    cut = QuestionEncoder(tokenizer, "query: ", labels, 10).encode(asked)
    assert len(cut.ids) == 10


def test_data_without_test_questions_is_split() -> None:
    asked = [question(f"问题{number}", "what" if number % 2 else "how") for number in range(60)]
    train, validation, test = split_questions(asked, recipe(held_out=0.25))
    assert not validation
    assert len(train) + len(test) == 60
    assert 5 < len(test) < 30
    assert not {one.text for one in train} & {one.text for one in test}


def test_an_intent_that_is_only_tested_is_an_error() -> None:
    asked = [question("一", "how"), question("二", "what"), question("三", "why", split="test")]
    with pytest.raises(ConfigurationError, match="why"):
        split_questions(asked, recipe())
    with pytest.raises(ConfigurationError, match="a second one"):
        split_questions([question("一", "how"), question("二", "how", split="test")], recipe())
