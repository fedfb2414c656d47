"""Fine-tunes the embedder: mine negatives, train adapters against them, measure on questions never seen."""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from tokenizers import Tokenizer

from evaluation.metrics import mean_metrics, query_metrics
from export.checkpoint import load_checkpoint
from finetune.adapter import save_adapter, with_lora
from finetune.contrastive import Batch, allowed_negatives, batches, contrastive_loss
from finetune.encoding import QuantisedEncoder, Vectors, nearest
from finetune.labelled import LabelledSet, Question
from finetune.layers import LowerLayers, grouped_by_length, mean_pool, upper_layers
from finetune.recipe import EmbedderRecipe
from finetune.run import Progress, Snapshot
from finetune.schedule import warm_then_cosine

if TYPE_CHECKING:
    from peft import PeftModel
    from transformers import BertModel

__all__ = ["EmbedderRun", "TrainedEmbedder"]

EVALUATED_DEPTH = 100


@dataclass(frozen=True, slots=True)
class TrainedEmbedder:
    """What a run measured on its held-out questions; empty where none were held out."""

    before: dict[str, float]
    after: dict[str, float]


class EmbedderRun:
    """One run over one labelled set.

    Args:
        recipe: every number.
        checkpoint: the base, a Hugging Face folder with ``tokenizer.json``.
        prefixes: of ``query`` and ``passage``, from the model's spec.
        full_precision: linear layers that are not quantised when the corpus is encoded.
        snapshot: what an interrupted run of the same recipe and data has left, and where this one leaves its own.
        progress: shows steps, epochs and losses.
    """

    def __init__(
        self,
        recipe: EmbedderRecipe,
        checkpoint: Path,
        prefixes: Mapping[Literal["query", "passage"], str],
        full_precision: Sequence[str],
        *,
        snapshot: Snapshot,
        progress: Progress,
    ) -> None:
        torch.manual_seed(recipe.seed)
        self._recipe = recipe
        self._prefixes = prefixes
        self._full_precision = full_precision
        self._snapshot = snapshot
        self._progress = progress
        self._tokenizer = Tokenizer.from_file(str(checkpoint / "tokenizer.json"))
        self._base = load_checkpoint(checkpoint)
        self._model: PeftModel = with_lora(copy.deepcopy(self._base), recipe)
        self._encoder: Any = self._model.get_base_model()
        self._lower = LowerLayers(self._base, recipe.frozen_layers)

    def train(self, data: LabelledSet, train: Sequence[Question], held: Sequence[Question]) -> TrainedEmbedder:
        """Train on ``train``; ``held`` is only measured on."""
        before = self._first_round(data, train, held)
        for round_ in range(1, self._recipe.rounds):
            self._train_round(data, train, self._mined_again(data, train, round_), round_)
        if not held:
            return TrainedEmbedder({}, {})
        encoder = self._quantised(self._merged())
        passages = self._encoded(encoder, data.passages, "passage", "Encode the corpus for the last measurement")
        return TrainedEmbedder(before, self._measured(passages, encoder, held))

    def save(self, folder: Path) -> None:
        """Write the adapter."""
        save_adapter(folder, self._model)

    def _first_round(self, data: LabelledSet, train: Sequence[Question], held: Sequence[Question]) -> dict[str, float]:
        """Mine the whole corpus with the base encoder, and train; returns the base's figures on ``held``."""
        known = self._snapshot.mined(0)
        if known is None:
            encoder = self._quantised(self._base)
            passages = self._encoded(encoder, data.passages, "passage", "Encode the corpus")
            negatives = self._negatives(encoder, train, passages, range(len(passages)))
            known = negatives, self._measured(passages, encoder, held)
            self._snapshot.keep_mined(0, *known)
        negatives, measured = known
        self._train_round(data, train, negatives, 0)
        return measured

    def _mined_again(self, data: LabelledSet, train: Sequence[Question], round_: int) -> dict[str, list[int]]:
        """Negatives by the encoder as it is now, among those that any question had in the first round."""
        known = self._snapshot.mined(round_)
        if known is None:
            first = self._snapshot.mined(0)
            assert first is not None
            pool = sorted({place for mined in first[0].values() for place in mined})
            texts = [data.passages[place] for place in pool]
            encoder = self._quantised(self._merged())
            passages = self._encoded(encoder, texts, "passage", f"Encode the negatives of round {round_ + 1}")
            known = self._negatives(encoder, train, passages, pool), {}
            self._snapshot.keep_mined(round_, *known)
        return known[0]

    def _negatives(
        self, encoder: QuantisedEncoder, train: Sequence[Question], passages: Vectors, places: Sequence[int]
    ) -> dict[str, list[int]]:
        """Question id → the nearest passages that are not right; row i of ``passages`` is passage ``places[i]``."""
        asked = self._encoded(encoder, [one.text for one in train], "query", "Encode the questions")
        found = nearest(asked, passages, self._recipe.mining_depth)
        return {
            one.question_id: [places[row] for row in rows.tolist() if places[row] not in one.gold]
            for one, rows in zip(train, found, strict=True)
        }

    def _train_round(
        self, data: LabelledSet, train: Sequence[Question], negatives: dict[str, list[int]], round_: int
    ) -> None:
        recipe = self._recipe
        steps = recipe.epochs * math.ceil(len(train) / recipe.batch_size)
        weights = [weight for weight in self._model.parameters() if weight.requires_grad]
        optimizer = torch.optim.AdamW(weights, lr=recipe.learning_rate, weight_decay=recipe.weight_decay)
        schedule = warm_then_cosine(optimizer, recipe, steps)
        parts = {"model": self._model, "optimizer": optimizer, "schedule": schedule}
        first = self._snapshot.restore(round_, parts)
        for epoch in range(first, recipe.epochs):
            rng = random.Random(f"{recipe.seed}:{round_}:{epoch}")  # noqa: S311 (reproducible, not secret)
            torch.manual_seed(recipe.seed + 1000 * round_ + epoch)
            self._model.train()
            with self._progress.task(
                f"Round {round_ + 1}, epoch {epoch + 1} of {recipe.epochs}", math.ceil(len(train) / recipe.batch_size)
            ) as task:
                for batch in batches(
                    train,
                    negatives,
                    size=recipe.batch_size,
                    hard_negatives=recipe.hard_negatives,
                    answer_share=recipe.answer_share,
                    rng=rng,
                ):
                    optimizer.zero_grad()
                    loss = self._loss(batch, data.passages)
                    loss.backward()  # type: ignore[no-untyped-call]
                    torch.nn.utils.clip_grad_norm_(weights, recipe.gradient_norm)
                    optimizer.step()
                    schedule.step()
                    task.advance(1, loss=float(loss.detach()))
            self._snapshot.keep(round_, epoch + 1, parts)

    def _loss(self, batch: Batch, passages: Sequence[str]) -> torch.Tensor:
        # Passages of earlier batches are no negatives: the model learns to tell them by their age, and nothing else.
        recipe = self._recipe
        queries = self._vectors(batch.asked, "query", recipe.max_query_tokens)
        vectors = self._vectors([passages[place] for place in batch.passages], "passage", recipe.max_passage_tokens)
        allowed = allowed_negatives(batch.questions, batch.passages)
        return contrastive_loss(queries, vectors, allowed, recipe.temperature)

    def _vectors(self, texts: Sequence[str], kind: Literal["query", "passage"], max_tokens: int) -> torch.Tensor:
        """Unit vectors with gradients, [len(texts), hidden]."""
        self._tokenizer.enable_truncation(max_tokens)
        ids = [one.ids for one in self._tokenizer.encode_batch([self._prefixes[kind] + text for text in texts])]
        states = self._lower.states(ids)
        rows: list[torch.Tensor | None] = [None] * len(texts)
        for group in grouped_by_length([len(row) for row in ids]):
            pooled = mean_pool(*upper_layers(self._encoder, self._recipe.frozen_layers, [states[i] for i in group]))
            for place, vector in zip(group, torch.nn.functional.normalize(pooled, dim=1), strict=True):
                rows[place] = vector
        return torch.stack([row for row in rows if row is not None])

    def _merged(self) -> BertModel:
        """The encoder with its adapters folded in, apart from the one that is trained."""
        merged = copy.deepcopy(self._model).merge_and_unload()
        encoder: BertModel = merged.eval()
        return encoder

    def _quantised(self, encoder: BertModel) -> QuantisedEncoder:
        with self._progress.task("Export the encoder", 1) as task:
            quantised = QuantisedEncoder(encoder, self._tokenizer, self._full_precision)
            task.advance(1)
        return quantised

    def _encoded(
        self, encoder: QuantisedEncoder, texts: Sequence[str], kind: Literal["query", "passage"], title: str
    ) -> Vectors:
        limit = self._recipe.max_query_tokens if kind == "query" else self._recipe.max_passage_tokens
        with self._progress.task(title, len(texts)) as task:
            return encoder.encode([self._prefixes[kind] + text for text in texts], limit, task.advance)

    def _measured(self, passages: Vectors, encoder: QuantisedEncoder, held: Sequence[Question]) -> dict[str, float]:
        if not held:
            return {}
        asked = self._encoded(encoder, [one.text for one in held], "query", "Measure on the held-out questions")
        found = nearest(asked, passages, EVALUATED_DEPTH)
        rows = [
            query_metrics([str(place) for place in row], frozenset(map(str, one.gold)))
            for one, row in zip(held, found, strict=True)
        ]
        return {name: round(figure, 4) for name, figure in mean_metrics(rows).items()}
