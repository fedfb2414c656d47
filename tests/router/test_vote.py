from __future__ import annotations

import numpy as np

from orchestrator.router.examples import ExampleVote
from orchestrator.router.vote import Voices, features, pool, tempered

SILENT = np.zeros(3)
LEFT, RIGHT = np.array([0.8, 0.1, 0.1]), np.array([0.1, 0.1, 0.8])


def test_rules_alone_are_shared_out() -> None:
    assert np.allclose(pool(Voices(np.array([0.3, 0.1, 0.0]))), [0.75, 0.25, 0.0])
    assert not pool(Voices(SILENT)).any()
    assert Voices(SILENT).speaking == ()


def test_a_model_outweighs_examples_that_disagree() -> None:
    shares = pool(Voices(SILENT, ExampleVote(LEFT, 0.5), RIGHT))
    assert shares.argmax() == 2
    assert np.isclose(shares.sum(), 1)


def test_rules_and_examples_together_outweigh_a_doubtful_model() -> None:
    doubtful = np.array([0.3, 0.3, 0.4])
    assert pool(Voices(np.array([0.7, 0.0, 0.0]), ExampleVote(LEFT, 0.5), doubtful)).argmax() == 0


def test_a_model_that_is_certain_can_be_outvoted() -> None:
    certain = np.array([0.0, 0.0, 1.0])
    assert pool(Voices(SILENT, None, certain))[0] > 0


def test_agreement_is_a_feature() -> None:
    agreed = Voices(np.array([0.7, 0.0, 0.0]), ExampleVote(LEFT, 0.5), LEFT)
    apart = Voices(np.array([0.7, 0.0, 0.0]), ExampleVote(LEFT, 0.5), RIGHT)
    clear, doubtful = (features(voices, pool(voices)) for voices in (agreed, apart))
    assert clear.shape == doubtful.shape
    assert clear[0] > doubtful[0]


def test_tempering_draws_towards_one_half() -> None:
    assert tempered(0.5) == 0.5
    assert 0.5 < tempered(0.9) < 0.9
    assert 0.1 < tempered(0.1) < 0.5
    assert tempered(0.0) == 0.0
    assert 0.999 < tempered(1.0) <= 1.0
