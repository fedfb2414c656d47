"""What clauses and their sentences say by themselves, apart from any question.

The deep tier reads what the fast one has read, and clauses come again from question to question. So everything here is
worked out when it is first asked for, once, and a reader keeps what it read last, by a clause's whole content.
"""

from __future__ import annotations

import re
from functools import lru_cache

from orchestrator.domain.lexicon import SlotMatch
from orchestrator.domain.pack import DomainPack
from orchestrator.domain.quantity import Quantity
from orchestrator.domain.quantity_text import parse_quantities
from orchestrator.reasoner.lazy import lazy
from orchestrator.reasoner.matters import MatterHit, MatterReader, masked
from orchestrator.reasoner.negation import negation_span
from orchestrator.reasoner.numbers import StatedNumber, stated_numbers
from orchestrator.reasoner.phrases import CLAIM_CHARACTERS, Run, key_phrase, runs_of
from orchestrator.reasoner.scope import Scope, ScopeReader
from orchestrator.reasoner.sentences import Sentence, split_clause
from orchestrator.reasoner.similarity import grams_of
from trias.v1 import document_pb2

__all__ = ["DEFINES", "ClauseReading", "PackReader", "Statement", "Surrounding"]

# How a document defines a word.
DEFINES = re.compile(r"是指|所称|指的是|，指|系指|包括")
_NUMERIC = re.compile(r"[\d０-９〇一二两三四五六七八九十百]")
_BOILERPLATE = re.compile(
    r"^[（(]\d{4}年\d{1,2}月\d{1,2}日|"
    r"^(?:为了?.{4,80}(?:制定|特制定|现就|根据)|(?:本|此)(?:办法|规定|条例|通知|细则|法|规程)(?:由.{2,30}负责解释|自.{4,20}起?施行))"
)
# How many clauses, and how many lead-ins, headings and titles, a reader keeps: some tens of megabytes at most.
KEPT_CLAUSES, KEPT_SURROUNDINGS = 2048, 4096
# Longer ones are rare and are read anew each time. In bytes of the message, and in characters.
LONGEST_CLAUSE, LONGEST_SURROUNDING = 8192, 500


class PackReader:
    """One pack's words, ready to read clauses with, and what was read last.

    Built once, shared between threads: what it keeps follows from a clause's content alone.
    """

    def __init__(self, pack: DomainPack) -> None:
        self.pack = pack
        self.scopes = ScopeReader(pack)
        self.matters = MatterReader(pack)
        self._terms = {variant: group.term for group in pack.synonyms for variant in group.variants}
        words = sorted(self._terms, key=lambda word: (-len(word), word))
        self._variants = re.compile("|".join(map(re.escape, words))) if words else None
        self.vocabulary = _vocabulary(pack)
        self._clauses = lru_cache(maxsize=KEPT_CLAUSES)(self._read_clause)
        self._surroundings = lru_cache(maxsize=KEPT_SURROUNDINGS)(self._read_surrounding)

    def canonical(self, text: str) -> str:
        """The text in the pack's usual terms: 封顶线 → 最高支付限额. Offsets are lost."""
        return self._variants.sub(lambda match: self._terms[match[0]], text) if self._variants else text

    def clause(self, clause: document_pb2.Clause) -> ClauseReading:
        """What a clause says; the same object for the same content, as long as it is kept."""
        content = clause.SerializeToString(deterministic=True)
        return self._clauses(content) if len(content) <= LONGEST_CLAUSE else self._read_clause(content)

    def surrounding(self, text: str) -> Surrounding:
        """What a lead-in, a heading or a title says."""
        return self._surroundings(text) if len(text) <= LONGEST_SURROUNDING else self._read_surrounding(text)

    def _read_clause(self, content: bytes) -> ClauseReading:
        return ClauseReading(document_pb2.Clause.FromString(content), self)

    def _read_surrounding(self, text: str) -> Surrounding:
        return Surrounding(text, self)


class Surrounding:
    """A text around sentences: a lead-in, the headings above a clause, a document's title."""

    def __init__(self, text: str, reader: PackReader) -> None:
        self.text = text
        self._reader = reader

    @lazy
    def canonical(self) -> str:
        """In the pack's usual terms."""
        return self._reader.canonical(self.text)

    @lazy
    def scope(self) -> Scope:
        """What it limits the sentences to."""
        return self._reader.scopes.of_text(self.text)

    @lazy
    def matter_hits(self) -> tuple[MatterHit, ...]:
        """The matters that it names."""
        return tuple(self._reader.matters.hits(self.text))


