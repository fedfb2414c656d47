"""Lines into text: Chinese is joined without a space, Latin words with one."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

__all__ = ["display_width", "is_wide", "join_lines"]


def is_wide(char: str) -> bool:
    """Whether a character is as wide as an ideograph; an empty string is not."""
    return bool(char) and unicodedata.east_asian_width(char) in "WF"


def display_width(text: str) -> int:
    """How many columns a text takes where an ideograph takes two."""
    return sum(2 if is_wide(char) else 1 for char in text)


def join_lines(texts: Iterable[str]) -> str:
    """Join the lines of one paragraph; a Latin word that is hyphenated at a line's end becomes one word again."""
    joined = ""
    for text in texts:
        following = text.strip()
        if not joined or not following or is_wide(joined[-1]) or is_wide(following[0]):
            joined += following
        elif joined[-1] == "-" and joined[-2:-1].isalpha() and following[0].islower():
            joined = joined[:-1] + following
        else:
            joined += " " + following
    return joined
