"""The passages, read: sentences with their quantities, matters, scopes, and how far each bears on a question."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from orchestrator.domain.lexicon import SlotMatch
from orchestrator.domain.pack import DomainPack
from orchestrator.domain.quantity import Quantity, QuantityKind
from orchestrator.domain.quantity_text import parse_quantities
from orchestrator.reasoner.matters import MatterHit, MatterReader, masked
from orchestrator.reasoner.question import QuestionPart
from orchestrator.reasoner.scope import Scope, ScopeReader, merge
from orchestrator.reasoner.sentences import Sentence, split_clause
from trias.v1 import document_pb2, passage_pb2, plan_pb2

__all__ = ["DEFINES", "Evidence", "PackReader", "Reading", "Source", "read_sources", "relevance_to"]

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
# How a document defines a word.
DEFINES = re.compile(r"是指|所称|指的是|，指|系指|包括")
_NUMERIC = re.compile(r"[\d０-９〇一二两三四五六七八九十百]")
_BOILERPLATE = re.compile(
    r"^[（(]\d{4}年\d{1,2}月\d{1,2}日|"
    r"^(?:为了?.{4,80}(?:制定|特制定|现就|根据)|(?:本|此)(?:办法|规定|条例|通知|细则|法|规程)(?:由.{2,30}负责解释|自.{4,20}起?施行))"
)


class PackReader:
    """One pack's words, ready to read sentences with. Immutable: built once, shared between threads."""

    def __init__(self, pack: DomainPack) -> None:
        self.pack = pack
        self.scopes = ScopeReader(pack)
        self.matters = MatterReader(pack)
        self._terms = {variant: group.term for group in pack.synonyms for variant in group.variants}
        words = sorted(self._terms, key=lambda word: (-len(word), word))
        self._variants = re.compile("|".join(map(re.escape, words))) if words else None
        self.vocabulary = _vocabulary(pack)

    def canonical(self, text: str) -> str:
        """The text in the pack's usual terms: 封顶线 → 最高支付限额. Offsets are lost."""
        return self._variants.sub(lambda match: self._terms[match[0]], text) if self._variants else text


def _vocabulary(pack: DomainPack) -> str:
    """All that the pack says, one wording a line: what people in its field may say without meaning anything else."""
    words: dict[str, None] = {}
    for path in pack.intent_paths.values():
        node = path[-1]
        words.update(dict.fromkeys((node.label, *node.keywords, *(example.question for example in node.examples))))
    for slot in pack.slot_types.values():
        for value in slot.values:
            words.update(dict.fromkeys((value.value, *value.synonyms)))
    for matter in pack.matters:
        words.update(dict.fromkeys(matter.all_terms))
    for group in pack.synonyms:
        words.update(dict.fromkeys((group.term, *group.variants)))
    words.update(dict.fromkeys(rule.phrase for rule in pack.colloquial))
    words.update(dict.fromkeys(question for entry in pack.faq for question in entry.questions))
    return "\n".join(words)


@dataclass(frozen=True)
class Source:
    """One passage with its sentences."""

    index: int
    passage: passage_pb2.Passage
    sentences: tuple[Sentence, ...]
    scope: Scope

    @property
    def clause(self) -> document_pb2.Clause:
        """The passage's clause."""
        return self.passage.clause

    @property
    def document(self) -> document_pb2.Document:
        """The document that holds it."""
        return self.passage.document

    @cached_property
    def label(self) -> str:
        """第十二条, or the innermost label of its path."""
        return self.clause.label or next((step.label for step in reversed(self.clause.path) if step.label), "")

    def surroundings(self, canonical: Callable[[str], str]) -> tuple[tuple[str, float], ...]:
        """What stands around every sentence of it, in the pack's usual terms, with the credit that it earns."""
        if "_surroundings" not in self.__dict__:
            texts = ((self.heading, HEADING_CREDIT), (self.document.title, TITLE_CREDIT))
            self.__dict__["_surroundings"] = tuple((canonical(text), credit) for text, credit in texts)
        known: tuple[tuple[str, float], ...] = self.__dict__["_surroundings"]
        return known

    @cached_property
    def heading(self) -> str:
        """The headings above the clause, outermost first."""
        return " ".join(step.heading for step in self.clause.path if step.heading)


@dataclass(frozen=True)
class Reading:
    """What a sentence says, apart from any question. Made when first needed."""

    source: Source
    sentence: Sentence
    reader: PackReader = field(repr=False)

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        """Its quantities, in order."""
        return tuple(parse_quantities(self.sentence.text))

    @cached_property
    def mentions(self) -> tuple[SlotMatch, ...]:
        """The scope values that it names."""
        return tuple(self.reader.scopes.mentions(self.sentence.text))

    @cached_property
    def matter_hits(self) -> tuple[MatterHit, ...]:
        """The matters that it names."""
        return tuple(self.reader.matters.hits(masked(self.sentence.text, self.quantities)))

    @cached_property
    def wider_matter_hits(self) -> tuple[tuple[MatterHit, ...], ...]:
        """The matters of its lead-in and of the headings above it."""
        return tuple(tuple(self.reader.matters.hits(text)) for text in (self.sentence.lead, self.source.heading))

    @cached_property
    def wider_scope(self) -> Scope:
        """What limits it from outside: lead-in, then headings, then the document."""
        return merge(self.reader.scopes.of_text(self.sentence.lead), self.source.scope)

    @cached_property
    def scope(self) -> Scope:
        """What limits the sentence as a whole."""
        return merge(self.reader.scopes.of_text(self.sentence.text), self.wider_scope)

    def scope_at(self, end: int) -> Scope:
        """What limits the words of the sentence that end at ``end``."""
        return merge(self.reader.scopes.at(self.sentence.text, self.mentions, end), self.wider_scope)


