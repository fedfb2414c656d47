"""Whether the evidence carries an answer at all, or the honest answer is "I don't know"."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.reasoner.evidence import Evidence, Reading
from orchestrator.reasoner.question import QuestionPart
from trias.v1 import plan_pb2

__all__ = ["Assessment", "assess", "foreign_words"]

# A logistic model of "these passages hold the answer". The weights were set on questions of two public sets of real
# regulations, answerable ones against the same ones with the law that answers them taken away.
INTERCEPT = -1.3
OVERLAP_WEIGHT = 1.2
TRUST_WEIGHT = 2.0
FOREIGN_WEIGHT = -5.0
FOREIGN_HEAD_WEIGHT = -1.0
# What a word means is asked for, and no sentence that bears on it defines anything.
UNDEFINED_WEIGHT = -1.0
DEFINING_SENTENCES = 5
# Lay wording is never wholly that of a document: this share of foreign characters is normal.
FOREIGN_ALLOWANCE = 0.1
# A stretch of the question that no passage knows counts from this length on: below it, it's a word's inflection.
FOREIGN_CHARACTERS = 2
# Words about the question, not about its subject: no document need have them.
_GENERAL = re.compile(
    r"[\d０-９]+年?|百分之|定义|含义|监管|概念|条件|内容|部门|机构|目标|目的|步骤|组成|原则|后果|影响|作用|对象|人群|方面|种类|类型|分类|满足|符合|遵守|坚持|遇到"
    r"|提到|提及|想要|想|变更为|才能|之后|之前|以后|以前|存在|产生|别人|会有|会受|受到|几级|记录|负责|申请|自行|适用于?|办理|公开|透明"
    r"|标准|情况|问题|东西|手续|材料|时间|多少|钱|做|用|办|给|让|找|去|来|不|没|有|无|会|能|要|得|该|应|可|将|为|已|其|中|后|前|时|些|样|人|家|还"
)


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
    library = f"{_library(readings)}\n{readings[0].reader.vocabulary}"
    trust = max(retrieval_confidence, evidence[0].source.confidence)
    missing = foreign_words(part.canonical_runs, library)
    share = sum(len(word) for word in missing) / sum(len(run) for run in part.canonical_runs)
    # 宠物医疗保险: what begins the question is what it is about.
    head = any(part.canonical_runs[0].startswith(word) for word in missing)
    if part.titles and any(item.names_source for item in evidence):
        # The question names its document, and it is here: what else it says may be anything.
        head, share = False, share / 2
    score = (
        INTERCEPT
        + OVERLAP_WEIGHT * max(item.overlap for item in evidence)
        + TRUST_WEIGHT * trust
        + FOREIGN_WEIGHT * max(0.0, share - FOREIGN_ALLOWANCE)
        + FOREIGN_HEAD_WEIGHT * head
        + UNDEFINED_WEIGHT * _undefined(part, evidence)
    )
    return Assessment(1.0 / (1.0 + math.exp(-score)), missing)


def _undefined(part: QuestionPart, evidence: Sequence[Evidence]) -> bool:
    if part.question_type != plan_pb2.QUESTION_TYPE_DEFINITION:
        return False
    return not any(item.reading.said.defines for item in evidence[:DEFINING_SENTENCES])


def _library(readings: Sequence[Reading]) -> str:
    """Everything that the passages say, titles and headings included, in the pack's usual terms."""
    texts: dict[str, None] = {}
    source = None
    for reading in readings:
        if reading.source is not source:
            source = reading.source
            heading = source.said.heading
            texts.update(dict.fromkeys((heading.canonical, heading.text, source.title, source.document.title)))
        texts[reading.said.canonical] = None
        texts[reading.said.text] = None
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
            word = run[start:index]
            if len(_GENERAL.sub("", word)) >= FOREIGN_CHARACTERS:
                found.append(word)
            start = index + 1
    return tuple(sorted(dict.fromkeys(found), key=len, reverse=True))