class Statement:
    """What one sentence says.

    Attributes:
        sentence: with its place in the clause.
        text: for a person.
        lead: its lead-in.
        heading: the headings above its clause.
    """

    def __init__(self, sentence: Sentence, heading: Surrounding, reader: PackReader) -> None:
        self.sentence = sentence
        self.text = sentence.text
        self.lead = reader.surrounding(sentence.lead)
        self.heading = heading
        self.reader = reader
        self._phrase: tuple[frozenset[str], tuple[str, tuple[int, int]]] | None = None

    @lazy
    def canonical(self) -> str:
        """In the pack's usual terms."""
        return self.reader.canonical(self.text)

    @lazy
    def body(self) -> str:
        """What tells it from its neighbours, in the pack's usual terms: a row's cells, not the headers they share."""
        return self.reader.canonical(self.sentence.source) if self.sentence.kind == "row" else self.canonical

    @lazy
    def quantities(self) -> tuple[Quantity, ...]:
        """Its quantities, in order."""
        return parse_quantities(self.text)

    @lazy
    def mentions(self) -> tuple[SlotMatch, ...]:
        """The scope values that it names."""
        return tuple(self.reader.scopes.mentions(self.text))

    @lazy
    def scope(self) -> Scope:
        """What it limits itself to as a whole."""
        return self.reader.scopes.of_mentions(self.text, self.mentions)

    @lazy
    def number_scopes(self) -> tuple[Scope, ...]:
        """What limits each of its quantities."""
        scopes, mentions = self.reader.scopes, self.mentions
        return tuple(scopes.at(self.text, mentions, quantity.end) for quantity in self.quantities)

    @lazy
    def matter_hits(self) -> tuple[MatterHit, ...]:
        """The matters that it names."""
        return tuple(self.reader.matters.hits(masked(self.text, self.quantities)))

    @property
    def wider_matter_hits(self) -> tuple[tuple[MatterHit, ...], ...]:
        """The matters of its lead-in and of the headings above it."""
        return (self.lead.matter_hits, self.heading.matter_hits)

    @lazy
    def numbers(self) -> tuple[StatedNumber, ...]:
        """What it states with a number, conditions apart."""
        if not self.quantities:
            return ()
        mentions = self.reader.scopes.by_weight(self.mentions)
        return stated_numbers(self.text, self.quantities, self.matter_hits, self.wider_matter_hits, mentions)

    @lazy
    def negation(self) -> tuple[int, int] | None:
        """Where it first forbids or denies."""
        return negation_span(self.text)

    @lazy
    def runs(self) -> tuple[Run, ...]:
        """The phrases that a claim can be made of."""
        return runs_of(self.text, CLAIM_CHARACTERS, self.negation)

    def phrase(self, asked: frozenset[str]) -> tuple[str, tuple[int, int]]:
        """The phrase that says most of what is asked, and where it stands; the last one is kept for the next tier.

        Args:
            asked: bigrams of the question.
        """
        # Another thread may keep another question's at any moment: looked at once.
        kept = self._phrase
        if kept is None or kept[0] != asked:
            kept = asked, key_phrase(self.text, asked, CLAIM_CHARACTERS, self.negation, self.runs)
            self._phrase = kept
        return kept[1]

    @lazy
    def grams(self) -> frozenset[str]:
        """The bigrams of its source."""
        return grams_of(self.sentence.source)

    @lazy
    def is_numeric(self) -> bool:
        """Whether it has a numeral."""
        return _NUMERIC.search(self.text) is not None

    @lazy
    def is_boilerplate(self) -> bool:
        """Whether it only states its document's purpose, publication or entry into force."""
        return _BOILERPLATE.match(self.text) is not None

    @lazy
    def defines(self) -> bool:
        """Whether it says what a word means."""
        return DEFINES.search(self.text) is not None


class ClauseReading:
    """What a clause says.

    Attributes:
        text: of the clause.
        label: 第十二条, or the innermost label of its path.
        heading: the headings above it, outermost first.
        statements: its sentences, in order.
    """

    def __init__(self, clause: document_pb2.Clause, reader: PackReader) -> None:
        path = [(step.label, step.heading) for step in clause.path]
        self.text = clause.text
        self.label = clause.label or next((label for label, _ in reversed(path) if label), "")
        self.heading = reader.surrounding(" ".join(heading for _, heading in path if heading))
        self.statements = tuple(Statement(sentence, self.heading, reader) for sentence in split_clause(clause))
        self._reader = reader

    @lazy
    def canonical(self) -> str:
        """In the pack's usual terms."""
        return self._reader.canonical(self.text)

    @lazy
    def sentences(self) -> tuple[Sentence, ...]:
        """The sentences themselves."""
        return tuple(statement.sentence for statement in self.statements)


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
