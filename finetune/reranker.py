"""Fine-tunes a reranker: a question and a passage read as a pair, the right passage above mined wrong ones."""

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
from torch.nn.functional import cross_entropy

from evaluation.metrics import mean_metrics, query_metrics
from export.checkpoint import load_checkpoint
from finetune.adapter import save_adapter, with_lora
from finetune.encoding import QuantisedEncoder, nearest
from finetune.labelled import LabelledSet, Question
from finetune.layers import LowerLayers, grouped_by_length, mean_pool, upper_layers
from finetune.recipe import RerankerRecipe
from finetune.run import Progress, Snapshot
from finetune.schedule import warm_then_cosine

if TYPE_CHECKING:
    from peft import PeftModel

__all__ = ["RerankerRun", "TrainedReranker"]

Prefixes = Mapping[Literal["query", "passage"], str]
# Of the head's weights at the start; small, so that the first steps are the data's and not the draw's.
HEAD_SCALE = 0.02
MINED_TRAIN, MINED_HELD = 0, 1


@dataclass(frozen=True, slots=True)
class TrainedReranker:
    """What a run measured on its held-out questions, each with the candidates that the embedder finds for it.

    ``before``: in the embedder's order; ``after``: in the reranker's. Empty where no question was held out.
    """

    before: dict[str, float]
    after: dict[str, float]


