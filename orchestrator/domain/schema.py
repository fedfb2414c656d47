"""What the files of a domain pack may hold: frozen, typed, checked on their own; `pack` checks them together."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from trias.v1 import document_pb2, plan_pb2, reasoning_pb2

__all__ = [
    "AUTHORITY_LEVELS",
    "QUANTITY_KINDS",
    "QUESTION_TYPES",
    "AuthorityFile",
    "ClauseSelector",
    "ColloquialFile",
    "ColloquialRule",
    "Example",
    "FaqEntry",
    "FaqEvidence",
    "FaqFile",
    "IntentNode",
    "IntentsFile",
    "Matter",
    "MattersFile",
    "Messages",
    "Override",
    "OverridesFile",
    "PackFile",
    "QuestionsFile",
    "SlotPattern",
    "SlotType",
    "SlotValue",
    "SlotsFile",
    "SynonymGroup",
    "SynonymsFile",
]


def _words(names: Iterable[str], prefix: str) -> frozenset[str]:
    """The contract's enum names as a pack writes them: QUESTION_TYPE_YES_NO → yes_no."""
    return frozenset(name.removeprefix(prefix).lower() for name in names if not name.endswith("_UNSPECIFIED"))


QUESTION_TYPES = _words(plan_pb2.QuestionType.keys(), "QUESTION_TYPE_")
QUANTITY_KINDS = _words(reasoning_pb2.QuantityKind.keys(), "QUANTITY_KIND_")
# The library calls the rank that it could not read "unknown".
AUTHORITY_LEVELS = _words(document_pb2.AuthorityLevel.keys(), "AUTHORITY_LEVEL_") | {"unknown"}


def _regex(pattern: str) -> str:
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from None
    if compiled.match("") is not None:
        raise ValueError("matches the empty text; make at least one part of it mandatory")
    return pattern


def _question_type(word: str) -> str:
    if word and word not in QUESTION_TYPES:
        raise ValueError(f"no question type {word!r}; one of {', '.join(sorted(QUESTION_TYPES))}")
    return word


def _quantity_kind(word: str) -> str:
    if word and word not in QUANTITY_KINDS:
        raise ValueError(f"no quantity kind {word!r}; one of {', '.join(sorted(QUANTITY_KINDS))}")
    return word


Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000)]
Identifier = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_.-]{0,127}$")]
Regex = Annotated[str, StringConstraints(min_length=1, max_length=1000), AfterValidator(_regex)]
QuestionTypeWord = Annotated[str, AfterValidator(_question_type)]
QuantityKindWord = Annotated[str, AfterValidator(_quantity_kind)]
Weight = Annotated[float, Field(gt=0, le=1)]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=False)


class Messages(_Entry):
    """What the router says to the user, in the pack's language. ``{}`` is replaced by what is open or assumed."""

    clarify_intent: Text = "您想了解的是下面哪一项？"
    clarify_slot: Text = "请补充：{}。"
    small_talk: Text = "您好，请提出与政策法规有关的问题。"


class PackFile(_Entry):
    """``pack.yaml``: what the pack is."""

    name: Identifier
    title: Text
    language: Annotated[str, StringConstraints(pattern=r"^[a-z]{2}(-[A-Z]{2})?$")] = "zh"
    description: str = ""
    messages: Messages = Messages()


class Example(_Entry):
    """A labelled question: ``slots`` maps a slot type to the canonical value that it holds."""

    question: Text
    question_type: QuestionTypeWord = ""
    slots: dict[str, Text] = {}

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: Any) -> Any:
        return {"question": value} if isinstance(value, str) else value


class IntentNode(_Entry):
    """A node of the intent tree.

    Attributes:
        intent_id: ``id`` in the file: "benefit.inpatient.rate".
        keywords: each one present in the question speaks for this node; longer ones count more.
        patterns: regular expressions; a match speaks louder than a keyword.
        requires: slot types without which an answer would be a guess.
        matters: names of the pack's matters that the answer is about.
        question_type: the type to assume where the wording leaves it open.
        retrieval: False for small talk: nothing that a document could answer.
    """

    intent_id: Identifier = Field(alias="id")
    label: Text
    keywords: tuple[Text, ...] = ()
    patterns: tuple[Regex, ...] = ()
    examples: tuple[Example, ...] = ()
    question_type: QuestionTypeWord = ""
    requires: tuple[Identifier, ...] = ()
    matters: tuple[Text, ...] = ()
    retrieval: bool = True
    children: tuple[IntentNode, ...] = ()


class IntentsFile(_Entry):
    """``intents.yaml``."""

    intents: Annotated[tuple[IntentNode, ...], Field(min_length=1)]


