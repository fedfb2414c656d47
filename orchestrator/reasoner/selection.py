"""Which sentences answer a question: the best first, none twice, none that was beaten or no longer holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from orchestrator.reasoner.claims import Claim
from orchestrator.reasoner.evidence import Evidence
from orchestrator.reasoner.lazy import lazy
from orchestrator.reasoner.question import QuestionPart
from orchestrator.reasoner.scope import ScopeReader
from orchestrator.reasoner.sentences import Sentence
from orchestrator.reasoner.similarity import dice, grams_of
from orchestrator.settings import ReasonerSettings
from trias.v1 import plan_pb2

__all__ = ["Choice", "Selector", "sentence_key", "usable", "whole_list"]

# Two sentences this alike say the same; the second adds nothing unless it has another number.
SAME_SENTENCE = 0.8
# A further row of a table must share this much of what the best one has in common with the question.
SAME_TABLE = 0.5
# A further item of a list whose item was chosen already must be about as good as the best sentence.
SAME_LIST = 0.9
_LIST_QUESTIONS = frozenset({plan_pb2.QUESTION_TYPE_ENUMERATION, plan_pb2.QUESTION_TYPE_PROCEDURE})


@dataclass(frozen=True)
class Choice:
    """A sentence, or a whole list, chosen for an answer."""

    evidence: Evidence
    sentence: Sentence

    @property
    def text(self) -> str:
        """For the answer: an item comes with its lead-in."""
        sentence = self.sentence
        return sentence.lead + sentence.text if sentence.kind == "item" and sentence.lead else sentence.text

    @lazy
    def grams(self) -> frozenset[str]:
        """The bigrams of what is quoted."""
        said = self.evidence.reading.said
        return said.grams if self.sentence is said.sentence else grams_of(self.sentence.source)


def sentence_key(evidence: Evidence) -> tuple[int, int]:
    """A sentence among all of a request: its passage and where it starts."""
    return evidence.source.index, evidence.sentence.start


def usable(evidence: Evidence, *, any_version: bool) -> bool:
    """Whether an answer may rest on it: its document holds on the day asked about, or any version was asked for."""
    return any_version or not (evidence.source.is_gone or evidence.source.is_pending)


class Selector:
    """Chooses the sentences of one answer.

    Args:
        claims: of the whole request.
        standing: ids of the claims that were not beaten.
        scopes: compares a claim's scope with the question's.
        settings: how many, and how far below the best.
    """

    def __init__(
        self, claims: Sequence[Claim], standing: frozenset[str], scopes: ScopeReader, settings: ReasonerSettings
    ) -> None:
        self._scopes = scopes
        self._settings = settings
        self._standing = standing
        self._claims: dict[tuple[int, int], list[Claim]] = {}
        for claim in claims:
            key = (claim.reading.source.index, claim.reading.sentence.start)
            self._claims.setdefault(key, []).append(claim)

    def choose(self, part: QuestionPart, evidence: Sequence[Evidence], limit: int) -> list[Choice]:
        """The sentences for one part, best first; a procedure's in the order of their document."""
        best, others = self._of_standing(part, [item for item in evidence if item.in_scope])
        if best is None:
            best, others = self._of_standing(part, evidence)
        if best is None:
            return []
        chosen: list[Choice] = []
        taken = _Taken()
        for item in chain((best,), others):
            if len(chosen) >= limit or item.relevance < self._settings.keep_relevance * best.relevance:
                break
            choice, is_list = self._with_list(part, item)
            if chosen and (not self._adds(part, item) or any(_repeats(choice, other) for other in chosen)):
                continue
            if taken.admits(item, best, is_list=is_list):
                chosen.append(choice)
        if part.question_type == plan_pb2.QUESTION_TYPE_PROCEDURE and chosen:
            first = chosen[0].evidence.source.document.document_id
            chosen.sort(key=lambda choice: _document_order(choice, first))
        return chosen

    def _of_standing(
        self, part: QuestionPart, evidence: Sequence[Evidence]
    ) -> tuple[Evidence | None, Iterator[Evidence]]:
        """The best of what stands, and the rest, looked at as it is asked for: most of it never is."""
        standing = (item for item in evidence if self._stands(part, item))
        return next(standing, None), standing

    def claims_for(self, part: QuestionPart, item: Evidence) -> list[Claim]:
        """The claims of a sentence that answer the question: of the kind and within the scope asked for."""
        claims = self._claims.get(sentence_key(item), [])
        if not part.scope and not part.kinds:
            return claims
        fitting = [claim for claim in claims if self._scopes.compatible(claim.scope, part.scope)] or claims
        asked = [claim for claim in fitting if claim.quantity is not None and claim.quantity.kind in part.kinds]
        return asked or fitting

    def _stands(self, part: QuestionPart, item: Evidence) -> bool:
        claims = self.claims_for(part, item)
        return not claims or any(claim.claim_id in self._standing for claim in claims)

    def _adds(self, part: QuestionPart, item: Evidence) -> bool:
        """Further sentences of an answer to a question for a number must have one."""
        return not part.kinds or any(quantity.kind in part.kinds for quantity in item.reading.quantities)

    def _with_list(self, part: QuestionPart, item: Evidence) -> tuple[Choice, bool]:
        """A lead-in is nothing without its list; an item stands for its list where all members are asked for."""
        sentence = item.sentence
        if sentence.list_id >= 0 and (sentence.kind == "lead" or part.question_type in _LIST_QUESTIONS):
            whole = whole_list(item, self._settings.max_list_chars)
            if whole is not None:
                return Choice(item, whole), True
        return Choice(item, sentence), False


