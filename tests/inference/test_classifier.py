"""From logits to slots of a text."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from orchestrator.inference.classifier import spans_of

TAGS = ("O", "B-region", "I-region", "B-service", "I-service")
Row = npt.NDArray[np.float64]


def rows(*tags: str) -> Row:
    found = np.full((len(tags), len(TAGS)), 0.05)
    for place, tag in enumerate(tags):
        found[place, TAGS.index(tag)] = 0.8
    return found


def spans(text: str, offsets: list[tuple[int, int]], *tags: str) -> list[tuple[str, str]]:
    found = spans_of(rows(*tags), offsets, TAGS, text)
    assert all(0 < span.confidence <= 1 for span in found)
    return [(span.slot_type, text[span.start : span.end]) for span in found]


def test_tokens_join_into_slots() -> None:
    text = "苏州市住院"
    offsets = [(0, 0), (0, 2), (2, 3), (3, 5), (0, 0)]
    assert spans(text, offsets, "B-region", "B-region", "I-region", "B-service", "O") == [
        ("region", "苏州市"),
        ("service", "住院"),
    ]


def test_two_slots_of_one_type_side_by_side() -> None:
    assert spans("苏州无锡", [(0, 2), (2, 4)], "B-region", "B-region") == [("region", "苏州"), ("region", "无锡")]


def test_inside_without_begin_begins() -> None:
    assert spans("去苏州", [(0, 1), (1, 3)], "O", "I-region") == [("region", "苏州")]
    assert spans("苏州住院", [(0, 2), (2, 4)], "B-region", "I-service") == [("region", "苏州"), ("service", "住院")]


def test_blanks_are_no_part_of_a_slot() -> None:
    assert spans(" 苏州 好", [(0, 4), (4, 5)], "B-region", "O") == [("region", "苏州")]
    assert spans("  ", [(0, 2)], "B-region") == []


def test_padding_is_not_read() -> None:
    assert spans("苏州", [(0, 2)], "B-region", "B-service", "B-service") == [("region", "苏州")]
