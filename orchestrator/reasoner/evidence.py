"""The passages of one request, read, and how far each of their sentences bears on a question."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from orchestrator.domain.lexicon import SlotMatch
from orchestrator.domain.quantity import Quantity, QuantityKind
from orchestrator.reasoner.lazy import lazy
from orchestrator.reasoner.matters import MatterHit
from orchestrator.reasoner.question import QuestionPart
from orchestrator.reasoner.reading import ClauseReading, PackReader, Statement
from orchestrator.reasoner.scope import Scope, merge
from orchestrator.reasoner.sentences import Sentence
from trias.v1 import document_pb2, passage_pb2, plan_pb2

__all__ = ["Evidence", "Reading", "Source", "read_sources", "readings_of", "relevance_to"]

# What a sentence's surroundings (lead-in, headings, title, the rest of its clause) add to its own words.
LEAD_CREDIT, HEADING_CREDIT, TITLE_CREDIT, CLAUSE_CREDIT = 0.8, 0.6, 0.5, 0.4
# Shares of relevance: words in common, the kind of quantity asked for, the matter, the retriever's own confidence.
WORD_SHARE, KIND_SHARE, MATTER_SHARE, PASSAGE_SHARE = 0.6, 0.15, 0.15, 0.2
# What is left of the relevance of a sentence about another region, grade or population.
OUT_OF_SCOPE = 0.25
# What is left for sentences that only state a document's purpose, publication or entry into force.
BOILERPLATE = 0.5
# What is left for documents other than the one that the question names.
OTHER_DOCUMENT = 0.6

_GONE = frozenset({passage_pb2.VALIDITY_REPEALED, passage_pb2.VALIDITY_EXPIRED})


@dataclass(frozen=True, eq=False)
class Source:
    """One passage of a request.

    Attributes:
        index: its place in the request, from 0.
        said: what its clause says.
        title: of its document, in the pack's usual terms.
        scope: what limits the whole clause: its headings, then its document.
    """

    index: int
    passage: passage_pb2.Passage
    said: ClauseReading
    title: str
    scope: Scope

    @lazy
    def clause(self) -> document_pb2.Clause:
        """The passage's clause."""
        return self.passage.clause

    @lazy
    def document(self) -> document_pb2.Document:
        """The document that holds it."""
        return self.passage.document

    @lazy
    def source_id(self) -> str:
        """The passage's id."""
        return self.passage.source_id

    @lazy
    def document_id(self) -> str:
        """The document's id."""
        return self.document.document_id

    @lazy
    def confidence(self) -> float:
        """The retriever's, in [0,1]."""
        return self.passage.confidence

    @lazy
    def is_gone(self) -> bool:
        """Whether the document is repealed or expired."""
        return self.passage.validity in _GONE or self.document.status == document_pb2.DOCUMENT_STATUS_REPEALED

    @lazy
    def is_pending(self) -> bool:
        """Whether the document is not in force yet."""
        return self.passage.validity == passage_pb2.VALIDITY_NOT_YET_EFFECTIVE

    @property
    def sentences(self) -> tuple[Sentence, ...]:
        """The sentences of the clause, in order."""
        return self.said.sentences

    @property
    def label(self) -> str:
        """第十二条, or the innermost label of its path."""
        return self.said.label

    @lazy
    def surroundings(self) -> tuple[tuple[str, float], ...]:
        """What stands around every sentence of it, in the pack's usual terms, with the credit that it earns."""
        return ((self.said.heading.canonical, HEADING_CREDIT), (self.title, TITLE_CREDIT))


class Reading:
    """A sentence of a passage, and what it says there."""

    def __init__(self, source: Source, said: Statement) -> None:
        self.source = source
        self.said = said

    @property
    def sentence(self) -> Sentence:
        """The sentence itself."""
        return self.said.sentence

    @property
    def reader(self) -> PackReader:
        """Whose words it is read with."""
        return self.said.reader

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """Its quantities, in order."""
        return self.said.quantities

    @property
    def mentions(self) -> tuple[SlotMatch, ...]:
        """The scope values that it names."""
        return self.said.mentions

    @property
    def matter_hits(self) -> tuple[MatterHit, ...]:
        """The matters that it names."""
        return self.said.matter_hits

    @lazy
    def wider_scope(self) -> Scope:
        """What limits it from outside: lead-in, then headings, then the document."""
        return merge(self.said.lead.scope, self.source.scope)

    @lazy
    def scope(self) -> Scope:
        """What limits the sentence as a whole."""
        return merge(self.said.scope, self.wider_scope)

    def number_scope(self, index: int) -> Scope:
        """What limits one of its quantities."""
        return merge(self.said.number_scopes[index], self.wider_scope)


class Evidence(NamedTuple):
    """A sentence with its worth for one question.

    Attributes:
        relevance: in [0,1].
        overlap: the weighted share of the question's words that the sentence and its surroundings hold, in [0,1].
        in_scope: whether something in it applies to what the question limits itself to.
        names_source: whether the question names its document.
    """

    reading: Reading
    relevance: float
    overlap: float
    in_scope: bool
    names_source: bool = False

    @property
    def sentence(self) -> Sentence:
        """The sentence itself."""
        return self.reading.said.sentence

    @property
    def source(self) -> Source:
        """The passage that it stands in."""
        return self.reading.source


