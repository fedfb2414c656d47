"""Between character spans and the labels of tokens: begin, inside, outside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tokenizers import Tokenizer

from finetune.synthesis.questions import LabelledQuestion, LabelledSlot

__all__ = ["IGNORED", "EncodedQuestion", "Labels", "QuestionEncoder", "labels_of"]

# The label of tokens that no loss is taken of: the model's own and those of its prefix.
IGNORED = -100
OUTSIDE = "O"


@dataclass(frozen=True, slots=True)
class Labels:
    """What the heads' outputs stand for; ``slots`` is ``O`` and a ``B-`` and ``I-`` for each type."""

    intents: tuple[str, ...]
    slots: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EncodedQuestion:
    """Token ids with their labels; tokens cut off or without text have the label `IGNORED`."""

    ids: tuple[int, ...]
    intent: int
    slots: tuple[int, ...]


def labels_of(questions: Sequence[LabelledQuestion]) -> Labels:
    """The intents and slot types that occur, sorted."""
    types = sorted({slot.slot_type for question in questions for slot in question.slots})
    return Labels(
        intents=tuple(sorted({question.intent for question in questions})),
        slots=(OUTSIDE, *(f"{kind}-{name}" for name in types for kind in "BI")),
    )


class QuestionEncoder:
    """Questions to token ids and labels.

    Args:
        tokenizer: of the checkpoint.
        prefix: put before each question.
        labels: what may occur; a question with another intent or slot type is an error of the caller.
        max_tokens: longer questions are cut.
    """

    def __init__(self, tokenizer: Tokenizer, prefix: str, labels: Labels, max_tokens: int) -> None:
        self._tokenizer = tokenizer
        self._tokenizer.enable_truncation(max_tokens)
        self._prefix = prefix
        self._intents = {name: place for place, name in enumerate(labels.intents)}
        self._slots = {name: place for place, name in enumerate(labels.slots)}

    def encode(self, question: LabelledQuestion) -> EncodedQuestion:
        """One question."""
        encoding = self._tokenizer.encode(self._prefix + question.text)
        owners = _owners(question)
        slots: list[int] = []
        before: LabelledSlot | None = None
        for (start, end), special in zip(encoding.offsets, encoding.special_tokens_mask, strict=True):
            left, right = start - len(self._prefix), end - len(self._prefix)
            if special or right <= 0 or right <= left:
                slots.append(IGNORED)
                continue
            # Pieces do not keep to the borders of slots: one that touches a slot counts as part of it.
            slot = next((owner for owner in owners[max(left, 0) : right] if owner is not None), None)
            kind = "" if slot is None else f"{'I' if slot is before else 'B'}-{slot.slot_type}"
            slots.append(self._slots[kind or OUTSIDE])
            before = slot
        return EncodedQuestion(tuple(encoding.ids), self._intents[question.intent], tuple(slots))


def _owners(question: LabelledQuestion) -> list[LabelledSlot | None]:
    """The slot of each character; of two that overlap, the first."""
    owners: list[LabelledSlot | None] = [None] * len(question.text)
    for slot in question.slots:
        for place in range(slot.start, slot.end):
            owners[place] = owners[place] or slot
    return owners
