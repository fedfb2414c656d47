"""The contrastive objective, and the batches it is computed over."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812 (torch's own name for it)

from finetune.labelled import Question

__all__ = ["Batch", "allowed_negatives", "batches", "contrastive_loss"]


@dataclass(frozen=True, slots=True)
class Batch:
    """One step's texts.

    Attributes:
        asked: the text of each question.
        questions: the questions themselves, in the same order.
        passages: places of passages; the first ``len(asked)`` are right ones, in order, then the mined ones.
    """

    asked: list[str]
    questions: list[Question]
    passages: list[int]


def batches(
    questions: Sequence[Question],
    negatives: Mapping[str, Sequence[int]],
    *,
    size: int,
    hard_negatives: int,
    answer_share: float,
    rng: random.Random,
) -> Iterator[Batch]:
    """One epoch: every question once, with one of its right passages and some mined wrong ones.

    Args:
        questions: to train on.
        negatives: question id → passages mined for it.
        size: questions a batch; a last one of fewer than two is dropped, since it has nobody to differ from.
        hard_negatives: mined passages a question.
        answer_share: how often the human answer is asked in place of the question.
        rng: of this run.
    """
    order = list(questions)
    rng.shuffle(order)
    for start in range(0, len(order), size):
        part = order[start : start + size]
        if len(part) < 2:
            return
        asked = [one.answer if one.answer and rng.random() < answer_share else one.text for one in part]
        right = [rng.choice(sorted(one.gold)) for one in part]
        wrong: list[int] = []
        for one in part:
            mined = list(negatives.get(one.question_id, ()))
            wrong += rng.sample(mined, min(hard_negatives, len(mined)))
        yield Batch(asked, part, right + wrong)


def contrastive_loss(
    queries: torch.Tensor, passages: torch.Tensor, allowed: torch.Tensor, temperature: float
) -> torch.Tensor:
    """InfoNCE (van den Oord et al., 2018): each query's own passage against all others.

    Args:
        queries: unit vectors, [b, hidden].
        passages: unit vectors, [n, hidden], n ≥ b; row i is the right one of query i.
        allowed: boolean [b, n]; False for passages that are right too and so are no negatives.
        temperature: by which cosines are divided.

    Returns:
        The mean loss, a scalar.
    """
    logits = (queries @ passages.T) / temperature
    logits = logits.masked_fill(~allowed, float("-inf"))
    return F.cross_entropy(logits, torch.arange(len(queries)))


def allowed_negatives(questions: Sequence[Question], passages: Sequence[int]) -> torch.Tensor:
    """Which passage may count against (or, in its own column, for) which question; boolean [questions, passages]."""
    allowed = torch.ones((len(questions), len(passages)), dtype=torch.bool)
    for row, question in enumerate(questions):
        for column, place in enumerate(passages):
            if place in question.gold and column != row:
                allowed[row, column] = False
    return allowed