def read_sources(passages: Sequence[passage_pb2.Passage], reader: PackReader) -> list[Source]:
    """The passages, read; what limits a whole document comes from its region, title and headings."""
    sources = []
    documents: dict[str, tuple[str, Scope]] = {}
    for index, passage in enumerate(passages):
        document = passage.document
        key = document.document_id or document.title
        if key not in documents:
            scope = reader.surrounding(f"{document.region} {document.title}").scope
            documents[key] = reader.canonical(document.title), scope
        title, scope = documents[key]
        said = reader.clause(passage.clause)
        sources.append(Source(index, passage, said, title, merge(said.heading.scope, scope)))
    return sources


def readings_of(sources: Iterable[Source]) -> list[Reading]:
    """Every sentence of every passage."""
    return [Reading(source, statement) for source in sources for statement in source.said.statements]


def gram_weights(part: QuestionPart, texts: Sequence[str]) -> dict[str, float]:
    """How much each bigram of the question tells: log(1 + (N − n + ½)/(n + ½)), n the sentences that hold it.

    It is BM25's inverse document frequency over the sentences at hand: what all of them say tells next to nothing.
    """
    weights = {}
    for gram in part.grams:
        holding = sum(1 for text in texts if gram in text)
        weights[gram] = math.log1p((len(texts) - holding + 0.5) / (holding + 0.5))
    return weights


def relevance_to(part: QuestionPart, readings: Sequence[Reading], limit: int) -> list[Evidence]:
    """The sentences that bear on a question, best first.

    Args:
        part: the question.
        readings: every sentence of every passage.
        limit: how many to read closely; the rest are left out.
    """
    surroundings = [_surroundings(part, reading) for reading in readings]
    texts = [reading.said.body + around[0][0] for reading, around in zip(readings, surroundings, strict=True)]
    weights = gram_weights(part, texts)
    total = sum(weights.values()) or 1.0
    overlaps = [
        _words_in_common(weights, reading.said.body, around) / total
        for reading, around in zip(readings, surroundings, strict=True)
    ]
    order = sorted(range(len(readings)), key=lambda index: (-overlaps[index], index))[:limit]
    evidence = [_weigh(part, readings[index], overlaps[index]) for index in order]
    return sorted(evidence, key=lambda item: -item.relevance)


def _surroundings(part: QuestionPart, reading: Reading) -> tuple[tuple[str, float], ...]:
    said, source = reading.said, reading.source
    around = ((said.lead.canonical, LEAD_CREDIT), *source.surroundings)
    if said.sentence.kind == "row":
        return ((said.canonical, HEADING_CREDIT), *around)
    # 自受理之日起5个工作日内办结: what a number belongs to is often said in the sentence before.
    if part.kinds and said.is_numeric:
        return (*around, (source.said.canonical, CLAUSE_CREDIT))
    return around


def _words_in_common(weights: Mapping[str, float], body: str, surroundings: Sequence[tuple[str, float]]) -> float:
    """The weight of the bigrams that a sentence holds; of those that only its surroundings hold, a part."""
    common = 0.0
    for gram, weight in weights.items():
        if gram in body:
            common += weight
            continue
        for text, credit in surroundings:
            if gram in text:
                common += weight * credit
                break
    return common


def _weigh(part: QuestionPart, reading: Reading, overlap: float) -> Evidence:
    said = reading.said
    share, earned = WORD_SHARE + PASSAGE_SHARE, WORD_SHARE * overlap + PASSAGE_SHARE * reading.source.confidence
    if part.kinds:
        share += KIND_SHARE
        earned += KIND_SHARE * any(quantity.kind in part.kinds for quantity in said.quantities)
    if part.question_type == plan_pb2.QUESTION_TYPE_DEFINITION:
        share += KIND_SHARE
        earned += KIND_SHARE * said.defines
    if part.matters:
        share += MATTER_SHARE
        earned += MATTER_SHARE * _states(said, part.matters)
    in_scope = _in_scope(part, reading)
    factor = 1.0 if in_scope else OUT_OF_SCOPE
    if QuantityKind.DATE not in part.kinds and said.is_boilerplate:
        factor *= BOILERPLATE
    named = any(_names(title, reading.source.document.title) for title in part.titles)
    if part.titles and not named:
        factor *= OTHER_DOCUMENT
    return Evidence(reading, min(1.0, factor * earned / share), overlap, in_scope, named)


def _states(said: Statement, matters: frozenset[str]) -> bool:
    """Whether a sentence, its lead-in or the headings above it name one of some matters."""
    if any(hit.matter.name in matters for hits in said.wider_matter_hits for hit in hits):
        return True
    if not said.reader.matters.may_name(said.text, matters):
        return False
    return any(hit.matter.name in matters for hit in said.matter_hits)


def _names(title: str, document_title: str) -> bool:
    return bool(document_title) and (title in document_title or document_title in title)


def _in_scope(part: QuestionPart, reading: Reading) -> bool:
    """Whether the sentence, or some quantity in it, applies to what the question limits itself to."""
    if not part.scope:
        return True
    scopes = reading.reader.scopes
    if not reading.quantities:
        return scopes.compatible(reading.scope, part.scope)
    return any(scopes.compatible(reading.number_scope(index), part.scope) for index in range(len(reading.quantities)))
