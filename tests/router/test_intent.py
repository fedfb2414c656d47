from __future__ import annotations

import numpy as np
import pytest

from orchestrator.domain.pack import DomainPack
from orchestrator.router.intent import IntentClassifier
from tests.router.conftest import hashed_vector


@pytest.fixture(scope="module")
def taught(medical: DomainPack) -> IntentClassifier:
    classifier = IntentClassifier(medical, 8)
    texts = [text for _, text in classifier.examples]
    classifier.calibrate_rules(texts)
    classifier.learn(np.stack([hashed_vector(text) for text in texts]), "x")
    return classifier


def test_rules_and_examples_vote_together(taught: IntentClassifier) -> None:
    text = "职工三级医院住院报销比例是多少"
    reading = taught.read(taught.by_rules(text), hashed_vector(text))
    assert reading.best is not None
    assert reading.best.intent_id == "benefit.inpatient.rate"
    assert reading.best.decided_by == "vote"
    assert reading.best.confidence > 0.8
    assert reading.by_rules is not None
    assert reading.by_rules.confidence > 0.5


def test_examples_decide_where_rules_are_silent(taught: IntentClassifier) -> None:
    text = "产检的钱包不包在里面"
    reading = taught.read(taught.by_rules(text), hashed_vector(text))
    assert reading.best is not None
    assert reading.best.decided_by == "examples"
    assert reading.by_rules is None


def test_rules_decide_alone_without_a_vector(taught: IntentClassifier) -> None:
    reading = taught.read(taught.by_rules("职工三级医院住院报销比例是多少"), None)
    assert reading.best is not None
    assert (reading.best.intent_id, reading.best.decided_by) == ("benefit.inpatient.rate", "rule")
    assert taught.read(taught.by_rules("谁发明了电灯"), None).best is None


def test_alternatives_and_winner_share_one(taught: IntentClassifier) -> None:
    text = "大病保险的钱"
    reading = taught.read(taught.by_rules(text), hashed_vector(text))
    assert reading.best is not None
    assert reading.alternatives
    assert reading.best.intent_id not in {guess.intent_id for guess in reading.alternatives}
    assert reading.best.confidence + sum(guess.confidence for guess in reading.alternatives) <= 1 + 1e-9


def test_a_doubtful_leaf_has_a_wider_intent(taught: IntentClassifier, medical: DomainPack) -> None:
    text = "大病保险怎么回事"
    reading = taught.read(taught.by_rules(text), hashed_vector(text))
    assert reading.broader is not None
    assert reading.best is not None
    assert reading.broader.intent_id in {node.intent_id for node in medical.intent_paths[reading.best.intent_id][:-1]}
    assert reading.best.confidence <= reading.broader.confidence <= 1
