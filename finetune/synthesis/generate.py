"""Templates → labelled questions: filled, paraphrased, made noisy; seeded, and split by wording."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from finetune.draw import draw
from finetune.synthesis.noise import MarkedChar, add_noise
from finetune.synthesis.questions import LabelledQuestion, LabelledSlot, Split
from orchestrator.domain.lexicon import SlotMatcher
from orchestrator.domain.pack import DomainPack
from orchestrator.domain.templates import Choice, Hole, Template, Templates

__all__ = ["SPLITS", "Synthesis", "synthesise"]

SPLITS: tuple[Split, ...] = ("train", "validation", "test")

Filling = tuple[str, str, str]  # slot type, spelling, value

# A template with few places yields few different questions; after this many repeats it has given what it has.
ATTEMPTS_PER_ROW = 4


@dataclass(frozen=True, slots=True)
class Synthesis:
    """How much to make, and of what.

    Attributes:
        per_template: questions of each wording, at most.
        noise: share of the questions that people's slips are put into.
        paraphrase: chance that a phrase with other wordings is said in one of them.
        test, validation: shares of each intent's wordings that no training question is made from.
        held_out_values: share of the spellings that no training question holds.
    """

    seed: int = 0
    per_template: int = 6
    noise: float = 0.2
    paraphrase: float = 0.25
    test: float = 0.15
    validation: float = 0.1
    held_out_values: float = 0.1


def synthesise(pack: DomainPack, templates: Templates, how: Synthesis) -> list[LabelledQuestion]:
    """Make questions; the same arguments make the same ones, in the same order.

    Every text occurs once; one that a held-out wording could also have made stays with the split that made it first:
    test, then validation, then training.
    """
    maker = _Maker(pack, templates, how)
    splits = _splits(templates.templates, how)
    seen: set[str] = set()
    made: list[LabelledQuestion] = []
    for split in reversed(SPLITS):
        for template in templates.templates:
            if splits[template.intent_id, template.source] == split:
                made.extend(_distinct(maker.questions(template, split), how.per_template, seen))
    return made


def _distinct(
    questions: Iterator[tuple[str, LabelledQuestion]], wanted: int, seen: set[str]
) -> Iterator[LabelledQuestion]:
    """The first questions that differ by more than noise."""
    found = 0
    for clean, question in itertools.islice(questions, wanted * ATTEMPTS_PER_ROW):
        if clean in seen or question.text in seen:
            continue
        seen.update((clean, question.text))
        yield question
        found += 1
        if found == wanted:
            return


def _splits(templates: Sequence[Template], how: Synthesis) -> dict[tuple[str, str], Split]:
    """Which split each wording belongs to: for every intent the same shares, drawn by the wording's own hash."""
    found: dict[tuple[str, str], Split] = {}
    by_intent = itertools.groupby(
        sorted(templates, key=lambda one: (one.intent_id, draw(how.seed, one.source))), lambda one: one.intent_id
    )
    for intent_id, group in by_intent:
        wordings = [template.source for template in group]
        tests = round(len(wordings) * how.test)
        validations = round(len(wordings) * how.validation)
        for place, wording in enumerate(wordings):
            split: Split = "test" if place < tests else "validation" if place < tests + validations else "train"
            found[intent_id, wording] = split
    return found


class _Maker:
    def __init__(self, pack: DomainPack, templates: Templates, how: Synthesis) -> None:
        self._how = how
        # A spelling that is a slot in one question and none in the next would teach nothing.
        self._find_slots = SlotMatcher(pack, colloquial=True).find
        self._all = templates.spellings
        self._trained = {
            slot_type: tuple(pair for pair in pairs if draw(how.seed, f"{slot_type}={pair[0]}") >= how.held_out_values)
            for slot_type, pairs in templates.spellings.items()
        }
        self._paraphrases = templates.paraphrases

    def questions(self, template: Template, split: Split) -> Iterator[tuple[str, LabelledQuestion]]:
        """Questions of one wording, without end, each behind its text before noise."""
        rng = random.Random(f"{self._how.seed}:{template.intent_id}:{template.source}")  # noqa: S311 (no secrets here)
        while True:
            yield self._question(template, split, rng)

    def _question(self, template: Template, split: Split, rng: random.Random) -> tuple[str, LabelledQuestion]:
        fillings: list[Filling] = []
        spellings = self._trained if split == "train" else self._all
        text = list(self._fill(template.parts, spellings, fillings, rng))
        text = self._label_rest(text, fillings)
        clean = _plain(text)
        noisy = rng.random() < self._how.noise
        if noisy:
            text = add_noise(text, rng)
        return clean, LabelledQuestion(
            text=_plain(text),
            intent=template.intent_id,
            slots=tuple(_spans(text, fillings)),
            split=split,
            template=template.source,
            noisy=noisy,
        )

    def _fill(
        self,
        parts: tuple[str | Hole | Choice, ...],
        spellings: dict[str, tuple[tuple[str, str], ...]],
        fillings: list[Filling],
        rng: random.Random,
    ) -> Iterator[MarkedChar]:
        for part in parts:
            if isinstance(part, Choice):
                yield from self._fill(rng.choice(part.options), spellings, fillings, rng)
            elif isinstance(part, Hole):
                fillings.append(self._draw_filling(part, spellings, fillings, rng))
                yield from (MarkedChar(char, len(fillings) - 1) for char in fillings[-1][1])
            else:
                yield from map(MarkedChar, self._paraphrased(part, rng))

    def _draw_filling(
        self,
        hole: Hole,
        spellings: dict[str, tuple[tuple[str, str], ...]],
        fillings: list[Filling],
        rng: random.Random,
    ) -> Filling:
        fitting = [
            pairs
            for source in (spellings, self._all)
            if (pairs := [pair for pair in source[hole.slot_type] if not hole.values or pair[1] in hole.values])
        ]
        # 三级和三级 asks nothing: a value stands once.
        taken = {value for slot_type, _, value in fillings if slot_type == hole.slot_type}
        fresh = [pair for pair in fitting[0] if pair[1] not in taken] or fitting[0]
        return (hole.slot_type, *rng.choice(fresh))

    def _paraphrased(self, text: str, rng: random.Random) -> str:
        for paraphrase in self._paraphrases:
            if paraphrase.of in text and rng.random() < self._how.paraphrase:
                text = text.replace(paraphrase.of, rng.choice(paraphrase.others), 1)
        return text

    def _label_rest(self, text: list[MarkedChar], fillings: list[Filling]) -> list[MarkedChar]:
        """Label what the lexicon finds, colloquial spellings included, outside of the places that were filled."""
        labelled = list(text)
        for match in self._find_slots(_plain(text)):
            if all(labelled[place].slot < 0 for place in range(match.start, match.end)):
                fillings.append((match.slot_type, match.text, match.value))
                for place in range(match.start, match.end):
                    labelled[place] = MarkedChar(labelled[place].char, len(fillings) - 1)
        return labelled


def _spans(text: Sequence[MarkedChar], fillings: Sequence[Filling]) -> Iterator[LabelledSlot]:
    for slot, group in itertools.groupby(range(len(text)), lambda place: text[place].slot):
        places = list(group)
        if slot >= 0:
            start, end = places[0], places[-1] + 1
            slot_type, _, value = fillings[slot]
            yield LabelledSlot(type=slot_type, start=start, end=end, text=_plain(text[start:end]), value=value)


def _plain(text: Sequence[MarkedChar]) -> str:
    return "".join(item.char for item in text)
