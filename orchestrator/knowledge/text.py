"""How text becomes the tokens of the keyword index: words, and character uni- and bigrams of Chinese.

Width, case and compatibility forms are folded first (NFKC, lower case), so ``ＩＣＵ`` and ``icu`` are one token.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from operator import add

import rjieba

__all__ = ["TokenStreams", "distinct_grams", "fold", "tokenize"]

# Han ideographs of all planes, the iteration mark 々 and the zero 〇 of 二〇二四.
_HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
# A run of Han; a number with its decimals and percent sign; a word of any other script.
_RUN = re.compile(rf"(?P<han>[{_HAN}]+)|\d+(?:\.\d+)*%?|[^\W_{_HAN}]+")
_HAN_FIRST = re.compile(f"[{_HAN}]")
# Longer tokens are cut: nobody asks for them, and an index term has a limit.
_LONGEST_TOKEN = 64


@dataclass(frozen=True, slots=True)
class TokenStreams:
    """The tokens of one text, repeats kept."""

    words: list[str]
    grams: list[str]


def fold(text: str) -> str:
    """One form for each character: full width to half width, compatibility forms to plain ones, lower case."""
    # Half of a surrogate pair is no character; a badly decoded source may hold one.
    whole = text.encode("utf-8", "ignore").decode("utf-8")
    return unicodedata.normalize("NFKC", whole).lower()


def tokenize(text: str) -> TokenStreams:
    """Cut a text into words, and into the uni- and bigrams of its Chinese runs.

    Words and numbers of other scripts stand in both streams; punctuation in neither, and no bigram crosses it. The
    order of the words is not that of the text.
    """
    folded = fold(text)
    grams, others = _grams_and_others(folded)
    # The segmenter is asked once a text: it parts the runs itself, at half the cost of asking for each.
    words = [word for word in rjieba.cut(folded) if _HAN_FIRST.match(word)]
    return TokenStreams(words + others, grams + others)


def distinct_grams(text: str) -> int:
    """How many different grams a text has, by which a BM25 sum is divided; the segmenter is not asked."""
    grams, others = _grams_and_others(fold(text))
    return len({*grams, *others})


def _grams_and_others(folded: str) -> tuple[list[str], list[str]]:
    grams: list[str] = []
    others: list[str] = []
    for match in _RUN.finditer(folded):
        run = match[0]
        if match.lastgroup == "han":
            grams += run
            grams += map(add, run, run[1:])
        else:
            others.append(run[:_LONGEST_TOKEN])
    return grams, others
