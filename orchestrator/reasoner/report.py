"""The verified answer as a message: sentences, citations, evidence chains, and what was checked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from orchestrator.reasoner import wording
from orchestrator.reasoner.claims import Claim
from orchestrator.reasoner.evidence import Source
from orchestrator.reasoner.verifier import Checked
from trias.v1 import document_pb2, passage_pb2, reasoning_pb2

__all__ = ["answer_sentences", "answer_text", "evidence_chains", "verification"]


def answer_sentences(checked: Sequence[Checked]) -> list[reasoning_pb2.AnswerSentence]:
    """Every sentence with its status; one that is withheld keeps its text here, and is left out of the answer's."""
    sentences = []
    for item in checked:
        status = reasoning_pb2.SENTENCE_STATUS_VERIFIED if item.passed else reasoning_pb2.SENTENCE_STATUS_WITHHELD
        if item.draft.is_notice:
            status = reasoning_pb2.SENTENCE_STATUS_NOTICE
        sentences.append(
            reasoning_pb2.AnswerSentence(
                text=item.draft.text,
                citation_numbers=item.citations,
                status=status,
                ruling_id=item.draft.ruling.ruling_id if item.draft.ruling else "",
                reason=item.reason,
            )
        )
    return sentences


def answer_text(sentences: Iterable[reasoning_pb2.AnswerSentence]) -> str:
    """The sentences that are not withheld, one a line, with their citation marks."""
    return "\n".join(
        wording.cited(sentence.text, list(sentence.citation_numbers))
        for sentence in sentences
        if sentence.status != reasoning_pb2.SENTENCE_STATUS_WITHHELD
    )


def evidence_chains(
    checked: Sequence[Checked], claims: Sequence[Claim], buffer: Sequence[reasoning_pb2.Citation]
) -> list[reasoning_pb2.EvidenceChain]:
    """Answer sentence → ruling → claim → sentence → clause → page, one chain a citation of each sentence."""
    by_sentence: dict[tuple[str, int], Claim] = {}
    for claim in claims:
        by_sentence.setdefault((claim.source_id, claim.reading.sentence.start), claim)
    chains = []
    for index, item in enumerate(checked):
        for support, number in zip(item.draft.supports, item.citations, strict=False):
            ruling = item.draft.ruling
            behind = _claim_of(
                item, support.source, by_sentence.get((support.source.passage.source_id, support.sentence.start))
            )
            citation = buffer[number - 1]
            chains.append(
                reasoning_pb2.EvidenceChain(
                    sentence_index=index,
                    ruling_id=ruling.ruling_id if ruling else "",
                    claim_id=behind.claim_id if behind else "",
                    citation_number=number,
                    sentence=citation.sentence,
                    source_id=citation.source_id,
                    clause_label=support.source.label,
                    document_id=citation.document_id,
                    document_title=citation.document_title,
                    place=citation.place if citation.HasField("place") else None,
                )
            )
    return chains


def _claim_of(item: Checked, source: Source, fallback: Claim | None) -> Claim | None:
    """The ruling's claim or one that it beat, where the support is its clause; else the sentence's first."""
    ruling = item.draft.ruling
    if ruling is not None:
        for claim in (ruling.claim, *ruling.beaten):
            if claim.reading.source.index == source.index:
                return claim
    return fallback


def verification(
    checked: Sequence[Checked], sources: Sequence[Source], as_of: str, skipped: Iterable[str]
) -> reasoning_pb2.VerificationSummary:
    """What was checked, against which versions, and what could not be.

    Args:
        checked: every draft.
        sources: those that the answer leans on.
        as_of: the day that validity was checked for, YYYY-MM-DD.
        skipped: what was left out and why, in words.
    """
    checks = [item for item in checked if not item.draft.is_notice]
    documents = {source.document.document_id or source.document.title: source for source in sources}
    unverified = [wording.withheld(item.draft.text, item.reason) for item in checks if not item.passed]
    unverified += [doubt for source in documents.values() if (doubt := _doubt(source))]
    return reasoning_pb2.VerificationSummary(
        sentences_checked=len(checks),
        sentences_verified=sum(item.passed for item in checks),
        sentences_withheld=sum(not item.passed for item in checks),
        numbers_checked=sum(item.numbers for item in checks),
        numbers_equal=sum(item.equal_numbers for item in checks),
        sources=[_verified(source.document) for source in documents.values()],
        unverified=[*unverified, *dict.fromkeys(skipped)],
        as_of_date=as_of,
    )


def _verified(document: document_pb2.Document) -> reasoning_pb2.VerifiedSource:
    return reasoning_pb2.VerifiedSource(
        document_id=document.document_id,
        title=document.title,
        version=document.version,
        publish_date=document.publish_date,
        effective_date=document.effective_date,
        status=document.status,
    )


def _doubt(source: Source) -> str:
    """What about a source's validity could not be verified."""
    title, validity = source.document.title, source.passage.validity
    if validity == passage_pb2.VALIDITY_AMENDED:
        return f"《{title}》已被修订，所引条文是否在修订范围内未能核对"
    if not (source.document.effective_date or source.document.publish_date):
        return f"《{title}》未注明发布和施行日期，时效未能核对"
    return ""
