"""Short names that a document gives to others: 《…管理办法》（以下简称《管理办法》）."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["read_abbreviations"]

# Between the title and its short name at most a number stands: 《…》（国发〔2020〕5号，以下简称《意见》）.
_DEFINITION = re.compile(
    r"((?:《[^》]+》[、和及]?)+)\s*[（(][^（()）。]{0,40}?(?:以下|下)(?:统|合|分别)?简称[为：:]?([^（()）]{2,60})[）)]"
)
_TITLE = re.compile(r"《([^》]+)》")
_NAME = re.compile(r"[《“\"「]*([^《》“”\"「」、，和]{2,30})[》”\"」]*")


def read_abbreviations(texts: Iterable[str]) -> dict[str, str]:
    """Short name → full title, both without 《》; several titles and as many names in one bracket go in pairs."""
    found: dict[str, str] = {}
    for text in texts:
        for match in _DEFINITION.finditer(text):
            titles = _TITLE.findall(match[1])
            names = _NAME.findall(match[2])
            if len(names) == 1:
                titles = titles[-1:]
            if len(titles) == len(names):
                found |= dict(zip(names, titles, strict=True))
    return found
