"""Slips move labels along and never empty a slot."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from finetune.synthesis.noise import MarkedChar, add_noise


def marked(text: str, spans: dict[int, tuple[int, int]]) -> list[MarkedChar]:
    owner = {place: slot for slot, (start, end) in spans.items() for place in range(start, end)}
    return [MarkedChar(char, owner.get(place, -1)) for place, char in enumerate(text)]


@given(st.integers(min_value=0, max_value=10_000))
def test_slots_stay_whole(seed: int) -> None:
    text = marked("职工在三级医院住院，能报多少？", {0: (0, 2), 1: (3, 7), 2: (7, 9)})
    noisy = add_noise(text, random.Random(seed))
    places = {slot: [place for place, item in enumerate(noisy) if item.slot == slot] for slot in (0, 1, 2)}
    for found in places.values():
        assert found
        assert found == list(range(found[0], found[-1] + 1))


def test_the_shortest_text_survives() -> None:
    for seed in range(50):
        assert add_noise(marked("药", {0: (0, 1)}), random.Random(seed))


def test_seeded() -> None:
    text = marked("住院报销多少", {})
    assert add_noise(text, random.Random(3)) == add_noise(text, random.Random(3))
