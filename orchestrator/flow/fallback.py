"""Answers that need no agent: the default plan, quoted passages, notices."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Sequence

from orchestrator.flow import wording
from orchestrator.flow.events import Question
from trias.v1 import common_pb2, passage_pb2, plan_pb2, reasoning_pb2

__all__ = ["default_plan", "notice", "quote_passages"]

# Three quotations of this many characters fill a terminal's screen and no more.
QUOTED_PASSAGES = 3
QUOTED_CHARS = 160

_SENTENCE_END = re.compile(r"[。！？；\n]")
_GONE = frozenset({passage_pb2.VALIDITY_REPEALED, passage_pb2.VALIDITY_EXPIRED})


def default_plan(question: Question, default_domain: str) -> plan_pb2.Plan:
    """The plan of a question that nobody understood: search for its very words among what is in force."""
    return plan_pb2.Plan(
        plan_id=uuid.uuid4().hex,
        question=question.text,
        normalized_question=question.text,
        domain=question.domain or default_domain,
        intent=plan_pb2.Intent(decided_by="default"),
        question_type=plan_pb2.QUESTION_TYPE_FACT,
        version_preference=plan_pb2.VERSION_PREFERENCE_CURRENT,
        as_of_date=question.as_of_date,
        strategy=plan_pb2.STRATEGY_FULL,
        is_default=True,
    )


def notice(
    tier: common_pb2.Tier, status: reasoning_pb2.AnswerStatus, text: str, *, confidence: float = 0.0
) -> reasoning_pb2.Answer:
    """An answer that says something about itself and nothing about the sources."""
    sentence = reasoning_pb2.AnswerSentence(text=text, status=reasoning_pb2.SENTENCE_STATUS_NOTICE)
    return reasoning_pb2.Answer(
        tier=tier, status=status, text=text, sentences=[sentence], notice=text, confidence=confidence
    )


def quote_passages(
    passages: Sequence[passage_pb2.Passage], *, confidence: float, as_of_date: str, searched: bool
) -> reasoning_pb2.Answer:
    """The fallback answer: the best passages, verbatim, each with its citation.

    Repealed and expired passages are left out; where nothing else was found the answer stops and names the newer
    documents.

    Args:
        passages: best first; may be empty.
        confidence: the retriever's, in [0,1].
        as_of_date: YYYY-MM-DD or empty.
        searched: whether any search went through.
    """
    valid = [passage for passage in passages if passage.validity not in _GONE]
    if not valid and passages:
        text = "".join(_superseded(passages))
        return notice(common_pb2.TIER_FALLBACK, reasoning_pb2.ANSWER_STATUS_STOPPED, text)
    if not valid:
        text = wording.NOTHING_FOUND if searched else wording.SEARCH_FAILED
        return notice(common_pb2.TIER_FALLBACK, reasoning_pb2.ANSWER_STATUS_REFUSED, text)
    answer = reasoning_pb2.Answer(
        tier=common_pb2.TIER_FALLBACK,
        status=reasoning_pb2.ANSWER_STATUS_ANSWERED,
        confidence=confidence,
        notice=wording.FALLBACK,
    )
    for number, passage in enumerate(valid[:QUOTED_PASSAGES], start=1):
        _quote(answer, number, passage)
    answer.text = "\n".join(f"{sentence.text}[#{sentence.citation_numbers[0]}]" for sentence in answer.sentences)
    quoted = len(answer.sentences)
    answer.verification.CopyFrom(
        reasoning_pb2.VerificationSummary(
            sentences_checked=quoted,
            sentences_verified=quoted,
            sources=_sources(valid[:QUOTED_PASSAGES]),
            unverified=[wording.FALLBACK_UNVERIFIED],
            as_of_date=as_of_date,
        )
    )
    return answer


def _quote(answer: reasoning_pb2.Answer, number: int, passage: passage_pb2.Passage) -> None:
    clause, document = passage.clause, passage.document
    sentence = _opening(clause.text)
    answer.sentences.add(text=sentence, citation_numbers=[number], status=reasoning_pb2.SENTENCE_STATUS_VERIFIED)
    answer.citations.add(
        number=number,
        source_id=passage.source_id,
        snippet_hash=passage.snippet_hash,
        sentence=sentence,
        display=wording.display(document.title, clause.label, clause.place.page),
        place=clause.place,
        document_id=document.document_id,
        document_title=document.title,
    )
    answer.evidence.add(
        sentence_index=number - 1,
        citation_number=number,
        sentence=sentence,
        source_id=passage.source_id,
        clause_label=clause.label,
        document_id=document.document_id,
        document_title=document.title,
        place=clause.place,
    )


def _opening(text: str) -> str:
    """The clause from its start to the last sentence end within `QUOTED_CHARS`: a part of the text, unchanged."""
    text = text.strip()
    if len(text) <= QUOTED_CHARS:
        return text
    ends = [match.end() for match in _SENTENCE_END.finditer(text, 0, QUOTED_CHARS)]
    return text[: ends[-1] if ends else QUOTED_CHARS].strip()


def _superseded(passages: Sequence[passage_pb2.Passage]) -> list[str]:
    titles = {passage.document.document_id: passage.document.title for passage in passages}
    lines = (wording.superseded(item.document.title, titles.get(item.superseded_by, "")) for item in passages)
    return list(dict.fromkeys(lines))


def _sources(passages: Iterable[passage_pb2.Passage]) -> list[reasoning_pb2.VerifiedSource]:
    documents = {passage.document.document_id: passage.document for passage in passages}
    return [
        reasoning_pb2.VerifiedSource(
            document_id=document.document_id,
            title=document.title,
            version=document.version,
            publish_date=document.publish_date,
            effective_date=document.effective_date,
            status=document.status,
        )
        for document in documents.values()
    ]
