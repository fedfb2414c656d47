"""Fine-tunes the reasoner: a causal language model learns to complete short forms (clause → claim)."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from tokenizers import Tokenizer
from torch.nn.functional import cross_entropy

from export.shortening import shorten_model, shorten_tokenizer
from finetune.adapter import save_adapter
from finetune.card import RunCard, Stopwatch
from finetune.draw import draw
from finetune.jobs import Job
from finetune.reasoner_data import Pair, read_wordings, synthesise_pairs
from finetune.reasoner_recipe import ReasonerRecipe
from finetune.run import Progress, Snapshot
from finetune.schedule import warm_then_cosine
from orchestrator.errors import ConfigurationError

if TYPE_CHECKING:
    from peft import PeftModel

__all__ = ["ReasonerRun", "TrainedReasoner", "finetune_reasoner", "split_pairs"]

# Every linear layer of a Gemma block.
TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
BOS, EOS, PAD = "<bos>", "<eos>", "<pad>"
# Not part of the loss: prompts and padding (torch's own convention).
IGNORED = -100
EVALUATED_TOGETHER = 16
NOTICE = "NOTICE"
TERMS = (
    "Gemma is provided under and subject to the Gemma Terms of Use found at ai.google.dev/gemma/terms.\n"
    "This adapter is a Model Derivative of Gemma 3 270M: low-rank changes to its weights, made by fine-tuning.\n"
)


@dataclass(frozen=True, slots=True)
class TrainedReasoner:
    """What a run measured on wordings that it never saw, before and after.

    Both are ``loss`` (cross-entropy of an answer's tokens, nats) and ``tokens_right`` (share of the answers' tokens
    that are the model's first choice, given those before).
    """

    before: dict[str, float]
    after: dict[str, float]


@dataclass(frozen=True, slots=True)
class _Row:
    ids: list[int]
    prompt: int


def split_pairs(pairs: Sequence[Pair], share: float, seed: int) -> tuple[list[Pair], list[Pair]]:
    """Those to train on and those held out, by wording."""
    train: list[Pair] = []
    held: list[Pair] = []
    for pair in pairs:
        (held if draw(seed, pair.wording) < share else train).append(pair)
    return train, held


class ReasonerRun:
    """One run.

    The word table is shortened for training as it is for serving on CPU: that changes no logit of a word that is kept
    and makes a step more than twice as fast. The adapter touches the blocks alone, so it fits the whole model too.

    Args:
        recipe: every number.
        checkpoint: the base, a Hugging Face folder with ``tokenizer.json``.
        snapshot: what an interrupted run of the same recipe and data has left, and where this one leaves its own.
        progress: shows epochs and losses.
    """

    def __init__(self, recipe: ReasonerRecipe, checkpoint: Path, *, snapshot: Snapshot, progress: Progress) -> None:
        from peft import LoraConfig, get_peft_model  # noqa: PLC0415 (seconds to import)
        from transformers import Gemma3ForCausalLM  # noqa: PLC0415

        torch.manual_seed(recipe.seed)
        self._recipe = recipe
        self._snapshot = snapshot
        self._progress = progress
        short = shorten_tokenizer(checkpoint / "tokenizer.json")
        self._tokenizer = Tokenizer.from_str(json.dumps(short.tokenizer, ensure_ascii=False))
        base = Gemma3ForCausalLM.from_pretrained(checkpoint, dtype=torch.float32)
        base = shorten_model(base, short.kept)
        # peft would look there for the size of the word table, and save the whole table because it differs.
        base.config._name_or_path = ""
        lora = recipe.lora
        config = LoraConfig(
            task_type="CAUSAL_LM",
            r=lora.rank,
            lora_alpha=lora.alpha,
            lora_dropout=lora.dropout,
            target_modules=list(TARGETS),
            layers_to_transform=list(range(recipe.frozen_layers, base.config.num_hidden_layers)),
        )
        self._model: PeftModel = get_peft_model(base, config)

    def train(self, train: Sequence[Pair], held: Sequence[Pair]) -> TrainedReasoner:
        """Train on ``train``; ``held`` is only measured on.

        Raises:
            ConfigurationError: no pair is short enough to train on.
        """
        rows, kept = self._rows(train), self._rows(held)
        if not rows:
            raise ConfigurationError(f"No pair has at most {self._recipe.max_tokens} tokens.", hint="See max_tokens.")
        before = self._measured(kept)
        self._fit(rows)
        return TrainedReasoner(before, self._measured(kept))

    def save(self, folder: Path) -> None:
        """Write the adapter, with the notice that the base's terms ask for."""
        save_adapter(folder, self._model)
        (folder / NOTICE).write_text(TERMS, encoding="utf-8")

    def _fit(self, rows: list[_Row]) -> None:
        recipe = self._recipe
        steps = recipe.epochs * math.ceil(len(rows) / recipe.batch_size)
        weights = [weight for weight in self._model.parameters() if weight.requires_grad]
        optimizer = torch.optim.AdamW(weights, lr=recipe.learning_rate, weight_decay=recipe.weight_decay)
        schedule = warm_then_cosine(optimizer, recipe, steps)
        parts = {"model": self._model, "optimizer": optimizer, "schedule": schedule}
        for epoch in range(self._snapshot.restore(0, parts), recipe.epochs):
            chance = random.Random(f"{recipe.seed}:{epoch}")  # noqa: S311 (an order of training, no secret)
            torch.manual_seed(recipe.seed + epoch)
            self._model.train()
            with self._progress.task(f"Epoch {epoch + 1} of {recipe.epochs}", len(rows)) as bar:
                for batch in _batches(rows, recipe.batch_size, chance):
                    logits, wanted = self._forward(batch)
                    loss = cross_entropy(logits, wanted, ignore_index=IGNORED)
                    loss.backward()  # type: ignore[no-untyped-call]
                    torch.nn.utils.clip_grad_norm_(weights, recipe.gradient_norm)
                    optimizer.step()
                    schedule.step()
                    optimizer.zero_grad()
                    bar.advance(len(batch), loss.item())
            self._snapshot.keep(0, epoch + 1, parts)
        self._model.eval()

    def _measured(self, rows: list[_Row]) -> dict[str, float]:
        if not rows:
            return {}
        self._model.eval()
        loss, right, count = 0.0, 0, 0
        with torch.inference_mode():
            for start in range(0, len(rows), EVALUATED_TOGETHER):
                logits, wanted = self._forward(rows[start : start + EVALUATED_TOGETHER])
                mask = wanted != IGNORED
                loss += cross_entropy(logits, wanted, ignore_index=IGNORED, reduction="sum").item()
                right += int((logits.argmax(-1) == wanted)[mask].sum())
                count += int(mask.sum())
        return {"loss": round(loss / count, 4), "tokens_right": round(right / count, 4)}

    def _forward(self, batch: Sequence[_Row]) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits [n, words] of the places whose next token is part of an answer, and those tokens [n]."""
        length = max(len(row.ids) for row in batch)
        pad: int = self._tokenizer.token_to_id(PAD)
        ids = torch.full((len(batch), length), pad)
        mask = torch.zeros((len(batch), length), dtype=torch.long)
        wanted = torch.full((len(batch), length), IGNORED)
        for place, row in enumerate(batch):
            ids[place, : len(row.ids)] = torch.tensor(row.ids)
            mask[place, : len(row.ids)] = 1
            # Position i answers for token i + 1.
            wanted[place, row.prompt - 1 : len(row.ids) - 1] = torch.tensor(row.ids[row.prompt :])
        model: Any = self._model.get_base_model()
        hidden = model.model(input_ids=ids, attention_mask=mask, use_cache=False).last_hidden_state
        answered = wanted != IGNORED
        return model.lm_head(hidden[answered]), wanted[answered]

    def _rows(self, pairs: Sequence[Pair]) -> list[_Row]:
        bos, eos = self._tokenizer.token_to_id(BOS), self._tokenizer.token_to_id(EOS)
        rows = []
        for pair in pairs:
            prompt = [bos, *self._tokenizer.encode(pair.prompt, add_special_tokens=False).ids]
            answer = [*self._tokenizer.encode(pair.answer, add_special_tokens=False).ids, eos]
            if len(prompt) + len(answer) <= self._recipe.max_tokens:
                rows.append(_Row(prompt + answer, len(prompt)))
        return rows


def _batches(rows: Sequence[_Row], size: int, chance: random.Random) -> Iterator[list[_Row]]:
    """Rows of like length together, batches in random order."""
    ordered = sorted(rows, key=lambda row: (len(row.ids), chance.random()))
    batches = [ordered[start : start + size] for start in range(0, len(ordered), size)]
    chance.shuffle(batches)
    yield from batches


def finetune_reasoner(job: Job, recipe: ReasonerRecipe, base_name: str, progress: Progress) -> RunCard:
    """Train the reasoner's adapter and write it with its card.

    Args:
        job: ``data`` is a domain pack's ``claims.yaml``.
        recipe: every number.
        base_name: of the base's weights, as they were published.
        progress: shows epochs and losses.

    Raises:
        ConfigurationError: data, base or target cannot be used; names which.
    """
    watch = Stopwatch()
    job.check_out()
    base_sha256 = job.base_sha256()
    wordings, card = read_wordings(job.data)
    pairs = synthesise_pairs(wordings, seed=recipe.seed, per_claim=recipe.per_claim, per_rewrite=recipe.per_rewrite)
    train, held = split_pairs(pairs, recipe.held_out, recipe.seed)
    snapshot = job.snapshot("reasoner", recipe, card.sha256, base_sha256)
    run = ReasonerRun(recipe, job.checkpoint, snapshot=snapshot, progress=progress)
    trained = run.train(train, held)
    result = job.card(
        watch,
        recipe,
        model="reasoner",
        base=base_name,
        base_sha256=base_sha256,
        data=card,
        held_out=f"{len(held)} of {len(pairs)} pairs, of wordings that training never saw",
        before=trained.before,
        after=trained.after,
        notes="before: the base model; the 60 clauses written by hand are measured apart: docs/models.md",
    )
    job.write(run.save, result)
    return result