class RerankerRun:
    """One run over one labelled set.

    Args:
        recipe: every number.
        checkpoint: the base, a Hugging Face folder with ``tokenizer.json``; it also mines the candidates.
        prefixes: of ``query`` and ``passage`` in a pair, from the reranker's spec.
        mining_prefixes: of the same as the embedder's spec has them.
        full_precision: linear layers that are not quantised when the corpus is encoded.
        snapshot: what an interrupted run of the same recipe and data has left, and where this one leaves its own.
        progress: shows steps, epochs and losses.
    """

    def __init__(
        self,
        recipe: RerankerRecipe,
        checkpoint: Path,
        prefixes: Prefixes,
        mining_prefixes: Prefixes,
        full_precision: Sequence[str],
        *,
        snapshot: Snapshot,
        progress: Progress,
    ) -> None:
        torch.manual_seed(recipe.seed)
        self._recipe = recipe
        self._prefixes = prefixes
        self._mining_prefixes = mining_prefixes
        self._full_precision = full_precision
        self._snapshot = snapshot
        self._progress = progress
        self._tokenizer = Tokenizer.from_file(str(checkpoint / "tokenizer.json"))
        self._base = load_checkpoint(checkpoint)
        self._lower = LowerLayers(self._base, recipe.frozen_layers)
        self._model: PeftModel = with_lora(copy.deepcopy(self._base), recipe)
        self._encoder: Any = self._model.get_base_model()
        self._head = torch.nn.Linear(self._base.config.hidden_size, 1)
        torch.nn.init.normal_(self._head.weight, std=HEAD_SCALE)
        torch.nn.init.zeros_(self._head.bias)

    def train(self, data: LabelledSet, train: Sequence[Question], held: Sequence[Question]) -> TrainedReranker:
        """Train on ``train``; ``held`` is only measured on."""
        mined, candidates = self._mined(data, train, held)
        self._train(data, train, mined)
        if not held:
            return TrainedReranker({}, {})
        return TrainedReranker(_figures(held, candidates), _figures(held, self._reranked(data, held, candidates)))

    def save(self, folder: Path) -> None:
        """Write the adapter with its head."""
        heads = {f"score.{part}": tensor for part, tensor in self._head.state_dict().items()}
        save_adapter(folder, self._model, heads=heads)

    def scores(self, pairs: Sequence[tuple[str, str]]) -> torch.Tensor:
        """Logits of pairs of question and passage, both without prefixes; [len(pairs)], more is better."""
        self._tokenizer.enable_truncation(self._recipe.max_tokens)
        query, passage = self._prefixes.get("query", ""), self._prefixes.get("passage", "")
        encoded = self._tokenizer.encode_batch([(query + asked, passage + text) for asked, text in pairs])
        states = self._lower.states([one.ids for one in encoded])
        scores: list[torch.Tensor | None] = [None] * len(pairs)
        for group in grouped_by_length([len(one.ids) for one in encoded]):
            found, mask = upper_layers(self._encoder, self._recipe.frozen_layers, [states[place] for place in group])
            for place, score in zip(group, self._head(mean_pool(found, mask))[:, 0], strict=True):
                scores[place] = score
        return torch.stack([score for score in scores if score is not None])

    def _mined(
        self, data: LabelledSet, train: Sequence[Question], held: Sequence[Question]
    ) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
        """Wrong passages for each question of ``train``, all candidates for each of ``held``; nearest first."""
        known = self._snapshot.mined(MINED_TRAIN), self._snapshot.mined(MINED_HELD)
        if known[0] is None or known[1] is None:
            with self._progress.task("Export the encoder", 1) as task:
                encoder = QuantisedEncoder(self._base, self._tokenizer, self._full_precision)
                task.advance(1)
            questions = [*train, *held]
            passages = self._encoded(encoder, data.passages, "passage", "Encode the corpus")
            asked = self._encoded(encoder, [one.text for one in questions], "query", "Encode the questions")
            found = dict(zip(questions, nearest(asked, passages, self._recipe.mining_depth).tolist(), strict=True))
            wrong = {one.question_id: [place for place in found[one] if place not in one.gold] for one in train}
            candidates = {one.question_id: found[one][: self._recipe.reranked] for one in held}
            self._snapshot.keep_mined(MINED_TRAIN, wrong, {})
            self._snapshot.keep_mined(MINED_HELD, candidates, {})
            return wrong, candidates
        return known[0][0], known[1][0]

    def _encoded(
        self, encoder: QuantisedEncoder, texts: Sequence[str], kind: Literal["query", "passage"], title: str
    ) -> Any:
        with self._progress.task(title, len(texts)) as task:
            prefix = self._mining_prefixes[kind]
            return encoder.encode([prefix + text for text in texts], self._recipe.max_tokens, task.advance)

    def _train(self, data: LabelledSet, train: Sequence[Question], mined: Mapping[str, Sequence[int]]) -> None:
        recipe = self._recipe
        steps = math.ceil(len(train) / recipe.batch_size)
        adapters = [weight for weight in self._model.parameters() if weight.requires_grad]
        optimizer = torch.optim.AdamW(
            [
                {"params": adapters, "lr": recipe.learning_rate},
                {"params": list(self._head.parameters()), "lr": recipe.head_learning_rate},
            ],
            weight_decay=recipe.weight_decay,
        )
        schedule = warm_then_cosine(optimizer, recipe, recipe.epochs * steps)
        parts = {"model": self._model, "head": self._head, "optimizer": optimizer, "schedule": schedule}
        for epoch in range(self._snapshot.restore(0, parts), recipe.epochs):
            rng = random.Random(f"{recipe.seed}:{epoch}")  # noqa: S311 (reproducible, not secret)
            torch.manual_seed(recipe.seed + epoch)
            self._model.train()
            order = list(train)
            rng.shuffle(order)
            with self._progress.task(f"Epoch {epoch + 1} of {recipe.epochs}", steps) as task:
                for start in range(0, len(order), recipe.batch_size):
                    optimizer.zero_grad()
                    loss = self._loss(order[start : start + recipe.batch_size], data.passages, mined, rng)
                    loss.backward()  # type: ignore[no-untyped-call]
                    torch.nn.utils.clip_grad_norm_([*adapters, *self._head.parameters()], recipe.gradient_norm)
                    optimizer.step()
                    schedule.step()
                    task.advance(1, loss=float(loss.detach()))
            self._snapshot.keep(0, epoch + 1, parts)

    def _loss(
        self,
        questions: Sequence[Question],
        passages: Sequence[str],
        mined: Mapping[str, Sequence[int]],
        rng: random.Random,
    ) -> torch.Tensor:
        """Localised contrastive estimation (Gao et al., 2021): cross-entropy over a question's own candidates."""
        wanted = self._recipe.candidates
        groups = []
        for question in questions:
            wrong = mined.get(question.question_id, ())
            chosen = [rng.choice(sorted(question.gold)), *rng.sample(wrong, min(wanted - 1, len(wrong)))]
            asked = question.answer if question.answer and rng.random() < self._recipe.answer_share else question.text
            groups.append([(asked, passages[place]) for place in chosen])
        scores = iter(self.scores([pair for group in groups for pair in group]))
        logits = torch.full((len(groups), wanted), float("-inf"))
        for row, group in enumerate(groups):
            logits[row, : len(group)] = torch.stack([next(scores) for _ in group])
        return cross_entropy(logits, torch.zeros(len(groups), dtype=torch.long))

    @torch.no_grad()
    def _reranked(
        self, data: LabelledSet, held: Sequence[Question], candidates: Mapping[str, Sequence[int]]
    ) -> dict[str, list[int]]:
        self._model.eval()
        ordered = {}
        with self._progress.task("Measure on the held-out questions", len(held)) as task:
            for question in held:
                places = candidates[question.question_id]
                scores = self.scores([(question.text, data.passages[place]) for place in places]).tolist()
                ranked = sorted(zip(scores, places, strict=True), key=lambda pair: -pair[0])
                ordered[question.question_id] = [place for _, place in ranked]
                task.advance(1)
        return ordered


def _figures(held: Sequence[Question], ranked: Mapping[str, Sequence[int]]) -> dict[str, float]:
    rows = [
        query_metrics([str(place) for place in ranked[one.question_id]], frozenset(map(str, one.gold))) for one in held
    ]
    return {name: round(figure, 4) for name, figure in mean_metrics(rows).items()}
