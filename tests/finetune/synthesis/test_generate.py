"""Training questions: labels stand where they say, whole wordings are held out, the same seed makes the same ones."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from finetune.synthesis.generate import Synthesis, synthesise
from finetune.synthesis.questions import LabelledQuestion, pack_problems
from orchestrator.domain.lexicon import SlotMatcher
from orchestrator.domain.pack import DomainPack, load_pack
from orchestrator.domain.templates import Templates, load_templates
from orchestrator.settings import PathSettings

FOLDER = PathSettings().domains / "medical_insurance"
HOW = Synthesis(per_template=2)


@pytest.fixture(scope="module")
def pack() -> DomainPack:
    return load_pack(FOLDER)


@pytest.fixture(scope="module")
def templates(pack: DomainPack) -> Templates:
    return load_templates(pack, FOLDER)


@pytest.fixture(scope="module")
def questions(pack: DomainPack, templates: Templates) -> list[LabelledQuestion]:
    return synthesise(pack, templates, HOW)


def test_every_intent_has_many_wordings(pack: DomainPack, templates: Templates) -> None:
    counts = Counter(template.intent_id for template in templates.templates)
    leaves = {intent_id for intent_id, path in pack.intent_paths.items() if not path[-1].children}
    assert counts.keys() == leaves
    assert min(counts.values()) >= 25


def test_labels_stand_where_they_say(pack: DomainPack, questions: list[LabelledQuestion]) -> None:
    for question in questions:
        assert not pack_problems(question, pack)
        assert all(question.text[slot.start : slot.end] == slot.text for slot in question.slots)


def test_the_same_seed_makes_the_same_questions(
    pack: DomainPack, templates: Templates, questions: list[LabelledQuestion]
) -> None:
    assert synthesise(pack, templates, HOW) == questions
    assert synthesise(pack, templates, Synthesis(seed=1, per_template=2)) != questions


def test_no_text_twice_and_no_wording_on_two_sides(questions: list[LabelledQuestion]) -> None:
    assert len({question.text for question in questions}) == len(questions)
    sides: dict[tuple[str, str], set[str]] = {}
    for question in questions:
        sides.setdefault((question.intent, question.template), set()).add(question.split)
    assert all(len(side) == 1 for side in sides.values())
    held = Counter(question.intent for question in questions if question.split == "test")
    assert len(held) == len({question.intent for question in questions})


def test_a_fifth_is_noisy(questions: list[LabelledQuestion]) -> None:
    noisy = sum(question.noisy for question in questions) / len(questions)
    assert 0.15 < noisy < 0.25
    clean = synthesise_clean(questions)
    assert clean


def synthesise_clean(questions: list[LabelledQuestion]) -> list[LabelledQuestion]:
    return [question for question in questions if not question.noisy]


def test_what_the_lexicon_finds_is_labelled(pack: DomainPack, questions: list[LabelledQuestion]) -> None:
    matcher = SlotMatcher(pack)
    for question in synthesise_clean(questions)[:300]:
        covered = {place for slot in question.slots for place in range(slot.start, slot.end)}
        for match in matcher.find(question.text):
            assert covered & set(range(match.start, match.end)), (question.text, match)


def test_training_holds_values_back(pack: DomainPack, templates: Templates) -> None:
    made = synthesise(pack, templates, Synthesis(noise=0.0, paraphrase=0.0, per_template=20))
    drugs = {
        side: {s.text for q in made if q.split == side for s in q.slots if s.slot_type == "drug"}
        for side in ("train", "test")
    }
    assert drugs["test"] - drugs["train"]


def test_held_out_colloquial_questions_are_no_template(pack: DomainPack, questions: list[LabelledQuestion]) -> None:
    path = Path(FOLDER) / "evaluation" / "colloquial.jsonl"
    hand = [LabelledQuestion.model_validate_json(line) for line in path.read_text("utf-8").splitlines()]
    assert len(hand) == 60
    assert not any(pack_problems(question, pack) for question in hand)
    assert not {question.text for question in hand} & {question.text for question in questions}
    assert json.loads(path.read_text("utf-8").splitlines()[0])["slots"]