class SlotValue(_Entry):
    """A canonical value with its other spellings.

    Attributes:
        synonyms: spellings that mean this value wherever they stand.
        colloquial: spellings that mean it where a model, which sees the whole question, says so: 大医院.
        parents: wider values of the same type (city ⊂ province).
    """

    value: Text
    synonyms: tuple[Text, ...] = ()
    colloquial: tuple[Text, ...] = ()
    parents: tuple[Text, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _shorthand(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"value": value}
        if isinstance(value, Mapping) and "parent" in value:
            if "parents" in value:
                raise ValueError("give either parent or parents, not both")
            return {
                ("parents" if key == "parent" else key): ([item] if key == "parent" else item)
                for key, item in value.items()
            }
        return value


class SlotPattern(_Entry):
    r"""A regular expression for values that no list can hold; ``value`` is a template (``\g<1>年``), else the text."""

    pattern: Regex
    value: str = ""

    @model_validator(mode="before")
    @classmethod
    def _shorthand(cls, value: Any) -> Any:
        return {"pattern": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _template_fits(self) -> SlotPattern:
        groups = re.compile(self.pattern).groups
        used = [int(number) for number in re.findall(r"\\g<(\d+)>|\\(\d)", self.value) for number in number if number]
        if any(number > groups for number in used):
            raise ValueError(f"value {self.value!r} names a group that the pattern lacks")
        return self


class SlotType(_Entry):
    """A kind of value that a question or a clause can name.

    Attributes:
        slot_type: ``type`` in the file: "hospital_grade".
        ask: what to ask the user where this slot is needed and open.
        scope: whether it limits where a claim holds (a scope dimension of conflicts).
        separable: whether "A和B的…" asks about each; False where the two are mostly meant as one (单位和个人).
        open: whether there are values that the file does not list (places, diseases, drugs); they stand for themselves.
    """

    slot_type: Identifier = Field(alias="type")
    label: Text
    ask: str = ""
    scope: bool = False
    separable: bool = True
    open: bool = False
    values: tuple[SlotValue, ...] = ()
    patterns: tuple[SlotPattern, ...] = ()

    @model_validator(mode="after")
    def _hierarchy(self) -> SlotType:
        if not self.values and not self.patterns:
            raise ValueError("has neither values nor patterns")
        _spellings_are_clear(self.values)
        names = {entry.value for entry in self.values}
        for entry in self.values:
            unknown = set(entry.parents) - names
            if unknown:
                raise ValueError(f"value {entry.value!r} has the unknown parent {min(unknown)!r}")
            if entry.value in self.ancestors[entry.value]:
                raise ValueError(f"value {entry.value!r} is its own ancestor")
        return self

    @cached_property
    def ancestors(self) -> Mapping[str, frozenset[str]]:
        """Canonical value → every wider value."""
        parents = {entry.value: entry.parents for entry in self.values}
        found: dict[str, frozenset[str]] = {}
        for value, nearest in parents.items():
            seen: set[str] = set()
            waiting = list(nearest)
            while waiting:
                parent = waiting.pop()
                if parent not in seen:
                    seen.add(parent)
                    waiting.extend(parents.get(parent, ()))
            found[value] = frozenset(seen)
        return found

    def covers(self, wider: str, narrower: str) -> bool:
        """Whether all that ``narrower`` names is also named by ``wider``; a value covers itself."""
        return wider == narrower or wider in self.ancestors.get(narrower, frozenset())

    def compatible(self, one: str, other: str) -> bool:
        """Whether something can be both: 三级 and 三级甲等 can, 三级 and 二级 cannot.

        Two values also overlap where one narrower value lies within both (二级 lies in 二级及以下 and 二级及以上).
        """
        if self.covers(one, other) or self.covers(other, one):
            return True
        return any({one, other} <= wider for wider in self.ancestors.values())


def _spellings_are_clear(values: Iterable[SlotValue]) -> None:
    names: set[str] = set()
    spelled: dict[str, str] = {}
    for entry in values:
        if entry.value in names:
            raise ValueError(f"value {entry.value!r} is listed twice")
        names.add(entry.value)
        for spelling in (entry.value, *entry.synonyms, *entry.colloquial):
            if spelled.setdefault(spelling, entry.value) != entry.value:
                raise ValueError(f"{spelling!r} stands for both {spelled[spelling]!r} and {entry.value!r}")


class SlotsFile(_Entry):
    """``slots.yaml``."""

    slots: Annotated[tuple[SlotType, ...], Field(min_length=1)]


class SynonymGroup(_Entry):
    """Formal terms that mean the same, ``term`` being the usual one. They widen matching and change no wording."""

    term: Text
    variants: Annotated[tuple[Text, ...], Field(min_length=1)]


class SynonymsFile(_Entry):
    """``synonyms.yaml``."""

    synonyms: tuple[SynonymGroup, ...]


class ColloquialRule(_Entry):
    r"""Everyday wording → that of documents. Exactly one of ``phrase`` and ``pattern`` (``to`` may use ``\1``)."""

    phrase: str = ""
    pattern: str = ""
    to: str

    @model_validator(mode="after")
    def _one_of(self) -> ColloquialRule:
        if bool(self.phrase) == bool(self.pattern):
            raise ValueError("give either phrase or pattern")
        if self.pattern:
            groups = re.compile(_regex(self.pattern)).groups
            if any(int(number) > groups for number in re.findall(r"\\(?:g<)?(\d)", self.to)):
                raise ValueError(f"to {self.to!r} names a group that the pattern lacks")
        return self


class ColloquialFile(_Entry):
    """``colloquial.yaml``: rules are tried in order, each on what the ones before left."""

    rules: tuple[ColloquialRule, ...]


class Matter(_Entry):
    """What a claim can be about.

    Attributes:
        terms: other wordings of it; the name itself always counts.
        antonyms: wordings that contain or resemble a term but mean something else or its opposite (自付比例).
        kind: of the quantity that states it: "ratio", "money", …; empty where it has none.
    """

    name: Text
    terms: tuple[Text, ...] = ()
    antonyms: tuple[Text, ...] = ()
    kind: QuantityKindWord = ""

    @cached_property
    def all_terms(self) -> tuple[str, ...]:
        """The name and its terms, longest first."""
        return tuple(sorted({self.name, *self.terms}, key=lambda term: (-len(term), term)))


class MattersFile(_Entry):
    """``matters.yaml``."""

    matters: Annotated[tuple[Matter, ...], Field(min_length=1)]


class AuthorityFile(_Entry):
    """``authority.yaml``: authority level → weight in (0,1]; a level left out weighs as ``unknown``."""

    weights: dict[str, Weight]

    @model_validator(mode="after")
    def _known_levels(self) -> AuthorityFile:
        for level in self.weights:
            if level not in AUTHORITY_LEVELS:
                raise ValueError(f"no authority level {level!r}; one of {', '.join(sorted(AUTHORITY_LEVELS))}")
        if "unknown" not in self.weights:
            raise ValueError("a weight for the level 'unknown' is missing")
        return self


class FaqEvidence(_Entry):
    """The clause that an FAQ answer quotes: ``quote`` is exact text of it."""

    document_title: Text
    label: Text
    quote: Text


class FaqEntry(_Entry):
    """A question that is asked often, with its answer; every answer leads to evidence."""

    faq_id: Identifier = Field(alias="id")
    questions: Annotated[tuple[Text, ...], Field(min_length=1)]
    answer: Text
    evidence: Annotated[tuple[FaqEvidence, ...], Field(min_length=1)]
    intent: str = ""


class FaqFile(_Entry):
    """``faq.yaml``."""

    faq: tuple[FaqEntry, ...]


class ClauseSelector(_Entry):
    """Which clauses are meant; conditions that are empty hold for every clause."""

    document_titles: tuple[Text, ...] = ()
    doc_numbers: tuple[Text, ...] = ()
    labels: tuple[Text, ...] = ()
    scope: dict[str, tuple[Text, ...]] = {}

    def accepts(self, *, title: str, doc_number: str, label: str, scope: Mapping[str, Iterable[str]]) -> bool:
        """Whether a clause with this title, number, label and scope (dimension → canonical values) is meant."""
        if self.document_titles and title not in self.document_titles:
            return False
        if self.doc_numbers and doc_number not in self.doc_numbers:
            return False
        if self.labels and label not in self.labels:
            return False
        return all(set(values) & set(scope.get(dimension, ())) for dimension, values in self.scope.items())


class Override(_Entry):
    """A ruling of the legal team: in a conflict on ``matter``, a clause of ``prevails`` beats those of ``match``.

    Attributes:
        match: the clauses that lose; empty conditions mean any other clause.
        prevails: the clause that stands; it names at least a document, a number or a label.
        valid_from, valid_to: first and last as-of date of the ruling; open where absent.
    """

    override_id: Identifier = Field(alias="id")
    matter: Text
    match: ClauseSelector = ClauseSelector()
    prevails: ClauseSelector
    reason: Text
    valid_from: dt.date | None = None
    valid_to: dt.date | None = None

    @model_validator(mode="after")
    def _sound(self) -> Override:
        if not (self.prevails.document_titles or self.prevails.doc_numbers or self.prevails.labels):
            raise ValueError("prevails names no document title, doc_number or label")
        if self.valid_from and self.valid_to and self.valid_to < self.valid_from:
            raise ValueError("valid_to is before valid_from")
        return self

    def holds_on(self, day: dt.date) -> bool:
        """Whether the ruling is valid on that day."""
        return (self.valid_from is None or self.valid_from <= day) and (self.valid_to is None or day <= self.valid_to)


class OverridesFile(_Entry):
    """``overrides.json``."""

    overrides: tuple[Override, ...]


class QuestionsFile(_Entry):
    """``questions.yaml``: how questions of a type sound, and what is small talk, beyond what the router knows."""

    cues: dict[str, tuple[Regex, ...]] = {}
    small_talk: tuple[Regex, ...] = ()

    @model_validator(mode="after")
    def _known_types(self) -> QuestionsFile:
        for word in self.cues:
            _question_type(word)
        return self
