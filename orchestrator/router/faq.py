"""Whether a question is one of the pack's frequent ones. A near miss is none: an FAQ answers exactly its question."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from orchestrator.domain.lexicon import SlotMatch, fold
from orchestrator.domain.pack import DomainPack
from orchestrator.domain.schema import FaqEntry
from orchestrator.router.examples import ExampleBank

__all__ = ["FaqMatcher"]

# Dice's coefficient of character bigrams: alone, it must be nearly the same wording …
SAME_WORDING = 0.8
# … and with vectors that agree (centred cosine), about half of it.
LIKE_WORDING = 0.5
LIKE_MEANING = 0.6


class FaqMatcher:
    """The FAQ of one pack.

    Args:
        pack: with the entries.
        normalise: the pack's own rewriting, so that both sides are worded alike.
        find_slots: the slots of a text.
    """

    def __init__(
        self, pack: DomainPack, normalise: Callable[[str], str], find_slots: Callable[[str], Sequence[SlotMatch]]
    ) -> None:
        self._scope = frozenset(pack.scope_dimensions)
        self._find_slots = find_slots
        worded = [(normalise(question), entry) for entry in pack.faq for question in entry.questions]
        self._entries = [entry for _, entry in worded]
        self.questions: tuple[str, ...] = tuple(text for text, _ in worded)
        self._bigrams = [_bigrams(text) for text in self.questions]
        self._conditions = [self._conditions_of(text) for text in self.questions]
        self._vectors: npt.NDArray[np.float32] | None = None

    def learn(self, vectors: npt.NDArray[np.float32]) -> None:
        """Take the vectors of `questions`, shape [questions, dimension]."""
        self._vectors = vectors

    def find(
        self,
        text: str,
        vector: npt.NDArray[np.float32] | None,
        bank: ExampleBank | None,
        slots: Iterable[tuple[str, str]] = (),
    ) -> FaqEntry | None:
        """The entry that asks what ``text`` (normalised) asks, under the same conditions; else None.

        ``slots``, (type, value), may hold conditions that the text's own spelling does not show.
        """
        asked = _bigrams(text)
        conditions = self._conditions_of(text) | {slot for slot in slots if slot[0] in self._scope}
        best: tuple[float, FaqEntry] | None = None
        for place, known in enumerate(self._bigrams):
            alike = _dice(asked, known)
            # A condition that the entry does not know may change the answer.
            if alike < LIKE_WORDING or not conditions <= self._conditions[place]:
                continue
            if alike < SAME_WORDING and not self._means_the_same(place, vector, bank):
                continue
            if best is None or alike > best[0]:
                best = (alike, self._entries[place])
        return best[1] if best else None

    def _means_the_same(self, place: int, vector: npt.NDArray[np.float32] | None, bank: ExampleBank | None) -> bool:
        if vector is None or bank is None or self._vectors is None:
            return False
        return bank.similarity_to(vector, self._vectors[place]) >= LIKE_MEANING

    def _conditions_of(self, text: str) -> frozenset[tuple[str, str]]:
        return frozenset(
            (match.slot_type, match.value) for match in self._find_slots(text) if match.slot_type in self._scope
        )


def _bigrams(text: str) -> Counter[str]:
    letters = [char for char in fold(text) if char.isalnum()]
    return Counter(first + second for first, second in itertools.pairwise(letters))


def _dice(one: Counter[str], other: Counter[str]) -> float:
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 0.0
