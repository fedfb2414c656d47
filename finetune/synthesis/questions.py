"""Labelled questions as JSON lines: every complaint names line and field; checked against a domain pack."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from orchestrator.domain.pack import DomainPack
from orchestrator.errors import ConfigurationError

__all__ = ["LabelledQuestion", "LabelledSlot", "Split", "pack_problems", "read_questions", "write_questions"]

Split = Literal["train", "validation", "test"]

MAX_CHARS = 2000
# Enough to see what is wrong with a file, few enough to read.
MAX_COMPLAINTS = 20


class LabelledSlot(BaseModel):
    """A slot: characters [start, end) of the question, and the canonical value that they stand for.

    Whoever labels by hand may give ``text`` alone, where it stands in the question once.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    slot_type: str = Field(alias="type", min_length=1)
    start: int = Field(ge=0)
    end: int = Field(ge=1)
    text: str = Field(min_length=1)
    value: str = Field(min_length=1)


class LabelledQuestion(BaseModel):
    """One question with its labels.

    Attributes:
        intent: a leaf of the pack's tree; empty in a labelling file where nobody knew.
        split: what it is for; a question without one is trained on.
        template: the wording that it was made from; empty where a person asked it.
        checked: whether a person has confirmed the labels; only such rows of a labelling file are imported.
        reason, confidence, times: from the labelling queue: why it is there, how sure the router was, how often asked.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: str = Field(min_length=1, max_length=MAX_CHARS)
    intent: str = ""
    slots: tuple[LabelledSlot, ...] = ()
    split: Split = "train"
    template: str = ""
    noisy: bool = False
    checked: bool | None = None
    reason: str = ""
    confidence: float | None = Field(None, ge=0, le=1)
    times: int | None = Field(None, ge=1)

    @model_validator(mode="before")
    @classmethod
    def _place_slots(cls, tree: Any) -> Any:
        if not isinstance(tree, dict) or not isinstance(tree.get("slots"), list):
            return tree
        return {**tree, "slots": [_placed(slot, tree.get("text")) for slot in tree["slots"]]}

    @model_validator(mode="after")
    def _slots_stand_there(self) -> LabelledQuestion:
        if not self.text.strip():
            raise ValueError("text: is blank")
        for place, slot in enumerate(self.slots):
            if self.text[slot.start : slot.end] != slot.text or slot.start >= slot.end:
                raise ValueError(
                    f"slots.{place}: {slot.text!r} does not stand at [{slot.start}, {slot.end}) of the text"
                )
        return self


def _placed(slot: Any, text: Any) -> Any:
    """A slot with what follows from the rest: its place from its text, or its text from its place."""
    if not isinstance(slot, dict) or not isinstance(text, str):
        return slot
    written = slot.get("text")
    if isinstance(written, str) and written and "start" not in slot and "end" not in slot:
        count = text.count(written)
        if count != 1:
            raise ValueError(
                f"slots: {written!r} stands {count} times in the text; give start and end (in characters, from 0)"
            )
        first = text.index(written)
        return {**slot, "start": first, "end": first + len(written)}
    start, end = slot.get("start"), slot.get("end")
    if written is None and isinstance(start, int) and isinstance(end, int) and 0 <= start < end <= len(text):
        return {**slot, "text": text[start:end]}
    return slot


def pack_problems(question: LabelledQuestion, pack: DomainPack) -> list[str]:
    """What a question says that its pack does not know; empty where all is known."""
    problems = []
    path = pack.intent_paths.get(question.intent)
    if path is None or path[-1].children:
        problems.append(f"intent: {question.intent!r} is no leaf of the pack's tree")
    problems.extend(
        f"slots.{place}.type: the pack has no slot type {slot.slot_type!r}"
        for place, slot in enumerate(question.slots)
        if slot.slot_type not in pack.slot_types
    )
    return problems


def read_questions(path: Path, pack: DomainPack | None = None, *, checked_only: bool = False) -> list[LabelledQuestion]:
    """Read a file of labelled questions.

    Args:
        path: JSON lines, UTF-8.
        pack: check intents and slot types against it.
        checked_only: pass over rows that nobody confirmed; their labels may be anything.

    Raises:
        ConfigurationError: the file cannot be read, or rows are wrong; names file, line and field of each.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}.", hint="It must be a UTF-8 file.") from None
    found: list[LabelledQuestion] = []
    complaints: list[str] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        question, problems = _read_line(line, pack, checked_only=checked_only)
        complaints.extend(f"line {number}: {problem}" for problem in problems)
        if question is not None:
            found.append(question)
    if complaints:
        shown = "; ".join(complaints[:MAX_COMPLAINTS])
        more = f"; and {len(complaints) - MAX_COMPLAINTS} more" if len(complaints) > MAX_COMPLAINTS else ""
        raise ConfigurationError(f"{path}: {shown}{more}.", hint="Correct these lines; nothing was taken over.")
    return found


def _read_line(
    line: str, pack: DomainPack | None, *, checked_only: bool
) -> tuple[LabelledQuestion | None, Sequence[str]]:
    try:
        tree = json.loads(line)
        if checked_only and isinstance(tree, dict) and tree.get("checked") is not True:
            return None, ()
        question = LabelledQuestion.model_validate(tree)
    except json.JSONDecodeError as error:
        return None, (f"not well-formed JSON: {error.msg} at character {error.pos + 1}",)
    except RecursionError:
        return None, ("nested too deeply",)
    except ValidationError as error:
        return None, [_complaint(item) for item in error.errors()]
    problems = pack_problems(question, pack) if pack is not None else []
    return (None, problems) if problems else (question, ())


def _complaint(item: Any) -> str:
    field = ".".join(str(step) for step in item["loc"])
    message = str(item["msg"]).removeprefix("Value error, ")
    return f"{field}: {message}" if field else message


def write_questions(path: Path, questions: Iterable[LabelledQuestion]) -> int:
    """Write questions as JSON lines, the whole file or none of it; returns how many."""
    rows = [_row(question) for question in questions]
    aside = path.with_name(path.name + ".new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        aside.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
        aside.replace(path)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {error.strerror}.") from None
    return len(rows)


def _row(question: LabelledQuestion) -> str:
    tree = question.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    # These are read by people: they shall stand there even where they are empty.
    head = {"text": question.text, "intent": question.intent, "slots": tree.get("slots", [])}
    return json.dumps(head | tree, ensure_ascii=False)
