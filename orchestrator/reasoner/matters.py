"""What a statement is about, in the pack's words: 报销比例, 起付标准, 办理时限."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from orchestrator.domain.pack import DomainPack
from orchestrator.domain.quantity import Quantity, QuantityKind
from orchestrator.domain.schema import Matter

__all__ = ["MatterHit", "MatterReader", "masked"]

_MASK = "%"
_FILL = "\x00"


def masked(text: str, quantities: Sequence[Quantity]) -> str:
    """The text with each quantity and the words that bound it blanked to ``%``; the length stays."""
    parts, done = [], 0
    for quantity in quantities:
        size = quantity.phrase_end - quantity.phrase_start
        parts += [text[done : quantity.phrase_start], _MASK, _FILL * (size - 1)]
        done = quantity.phrase_end
    return "".join([*parts, text[done:]])


@dataclass(frozen=True, slots=True)
class MatterHit:
    """A matter named at [start, end) of a sentence."""

    matter: Matter
    start: int
    end: int


class MatterReader:
    """Finds one pack's matters in sentences. Immutable: safe to share between threads."""

    def __init__(self, pack: DomainPack) -> None:
        self._by_term: dict[str, list[Matter]] = {}
        for matter in pack.matters:
            for term in matter.all_terms:
                self._by_term.setdefault(term, []).append(matter)
        blockers = {antonym for matter in pack.matters for antonym in matter.antonyms}
        words = sorted({*self._by_term, *blockers}, key=lambda word: (-len(word), word))
        # A % in a term stands for a quantity: 按照%支付.
        patterns = [re.escape(word).replace("%", f"%{_FILL}*") for word in words]
        self._pattern = re.compile("|".join(patterns)) if patterns else None
        self._terms = {
            name: tuple({term for matter in pack.matters if matter.name == name for term in matter.all_terms})
            for name in {matter.name for matter in pack.matters}
        }

    def hits(self, text: str) -> list[MatterHit]:
        """Every matter that a text (`masked` where it has quantities) names, in order; longest wording first."""
        if self._pattern is None:
            return []
        return [
            MatterHit(matter, match.start(), match.end())
            for match in self._pattern.finditer(text)
            for matter in self._by_term.get(match[0].replace(_FILL, ""), ())
        ]

    def may_name(self, text: str, names: Iterable[str]) -> bool:
        """Whether a text has a term of one of these matters; where it has none, `hits` finds none of them."""
        return any(term in text or _MASK in term for name in names for term in self._terms.get(name, ()))

    def names(self, text: str) -> frozenset[str]:
        """The names of the matters that a text names."""
        return frozenset(hit.matter.name for hit in self.hits(text))

    @staticmethod
    def of_quantity(
        quantity: Quantity, hits: Sequence[MatterHit], wider: Sequence[Sequence[MatterHit]] = ()
    ) -> MatterHit | None:
        """The matter that a quantity states: the nearest before it, else after it, else the last of a wider context.

        Args:
            quantity: of the sentence.
            hits: the sentence's own.
            wider: those of the lead-in and of the heading, nearest first; their places mean nothing here.
        """
        for hit in reversed(hits):
            if hit.start < quantity.end and _fits(hit.matter, quantity):
                return hit
        for hit in hits:
            if _fits(hit.matter, quantity):
                return hit
        for context in wider:
            for hit in reversed(context):
                if hit.matter.kind and _fits(hit.matter, quantity):
                    return MatterHit(hit.matter, -1, -1)
        return None


def _fits(matter: Matter, quantity: Quantity) -> bool:
    return not matter.kind or matter.kind == quantity.kind.value or (matter.kind == "other" and _is_fine(quantity))


def _is_fine(quantity: Quantity) -> bool:
    # A fine is an amount or a multiple.
    return quantity.kind in {QuantityKind.MONEY, QuantityKind.RATIO, QuantityKind.OTHER}
