"""The objective against values by hand, and the batches that it is computed over."""

from __future__ import annotations

import math
import random

import pytest
import torch

from finetune.contrastive import allowed_negatives, batches, contrastive_loss
from finetune.labelled import Question


def question(number: int, *gold: int, answer: str = "") -> Question:
    return Question(f"q{number}", f"问{number}", answer, frozenset(gold))


def test_the_loss_is_the_cross_entropy_of_cosines_over_the_temperature() -> None:
    queries = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    passages = torch.tensor([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    everything = torch.ones((2, 3), dtype=torch.bool)
    first = -math.log(math.exp(2) / (math.exp(2) + math.exp(1.2) + math.exp(0)))
    second = -math.log(math.exp(1.6) / (math.exp(0) + math.exp(1.6) + math.exp(2)))
    found = contrastive_loss(queries, passages, everything, 0.5)
    assert float(found) == pytest.approx((first + second) / 2, rel=1e-6)


def test_a_passage_that_is_right_too_does_not_count_against_a_question() -> None:
    questions = [question(0, 10, 12), question(1, 11)]
    allowed = allowed_negatives(questions, [10, 11, 12, 13])
    assert allowed.tolist() == [[True, True, False, True], [True, True, True, True]]


def test_every_question_is_asked_once_an_epoch_with_one_of_its_passages() -> None:
    questions = [question(number, number, 100 + number) for number in range(10)]
    mined = {one.question_id: [500, 501, 502] for one in questions}
    seen = []
    for batch in batches(questions, mined, size=4, hard_negatives=2, answer_share=0.0, rng=random.Random(1)):
        right = batch.passages[: len(batch.asked)]
        assert all(place in one.gold for place, one in zip(right, batch.questions, strict=True))
        assert set(batch.passages[len(batch.asked) :]) <= {500, 501, 502}
        assert len(batch.passages) == 3 * len(batch.asked)
        seen += batch.asked
    assert sorted(seen) == sorted(one.text for one in questions)


def test_answers_are_asked_as_often_as_is_wanted() -> None:
    questions = [question(number, number, answer=f"答{number}") for number in range(400)]
    rng = random.Random(1)
    made = batches(questions, {}, size=8, hard_negatives=0, answer_share=0.3, rng=rng)
    asked = [text for batch in made for text in batch.asked]
    assert 0.2 < sum(text.startswith("答") for text in asked) / len(asked) < 0.4


def test_a_batch_of_one_has_nobody_to_differ_from() -> None:
    made = list(batches([question(0, 1)], {}, size=4, hard_negatives=0, answer_share=0, rng=random.Random(1)))
    assert made == []
