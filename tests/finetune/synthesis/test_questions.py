"""Labelling files: every wrong line is named with its field, and nothing of a wrong file is taken."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from finetune.synthesis.questions import LabelledQuestion, read_questions, write_questions
from orchestrator.domain.pack import DomainPack, load_pack
from orchestrator.errors import ConfigurationError
from orchestrator.settings import PathSettings


@pytest.fixture(scope="module")
def pack() -> DomainPack:
    return load_pack(PathSettings().domains / "medical_insurance")


def write(path: Path, *rows: object) -> Path:
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), "utf-8")
    return path


def test_round_trip(tmp_path: Path, pack: DomainPack) -> None:
    row = {
        "text": "职工住院报多少",
        "intent": "benefit.inpatient.rate",
        "slots": [{"type": "population", "start": 0, "end": 2, "text": "职工", "value": "职工"}],
    }
    question = LabelledQuestion.model_validate(row)
    assert write_questions(tmp_path / "deep" / "q.jsonl", [question]) == 1
    assert read_questions(tmp_path / "deep" / "q.jsonl", pack) == [question]


def test_a_slot_may_be_given_by_its_text(tmp_path: Path, pack: DomainPack) -> None:
    row = {
        "text": "职工住院报多少",
        "intent": "benefit.inpatient.rate",
        "slots": [{"type": "service", "text": "住院", "value": "住院"}],
    }
    (found,) = read_questions(write(tmp_path / "q.jsonl", row), pack)
    assert (found.slots[0].start, found.slots[0].end) == (2, 4)


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ("{not json", "line 2: not well-formed JSON"),
        ("[]", "line 2: "),
        ({"intent": "chat"}, "line 2: text: Field required"),
        ({"text": "   ", "intent": "chat"}, "line 2: text: is blank"),
        ({"text": "你好", "intent": "benefit"}, "line 2: intent: 'benefit' is no leaf"),
        ({"text": "你好", "intent": "chat", "extra": 1}, "line 2: extra"),
        ({"text": "你好" * 2000, "intent": "chat"}, "line 2: text"),
        (
            {
                "text": "住院",
                "intent": "chat",
                "slots": [{"type": "service", "start": 1, "end": 3, "text": "住院", "value": "住院"}],
            },
            "line 2: slots.0",
        ),
        (
            {"text": "住院和住院", "intent": "chat", "slots": [{"type": "service", "text": "住院", "value": "住院"}]},
            "stands 2 times",
        ),
        (
            {"text": "住院", "intent": "chat", "slots": [{"type": "colour", "text": "住院", "value": "住院"}]},
            "slots.0.type: the pack has no slot type 'colour'",
        ),
        ({"text": "住院", "intent": "chat", "slots": [{"type": "service", "text": "住院"}]}, "slots.0.value"),
        ("[" * 100_000, "line 2: "),
    ],
)
def test_wrong_lines_are_named(tmp_path: Path, pack: DomainPack, row: object, complaint: str) -> None:
    path = write(tmp_path / "q.jsonl", {"text": "谢谢", "intent": "chat"}, row)
    with pytest.raises(ConfigurationError, match="nothing was taken over") as raised:
        read_questions(path, pack)
    assert complaint in str(raised.value)
    assert str(path) in str(raised.value)


def test_only_what_a_person_checked(tmp_path: Path, pack: DomainPack) -> None:
    path = write(
        tmp_path / "q.jsonl",
        {"text": "谢谢", "intent": "chat", "checked": True},
        {"text": "没人看过", "intent": "nonsense", "checked": False},
    )
    assert [one.text for one in read_questions(path, pack, checked_only=True)] == ["谢谢"]


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigurationError, match="UTF-8"):
        read_questions(path)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_questions(tmp_path / "absent.jsonl")
