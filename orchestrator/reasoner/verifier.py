"""Checks every sentence of an answer against the clauses that it cites; only what passes enters the citation buffer.

A sentence passes where each of its pieces (the writer's own frames apart) stands in a cited sentence, character by
character or nearly so, where every number equals one of the source after normalisation, and where nothing that
negates was dropped or added.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from orchestrator.domain.numerals import fold
from orchestrator.domain.quantity import Quantity, equal
from orchestrator.domain.quantity_text import parse_quantities
from orchestrator.knowledge.clause import snippet_hash_for
from orchestrator.reasoner import wording
from orchestrator.reasoner.drafts import Draft, Support
from orchestrator.reasoner.negation import is_negated
from orchestrator.reasoner.similarity import coverage, plain
from trias.v1 import reasoning_pb2

__all__ = ["Checked", "Verifier", "fault_of_claim"]

_NEGATIVE = "不未无非勿禁免没否"
_NEGATIVES = frozenset(_NEGATIVE)
_NEGATIONS = re.compile(f"[{_NEGATIVE}]")
_DIGITS = re.compile(r"\d+(?:\.\d+)?")
_ENUMERATOR = re.compile(r"[（(][一二三四五六七八九十\d]+[)）]")
_RUN = re.compile(r"[^，,；;。：:、！!？?]+")
_STOPS = re.compile(r"[，,；;。：:！!？?]")
_CUT = "\x1f"
# Comparisons with longer sources are made anew each time.
LONGEST_KEPT = 4000


@dataclass(frozen=True)
class Checked:
    """A draft after the check. ``reason`` says why it is withheld; empty where it passed."""

    draft: Draft
    reason: str
    numbers: int
    equal_numbers: int
    citations: tuple[int, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether the sentence may be shown."""
        return not self.reason


@dataclass
class Verifier:
    """Verifies the drafts of one answer and fills its citation buffer.

    Attributes:
        support_coverage: the share of a piece's bigrams that its sources must hold.
        buffer: what may be cited, in the order of first use.
    """

    support_coverage: float
    buffer: list[reasoning_pb2.Citation] = field(default_factory=list)
    _numbers: dict[tuple[str, int, int], int] = field(default_factory=dict)

    def check(self, draft: Draft) -> Checked:
        """Check one sentence; where it passes, its sources enter the buffer."""
        if draft.is_notice:
            return Checked(draft, "", 0, 0)
        reason = next((why for support in draft.supports if (why := _misquoted(support))), "")
        pieces = _pieces(draft)
        texts = tuple(text for support in draft.supports for text in _texts(support))
        # Both tiers of an answer often quote the same sentences.
        compare = _kept_comparison if sum(map(len, texts)) <= LONGEST_KEPT else _compare
        fault, numbers, equal_numbers = compare(pieces, texts, self.support_coverage)
        reason = reason or fault
        citations = () if reason else tuple(dict.fromkeys(self._cite(support) for support in draft.supports))
        return Checked(draft, reason, numbers, equal_numbers, citations)

    def _cite(self, support: Support) -> int:
        source, sentence = support.source, support.sentence
        key = (source.passage.source_id, sentence.start, sentence.end)
        if key not in self._numbers:
            number = len(self.buffer) + 1
            self._numbers[key] = number
            place = source.clause.place
            self.buffer.append(
                reasoning_pb2.Citation(
                    number=number,
                    source_id=source.passage.source_id,
                    snippet_hash=source.passage.snippet_hash or source.clause.snippet_hash,
                    sentence=sentence.source,
                    display=wording.display(source.document.title, source.label, place.page),
                    place=place if source.clause.HasField("place") else None,
                    document_id=source.document.document_id,
                    document_title=source.document.title,
                )
            )
        return self._numbers[key]


def _compare(pieces: tuple[str, ...], texts: tuple[str, ...], support_coverage: float) -> tuple[str, int, int]:
    """What the pieces say that the texts do not (empty where nothing), how many numbers they have, how many equal."""
    numbers, equal_numbers, wrong = _compare_numbers(pieces, texts)
    fault = _unsupported(pieces, texts, support_coverage)
    if wrong and not fault:
        fault = f"数值“{wrong}”与条文原文不一致"
    return fault, numbers, equal_numbers


_kept_comparison = lru_cache(maxsize=512)(_compare)


def _unsupported(pieces: Sequence[str], sources: Sequence[str], support_coverage: float) -> str:
    texts = [plain(text) for text in sources]
    for piece in pieces:
        body = plain(piece)
        if not body or any(_holds(text, body) for text in texts):
            continue
        whole = "".join(texts)
        if coverage(body, whole) < support_coverage:
            return f"“{piece}”在所引条文中没有依据"
        nearest = max(texts, key=lambda text: coverage(body, text))
        if len(_NEGATIONS.findall(body)) != len(_NEGATIONS.findall(nearest)):
            return f"“{piece}”与所引条文的肯定、否定不一致"
    return ""