class _Taken:
    """The lists and tables that an answer draws on already."""

    def __init__(self) -> None:
        self._lists: set[tuple[int, int]] = set()
        self._items: set[tuple[int, int]] = set()
        self._tables: set[int] = set()

    def admits(self, item: Evidence, best: Evidence, *, is_list: bool) -> bool:
        """Whether a sentence may join, in view of its list or table; it counts as taken then."""
        sentence, source = item.sentence, item.source.index
        if sentence.kind == "row":
            # The rows of a table share their headers: only what their cells share with the question tells them apart.
            if source in self._tables and item.overlap < SAME_TABLE * best.overlap:
                return False
            self._tables.add(source)
        if sentence.list_id < 0:
            return True
        key = (source, sentence.list_id)
        if key in self._lists or (is_list and key in self._items):
            return False
        if key in self._items and item.relevance < SAME_LIST * best.relevance:
            return False
        (self._lists if is_list else self._items).add(key)
        return True


def whole_list(item: Evidence, limit: int) -> Sentence | None:
    """The list that a sentence belongs to, from its lead-in to its last item; None where it is too long."""
    members = [other for other in item.source.sentences if other.list_id == item.sentence.list_id]
    if not any(member.kind == "item" for member in members):
        return None
    start, end = members[0].start, members[-1].end
    if end - start > limit:
        return None
    source = item.source.clause.text[start:end]
    text = "\n".join(line.strip() for line in source.splitlines() if line.strip())
    return Sentence(text, source, start, end, kind="list", list_id=item.sentence.list_id)


def _repeats(choice: Choice, other: Choice) -> bool:
    if dice(choice.grams, other.grams) < SAME_SENTENCE:
        return False
    known = {(quantity.value, quantity.unit) for quantity in other.evidence.reading.quantities}
    return all((quantity.value, quantity.unit) in known for quantity in choice.evidence.reading.quantities)


def _document_order(choice: Choice, first_document: str) -> tuple[bool, str, int, int]:
    source = choice.evidence.source
    document = source.document.document_id
    return document != first_document, document, source.clause.ordinal, choice.sentence.start