@dataclass(frozen=True)
class Evidence:
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
        return self.reading.sentence

    @property
    def source(self) -> Source:
        """The passage that it stands in."""
        return self.reading.source


def read_sources(passages: Sequence[passage_pb2.Passage], reader: PackReader) -> list[Source]:
    """The passages, cut into sentences; what limits a whole document comes from its region, title and headings."""
    sources = []
    documents: dict[str, Scope] = {}
    for index, passage in enumerate(passages):
        document = passage.document
        key = document.document_id or document.title
        if key not in documents:
            documents[key] = reader.scopes.of_text(f"{document.region} {document.title}")
        heading = " ".join(step.heading for step in passage.clause.path if step.heading)
        scope = merge(reader.scopes.of_text(heading), documents[key]) if heading else documents[key]
        sources.append(Source(index, passage, tuple(split_clause(passage.clause)), scope))
    return sources


def gram_weights(part: QuestionPart, texts: Sequence[str]) -> dict[str, float]:
    """How much each bigram of the question tells: log(1 + (N − n + ½)/(n + ½)), n the sentences that hold it.

    It is BM25's inverse document frequency over the sentences at hand: what all of them say tells next to nothing.
    """
    weights = {}
    for gram in part.grams:
        holding = sum(1 for text in texts if gram in text)
        weights[gram] = math.log1p((len(texts) - holding + 0.5) / (holding + 0.5))
    return weights


def relevance_to(
    part: QuestionPart, readings: Sequence[Reading], canonical: Callable[[str], str], limit: int
) -> list[Evidence]:
    """The sentences that bear on a question, best first.

    Args:
        part: the question.
        readings: every sentence of every passage.
        canonical: puts a text into the pack's usual terms.
        limit: how many to read closely; the rest are left out.
    """
    # A row is told from its neighbours by its cells, not by the headers that they share.
    bodies = [
        canonical(reading.sentence.source if reading.sentence.kind == "row" else reading.sentence.text)
        for reading in readings
    ]
    surroundings = [_surroundings(part, reading, canonical) for reading in readings]
    weights = gram_weights(part, [body + around[0][0] for body, around in zip(bodies, surroundings, strict=True)])
    total = sum(weights.values()) or 1.0
    overlaps = [
        sum(weight * _credit(gram, body, around) for gram, weight in weights.items()) / total
        for body, around in zip(bodies, surroundings, strict=True)
    ]
    order = sorted(range(len(readings)), key=lambda index: (-overlaps[index], index))[:limit]
    evidence = [_weigh(part, readings[index], overlaps[index]) for index in order]
    return sorted(evidence, key=lambda item: -item.relevance)


def _surroundings(
    part: QuestionPart, reading: Reading, canonical: Callable[[str], str]
) -> tuple[tuple[str, float], ...]:
    sentence, source = reading.sentence, reading.source
    around = ((canonical(sentence.lead), LEAD_CREDIT), *source.surroundings(canonical))
    if sentence.kind == "row":
        return ((canonical(sentence.text), HEADING_CREDIT), *around)
    # 自受理之日起5个工作日内办结: what a number belongs to is often said in the sentence before.
    if part.kinds and _NUMERIC.search(sentence.text):
        return (*around, (canonical(source.clause.text), CLAUSE_CREDIT))
    return around


def _credit(gram: str, body: str, surroundings: Sequence[tuple[str, float]]) -> float:
    if gram in body:
        return 1.0
    return next((credit for text, credit in surroundings if gram in text), 0.0)


def _weigh(part: QuestionPart, reading: Reading, overlap: float) -> Evidence:
    share, earned = WORD_SHARE + PASSAGE_SHARE, WORD_SHARE * overlap + PASSAGE_SHARE * reading.source.passage.confidence
    if part.kinds:
        share += KIND_SHARE
        earned += KIND_SHARE * any(quantity.kind in part.kinds for quantity in reading.quantities)
    if part.question_type == plan_pb2.QUESTION_TYPE_DEFINITION:
        share += KIND_SHARE
        earned += KIND_SHARE * bool(DEFINES.search(reading.sentence.text))
    if part.matters:
        share += MATTER_SHARE
        stated = {hit.matter.name for hits in (reading.matter_hits, *reading.wider_matter_hits) for hit in hits}
        earned += MATTER_SHARE * bool(stated & part.matters)
    in_scope = _in_scope(part, reading)
    factor = 1.0 if in_scope else OUT_OF_SCOPE
    if QuantityKind.DATE not in part.kinds and _BOILERPLATE.match(reading.sentence.text):
        factor *= BOILERPLATE
    named = any(_names(title, reading.source.document.title) for title in part.titles)
    if part.titles and not named:
        factor *= OTHER_DOCUMENT
    return Evidence(reading, min(1.0, factor * earned / share), overlap, in_scope, named)


def _names(title: str, document_title: str) -> bool:
    return bool(document_title) and (title in document_title or document_title in title)


def _in_scope(part: QuestionPart, reading: Reading) -> bool:
    """Whether the sentence, or some quantity in it, applies to what the question limits itself to."""
    if not part.scope:
        return True
    scopes = reading.reader.scopes
    if not reading.quantities:
        return scopes.compatible(reading.scope, part.scope)
    return any(scopes.compatible(reading.scope_at(quantity.end), part.scope) for quantity in reading.quantities)