def fault_of_claim(pieces: Sequence[str], sentence: str, number: tuple[int, int] | None = None) -> str:
    """What is wrong with a claim that was put together from pieces of a sentence; empty where nothing is.

    Each piece must stand in the sentence, not torn from a number or from under a negation; its numbers must be the
    sentence's; what the sentence denies before a piece, in the same run of words, the claim must deny too; and no piece
    may belong to another number than the claim's.

    Args:
        pieces: verbatim, the claim's number among them.
        sentence: that the claim is of.
        number: where the claim's number stands in it; None for a claim without one.
    """
    text = plain(sentence)
    for piece in pieces:
        if not _holds(text, plain(piece)):
            return f"“{piece}”在条文中没有依据"
    if wrong := _compare_numbers(pieces, [sentence])[2]:
        return f"数值“{wrong}”与条文原文不一致"
    if not any(is_negated(piece) for piece in pieces):
        for piece in pieces:
            if is_negated(_run_before(sentence, piece)):
                return f"“{piece}”与条文的肯定、否定不一致"
    strange = _strange_piece(pieces, sentence, number) if number is not None else ""
    return f"“{strange}”说的是另一个数值" if strange else ""


def _strange_piece(pieces: Sequence[str], sentence: str, number: tuple[int, int]) -> str:
    """The first piece that only stands in runs of words about other numbers; empty where there is none.

    县医院 of 县医院400元，市级医院900元 says nothing of the 900元.
    """
    quantities = parse_quantities(sentence)
    runs = [match.span() for match in _RUN.finditer(sentence)]
    others = [
        (start, end)
        for start, end in runs
        if not (start <= number[0] < end) and any(start <= quantity.start < end for quantity in quantities)
    ]
    own = sentence[number[0] : number[1]]
    for piece in pieces:
        if own in piece or piece in own:
            continue
        places = [match.start() for match in re.finditer(re.escape(piece), sentence)]
        if places and all(any(start <= place < end for start, end in others) for place in places):
            return piece
    return ""


def _run_before(sentence: str, piece: str) -> str:
    """The words between the last punctuation before a piece and its end."""
    place = sentence.find(piece)
    start = max((match.end() for match in _STOPS.finditer(sentence, 0, max(place, 0))), default=0)
    return sentence[start : place + len(piece)]


def _texts(support: Support) -> Iterable[str]:
    """What a piece may be found in: the sentence, as it stands and as a person reads it, and its lead-in."""
    sentence = support.sentence
    yield sentence.source
    if sentence.text != sentence.source:
        yield sentence.text
    if sentence.lead:
        yield sentence.lead
        yield sentence.lead + sentence.source


def _misquoted(support: Support) -> str:
    """Whether the cited sentence really is in the clause, and the clause is the one that was fingerprinted."""
    sentence, source = support.sentence, support.source
    if source.clause.text[sentence.start : sentence.end] != sentence.source:
        return "引文与条文原文不符"
    stated = source.passage.snippet_hash or source.clause.snippet_hash
    if stated and stated != snippet_hash_for(source.clause.text):
        return "条文内容与其指纹不符"
    return ""


def _pieces(draft: Draft) -> tuple[str, ...]:
    """What the sentence says of its sources, the writer's own words taken out."""
    text = draft.text
    for frame in sorted(set(draft.frames), key=len, reverse=True):
        text = text.replace(frame, _CUT)
    return tuple(piece for piece in text.split(_CUT) if plain(piece))


def _holds(text: str, piece: str) -> bool:
    """Whether a piece stands in a text, not torn out of a number or from under a negation."""
    start = text.find(piece)
    while start >= 0:
        before, after = text[start - 1 : start], text[start + len(piece) : start + len(piece) + 1]
        torn = (before.isdigit() and piece[0].isdigit()) or (after.isdigit() and piece[-1].isdigit())
        if not torn and before not in _NEGATIVES:
            return True
        start = text.find(piece, start + 1)
    return False


def _compare_numbers(pieces: Sequence[str], texts: Sequence[str]) -> tuple[int, int, str]:
    """How many numbers the pieces have, how many equal one of the sources, and the first that does not."""
    stated = [quantity for text in texts for quantity in parse_quantities(text)]
    digits = {digit for text in texts for digit in _DIGITS.findall(fold(text))}
    checked = right = 0
    wrong = ""
    for piece in pieces:
        quantities = parse_quantities(_ENUMERATOR.sub(lambda match: "、" * len(match[0]), piece))
        covered: list[tuple[int, int]] = [(quantity.start, quantity.end) for quantity in quantities]
        for quantity in quantities:
            checked += 1
            if any(_same(quantity, other) for other in stated):
                right += 1
            else:
                wrong = wrong or quantity.text
        for match in _DIGITS.finditer(fold(piece)):
            if any(start <= match.start() < end for start, end in covered):
                continue
            checked += 1
            if match[0] in digits:
                right += 1
            else:
                wrong = wrong or match[0]
    return checked, right, wrong


def _same(quantity: Quantity, other: Quantity) -> bool:
    # A quote may end before the word that bounds the number; it may not change the number.
    verbatim = (
        quantity.text == other.text
        and quantity.unit == other.unit
        and quantity.value == other.value
        and quantity.upper == other.upper
    )
    return verbatim or equal(quantity, other)
