"""What people do to text: slips of the keyboard, fillers, particles, punctuation and widths. Labels move along.

Text is a list of marked characters, each with the place of the slot that it belongs to (or none), so that spans follow
from what is left.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources

import yaml

__all__ = ["MarkedChar", "add_noise"]

OUTSIDE = -1
# Most slips come alone.
SECOND_SLIP = 0.3

_FULL_WIDTH = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}
_HALF_WIDTH = {wide: code for code, wide in _FULL_WIDTH.items()}


@dataclass(frozen=True, slots=True)
class MarkedChar:
    """A character and the place of its slot; -1 outside of slots."""

    char: str
    slot: int = OUTSIDE


Marked = list[MarkedChar]


@dataclass(frozen=True, slots=True)
class _Language:
    alike: dict[str, str]
    fillers: tuple[str, ...]
    particles: tuple[str, ...]
    punctuation: tuple[str, ...]


def _load() -> _Language:
    text = (resources.files("finetune.synthesis") / "noise_zh.yaml").read_text(encoding="utf-8")
    tree = yaml.safe_load(text)
    alike: dict[str, str] = {}
    for group in tree["alike"]:
        for char in group:
            alike[char] = alike.get(char, "") + group.replace(char, "")
    return _Language(alike, tuple(tree["fillers"]), tuple(tree["particles"]), tuple(tree["punctuation"]))


_CHINESE = _load()


def add_noise(text: Marked, rng: random.Random) -> Marked:
    """One slip, sometimes two, of a kind drawn at random; a slip that finds nothing to work on is drawn anew.

    Never empties a slot: what is labelled stays there, misspelt perhaps.
    """
    for _ in range(1 + (rng.random() < SECOND_SLIP)):
        for slip in rng.sample(_SLIPS, len(_SLIPS)):
            changed = slip(text, rng)
            if changed != text:
                text = changed
                break
    return text


def _typo(text: Marked, rng: random.Random) -> Marked:
    places = [place for place, item in enumerate(text) if item.char in _CHINESE.alike]
    if not places:
        return text
    place = rng.choice(places)
    wrong = rng.choice(_CHINESE.alike[text[place].char])
    return [*text[:place], MarkedChar(wrong, text[place].slot), *text[place + 1 :]]


def _drop(text: Marked, rng: random.Random) -> Marked:
    sizes: dict[int, int] = {}
    for item in text:
        sizes[item.slot] = sizes.get(item.slot, 0) + 1
    # A slot of two characters is no longer itself with one of them gone.
    places = [place for place, item in enumerate(text) if item.slot == OUTSIDE or sizes[item.slot] > 2]
    if len(text) < 4 or not places:
        return text
    place = rng.choice(places)
    return text[:place] + text[place + 1 :]


def _duplicate(text: Marked, rng: random.Random) -> Marked:
    place = rng.randrange(len(text))
    return text[: place + 1] + text[place:]


def _fill(text: Marked, rng: random.Random) -> Marked:
    gaps = [0, *(place + 1 for place, item in enumerate(text) if item.char in "，,。；")]
    return _insert(text, rng.choice(gaps), rng.choice(_CHINESE.fillers))


def _particle(text: Marked, rng: random.Random) -> Marked:
    end = len(text)
    while end > 0 and text[end - 1].char in "？?。！!":
        end -= 1
    return _insert(text, end, rng.choice(_CHINESE.particles))


def _punctuate(text: Marked, rng: random.Random) -> Marked:
    places = [place for place, item in enumerate(text) if item.slot == OUTSIDE and item.char in "，,。；？?！! "]
    if places and rng.random() < 0.5:
        place = rng.choice(places)
        return text[:place] + text[place + 1 :]
    return _insert(text, len(text), rng.choice(_CHINESE.punctuation))


def _width(text: Marked, rng: random.Random) -> Marked:
    table = rng.choice((_FULL_WIDTH, _HALF_WIDTH))
    return [MarkedChar(item.char.translate(table), item.slot) for item in text]


def _insert(text: Marked, place: int, words: str) -> Marked:
    return text[:place] + [MarkedChar(char) for char in words] + text[place:]


_SLIPS: tuple[Callable[[Marked, random.Random], Marked], ...] = (
    _typo,
    _drop,
    _duplicate,
    _fill,
    _particle,
    _punctuate,
    _width,
)
