"""Colloquial wording → the wording of documents, by the rules of the pack. Titles in 《》 are left as they are."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from orchestrator.domain.pack import DomainPack

__all__ = ["MARKED_TITLE", "Normalised", "Normaliser", "Replacement", "clean"]

# 《中华人民共和国社会保险法》, also with a 〈…〉 inside.
MARKED_TITLE = re.compile(r"《([^《》]{2,120})》")
# Rules feed on each other; a text that grows beyond this factor is a pack gone wrong.
MAX_GROWTH = 4


@dataclass(frozen=True, slots=True)
class Replacement:
    """One replacement that was made: the text before and after."""

    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Normalised:
    """A question in the wording of documents, and what was replaced on the way."""

    text: str
    replacements: tuple[Replacement, ...] = ()


def clean(question: str) -> str:
    """One line of visible text: control characters gone, white space collapsed, full-width letters and digits plain."""
    visible = "".join(" " if char.isspace() else char for char in question if char.isspace() or _visible(char))
    plain = "".join(unicodedata.normalize("NFKC", char) if _is_wide_letter(char) else char for char in visible)
    return " ".join(plain.split())


def _visible(char: str) -> bool:
    # Cc: controls, Cf: zero-width and bidirectional marks, Cs/Co/Cn: nothing that a question can hold.
    return unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Co", "Cn"}


def _is_wide_letter(char: str) -> bool:
    return "０" <= char <= "９" or "Ａ" <= char <= "Ｚ" or "ａ" <= char <= "ｚ" or char == "％"


class Normaliser:
    """The colloquial rules of one pack, compiled."""

    def __init__(self, pack: DomainPack) -> None:
        self._rules = [
            (re.compile(rule.pattern), rule.to)
            if rule.pattern
            else (re.compile(re.escape(rule.phrase)), rule.to.replace("\\", r"\\"))
            for rule in pack.colloquial
        ]

    def rewrite(self, text: str) -> Normalised:
        """Apply every rule in turn to a cleaned question."""
        limit = MAX_GROWTH * len(text) + 200
        replacements: list[Replacement] = []
        current = text
        for pattern, template in self._rules:
            rewritten, made = _apply(pattern, template, current)
            # A rule must neither eat the whole question nor blow it up.
            if made and rewritten.strip("，。？！?!,. ") and len(rewritten) <= limit:
                current = rewritten
                replacements.extend(made)
        return Normalised(current.strip(), tuple(replacements))


def _apply(pattern: re.Pattern[str], template: str, text: str) -> tuple[str, list[Replacement]]:
    protected = [match.span() for match in MARKED_TITLE.finditer(text)]
    made: list[Replacement] = []

    def replace(match: re.Match[str]) -> str:
        if any(match.start() < end and start < match.end() for start, end in protected):
            return match[0]
        after = match.expand(template)
        if after != match[0]:
            made.append(Replacement(match[0], after))
        return after

    return pattern.sub(replace, text), made
