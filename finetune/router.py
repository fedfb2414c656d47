"""Fine-tunes the router: intent and slots on the embedder's base, adapters on the upper layers, two linear heads."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from tokenizers import Tokenizer
from torch.nn.functional import cross_entropy, dropout
from torch.nn.utils.rnn import pad_sequence

from export.checkpoint import load_checkpoint
from finetune.adapter import save_adapter, with_lora
from finetune.draw import draw
from finetune.layers import LowerLayers, grouped_by_length, mean_pool, upper_layers
from finetune.router_labels import IGNORED, EncodedQuestion, Labels, QuestionEncoder, labels_of
from finetune.router_recipe import RouterRecipe
from finetune.run import Progress, Snapshot
from finetune.schedule import warm_then_cosine
from finetune.synthesis.questions import LabelledQuestion
from orchestrator.errors import ConfigurationError

if TYPE_CHECKING:
    from peft import PeftModel

__all__ = ["RouterRun", "TrainedRouter", "split_questions"]

EVALUATED_TOGETHER = 64
# Of the heads' weights at the start; small, so that the first steps are the data's and not the draw's.
HEAD_SCALE = 0.02


@dataclass(frozen=True, slots=True)
class TrainedRouter:
    """What a run measured: ``validation`` after each epoch, ``test`` at the end.

    Both are ``intent_accuracy`` and ``slot_f1``: the share of right intents, and F1 over slots, of which type and both
    ends (in tokens) must be right.
    """

    validation: tuple[dict[str, float], ...]
    test: dict[str, float]


def split_questions(
    questions: Sequence[LabelledQuestion], recipe: RouterRecipe
) -> tuple[list[LabelledQuestion], list[LabelledQuestion], list[LabelledQuestion]]:
    """Those to train on, to watch, and to measure on at the end.

    Where the data names no test questions, the recipe's ``held_out`` share is drawn, by text.

    Raises:
        ConfigurationError: there is nothing to train on, or an intent stands only in the held-out questions.
    """
    by_split: dict[str, list[LabelledQuestion]] = {"train": [], "validation": [], "test": []}
    for question in questions:
        by_split[question.split].append(question)
    train, validation, test = by_split["train"], by_split["validation"], by_split["test"]
    if not test:
        held = {question.text for question in train if draw(recipe.seed, question.text) < recipe.held_out}
        test = [question for question in train if question.text in held]
        train = [question for question in train if question.text not in held]
    trained = {question.intent for question in train}
    missing = sorted({question.intent for question in (*validation, *test)} - trained)
    if len(trained) < 2 or missing:
        raise ConfigurationError(
            f"The training questions hold {len(trained)} intents; none is {', '.join(missing) or 'a second one'}.",
            hint="Add questions for each intent: trias data synthesise.",
        )
    return train, validation, test


class RouterRun:
    """One run.

    Args:
        recipe: every number.
        checkpoint: the base, a Hugging Face folder with ``tokenizer.json``.
        prefix: of a question, from the model's spec.
        questions: with their splits.
        snapshot: what an interrupted run of the same recipe and data has left, and where this one leaves its own.
        progress: shows steps, epochs and losses.

    Raises:
        ConfigurationError: see `split_questions`.
    """

    def __init__(
        self,
        recipe: RouterRecipe,
        checkpoint: Path,
        prefix: str,
        questions: Sequence[LabelledQuestion],
        *,
        snapshot: Snapshot,
        progress: Progress,
    ) -> None:
        torch.manual_seed(recipe.seed)
        self._recipe = recipe
        self._snapshot = snapshot
        self._progress = progress
        self.labels: Labels = labels_of(questions)
        self._train, self._validation, self._test = split_questions(questions, recipe)
        tokenizer = Tokenizer.from_file(str(checkpoint / "tokenizer.json"))
        self._encoder_of = QuestionEncoder(tokenizer, prefix, self.labels, recipe.max_tokens)
        base = load_checkpoint(checkpoint)
        self._lower = LowerLayers(base, recipe.frozen_layers)
        self._model: PeftModel = with_lora(base, recipe)
        self._encoder: Any = self._model.get_base_model()
        hidden = base.config.hidden_size
        self._heads = torch.nn.ModuleDict(
            {
                "intent": torch.nn.Linear(hidden, len(self.labels.intents)),
                "slots": torch.nn.Linear(hidden, len(self.labels.slots)),
            }
        )
        for head in self._heads.values():
            torch.nn.init.normal_(head.weight, std=HEAD_SCALE)  # type: ignore[arg-type]
            torch.nn.init.zeros_(head.bias)  # type: ignore[arg-type]

    def train(self) -> TrainedRouter:
        """Train, watch, measure."""
        recipe = self._recipe
        train = self._encoded(self._train, "Run the frozen layers")
        validation = self._encoded(self._validation, "Run the frozen layers on validation questions")
        test = self._encoded(self._test, "Run the frozen layers on test questions")
        steps = recipe.epochs * math.ceil(len(train) / recipe.batch_size)
        adapters = [weight for weight in self._model.parameters() if weight.requires_grad]
        optimizer = torch.optim.AdamW(
            [
                {"params": adapters, "lr": recipe.learning_rate},
                {"params": list(self._heads.parameters()), "lr": recipe.head_learning_rate},
            ],
            weight_decay=recipe.weight_decay,
        )
        schedule = warm_then_cosine(optimizer, recipe, steps)
        measured = _Measured()
        parts = {
            "model": self._model,
            "heads": self._heads,
            "optimizer": optimizer,
            "schedule": schedule,
            "measured": measured,
        }
        for epoch in range(self._snapshot.restore(0, parts), recipe.epochs):
            rng = random.Random(f"{recipe.seed}:{epoch}")  # noqa: S311 (no secrets here)
            torch.manual_seed(recipe.seed + epoch)
            with self._progress.task(f"Epoch {epoch + 1} of {recipe.epochs}", len(train)) as task:
                for batch in _batches(train, recipe.batch_size, rng):
                    loss = self._step(batch)
                    torch.nn.utils.clip_grad_norm_([*adapters, *self._heads.parameters()], recipe.gradient_norm)
                    optimizer.step()
                    schedule.step()
                    optimizer.zero_grad()
                    task.advance(len(batch), loss)
            if validation:
                measured.rows.append(self._measure(validation))
            self._snapshot.keep(0, epoch + 1, parts)
        return TrainedRouter(tuple(measured.rows), self._measure(test))

    def save(self, folder: Path) -> None:
        """Write the adapter with its heads and labels."""
        heads = {
            f"{name}.{part}": tensor for name, head in self._heads.items() for part, tensor in head.state_dict().items()
        }
        save_adapter(
            folder, self._model, heads=heads, labels={"intents": self.labels.intents, "slots": self.labels.slots}
        )

    def _encoded(self, questions: Sequence[LabelledQuestion], title: str) -> list[EncodedQuestion]:
        rows = [self._encoder_of.encode(question) for question in questions]
        with self._progress.task(title, len(rows)) as task:
            for group in grouped_by_length([len(row.ids) for row in rows], EVALUATED_TOGETHER):
                self._lower.states([rows[place].ids for place in group])
                task.advance(len(group))
        return rows

    def _logits(self, batch: Sequence[EncodedQuestion]) -> tuple[torch.Tensor, torch.Tensor]:
        states, mask = upper_layers(
            self._encoder, self._recipe.frozen_layers, self._lower.states([row.ids for row in batch])
        )
        states = dropout(states, self._recipe.head_dropout, training=self._model.training)
        return self._heads["intent"](mean_pool(states, mask)), self._heads["slots"](states)

    def _step(self, batch: Sequence[EncodedQuestion]) -> float:
        self._model.train()
        intent, slots = self._logits(batch)
        wanted = torch.tensor([row.intent for row in batch])
        tags = pad_sequence([torch.tensor(row.slots) for row in batch], batch_first=True, padding_value=IGNORED)
        loss = cross_entropy(intent, wanted, label_smoothing=self._recipe.label_smoothing)
        loss = loss + self._recipe.slot_weight * cross_entropy(slots.flatten(0, 1), tags.flatten())
        loss.backward()  # type: ignore[no-untyped-call]
        return float(loss.detach())

    @torch.no_grad()
    def _measure(self, rows: Sequence[EncodedQuestion]) -> dict[str, float]:
        self._model.eval()
        right = hits = guessed = wanted = 0
        for group in grouped_by_length([len(row.ids) for row in rows], EVALUATED_TOGETHER):
            batch = [rows[place] for place in group]
            intent, slots = self._logits(batch)
            right += int((intent.argmax(-1) == torch.tensor([row.intent for row in batch])).sum())
            for row, tags in zip(batch, slots.argmax(-1).tolist(), strict=True):
                kept = [tag for tag, gold in zip(tags, row.slots, strict=False) if gold != IGNORED]
                gold = [tag for tag in row.slots if tag != IGNORED]
                found, true = _spans(kept, self.labels.slots), _spans(gold, self.labels.slots)
                hits, guessed, wanted = hits + len(found & true), guessed + len(found), wanted + len(true)
        return {
            "intent_accuracy": round(right / max(len(rows), 1), 4),
            "slot_f1": round(2 * hits / (guessed + wanted), 4) if guessed + wanted else 1.0,
        }


class _Measured:
    """What was measured after each epoch, in a shape that snapshots keep."""

    def __init__(self) -> None:
        self.rows: list[dict[str, float]] = []

    def state_dict(self) -> dict[str, list[dict[str, float]]]:
        return {"rows": self.rows}

    def load_state_dict(self, state: Mapping[str, list[dict[str, float]]]) -> None:
        self.rows = list(state["rows"])


def _batches(rows: Sequence[EncodedQuestion], size: int, rng: random.Random) -> list[list[EncodedQuestion]]:
    """Shuffled batches of rows of like length."""
    order = list(rows)
    rng.shuffle(order)
    # Sorting within a few batches' worth keeps the order random and the padding small.
    window = 8 * size
    batches: list[list[EncodedQuestion]] = []
    for start in range(0, len(order), window):
        part = sorted(order[start : start + window], key=lambda row: len(row.ids))
        batches.extend(part[place : place + size] for place in range(0, len(part), size))
    rng.shuffle(batches)
    return batches


def _spans(tags: Sequence[int], names: Sequence[str]) -> set[tuple[str, int, int]]:
    """The slots that tags mark: type, first token, last token + 1; an I- without its B- begins a slot."""
    spans: list[tuple[str, int, int]] = []
    before = ""
    for place, tag in enumerate(tags):
        kind = names[tag][2:]
        if kind and names[tag].startswith("I-") and before == kind:
            spans[-1] = (kind, spans[-1][1], place + 1)
        elif kind:
            spans.append((kind, place, place + 1))
        before = kind
    return set(spans)
