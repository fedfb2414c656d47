"""Whether the evidence carries an answer at all, or the honest answer is "I don't know"."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.reasoner.evidence import Evidence, Reading
from orchestrator.reasoner.question import QuestionPart

__all__ = ["Assessment", "assess", "foreign_words"]

# A logistic model of "these passages hold the answer".
INTERCEPT = -3.0
BEST_WEIGHT = 3.0
UNION_WEIGHT = 2.0
TRUST_WEIGHT = 2.0
FOREIGN_WEIGHT = -2.5
# A stretch of the question that no passage knows counts from this length on: below it, it's a word's inflection.
FOREIGN_CHARACTERS = 2


@dataclass(frozen=True)
class Assessment:
    """How well the passages carry an answer to one part of a question.

    Attributes:
        confidence: that they do, in [0,1].
        missing: the words of the question that no passage knows, longest first.
    """

    confidence: float
    missing: tuple[str, ...]


def assess(
    part: QuestionPart, evidence: Sequence[Evidence], readings: Sequence[Reading], retrieval_confidence: float
) -> Assessment:
    """Judge the evidence for one part of a question.

    Args:
        part: the question.
        evidence: its sentences, best first.
        readings: every sentence of every passage.
        retrieval_confidence: the retriever's own, in [0,1].
    """
    if not evidence or not part.grams:
        return Assessment(0.0, ())
    library = _library(readings)
    best = max(item.overlap for item in evidence)
    union = sum(1 for gram in part.grams if gram in library) / len(part.grams)
    trust = (retrieval_confidence + evidence[0].source.passage.confidence) / 2
    missing = foreign_words(part.canonical_runs, library)
    length = sum(len(run) for run in part.canonical_runs)
    foreign = sum(len(word) for word in missing) / length
    score = INTERCEPT + BEST_WEIGHT * best + UNION_WEIGHT * union + TRUST_WEIGHT * trust + FOREIGN_WEIGHT * foreign
    return Assessment(1.0 / (1.0 + math.exp(-score)), missing)


def _library(readings: Sequence[Reading]) -> str:
    """Everything that the passages say, titles and headings included, in the pack's usual terms."""
    texts: dict[str, None] = {}
    for reading in readings:
        canonical = reading.reader.canonical
        for text in (reading.sentence.text, reading.source.heading, reading.source.document.title):
            texts[canonical(text)] = None
            texts[text] = None
    return "\n".join(texts)


def foreign_words(runs: Sequence[str], library: str) -> tuple[str, ...]:
    """Stretches of the question of which no passage knows two characters together, longest first."""
    found: list[str] = []
    for run in runs:
        known = [False] * len(run)
        for index in range(len(run) - 1):
            if run[index : index + 2] in library:
                known[index] = known[index + 1] = True
        start = 0
        for index in range(len(run) + 1):
            if index < len(run) and not known[index]:
                continue
            if index - start >= FOREIGN_CHARACTERS:
                found.append(run[start:index])
            start = index + 1
    return tuple(sorted(dict.fromkeys(found), key=len, reverse=True))
