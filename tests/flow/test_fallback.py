from __future__ import annotations

from orchestrator.flow.fallback import quote_passages
from trias.v1 import common_pb2, passage_pb2, reasoning_pb2


def passage(text: str, validity: passage_pb2.Validity, superseded_by: str = "") -> passage_pb2.Passage:
    made = passage_pb2.Passage(source_id="c" + text[:3], validity=validity, superseded_by=superseded_by)
    made.clause.text = text
    made.clause.label = "第三条"
    made.clause.place.page = 2
    made.document.title = "旧办法"
    made.document.document_id = "d1"
    return made


def quoted(*passages: passage_pb2.Passage, searched: bool = True) -> reasoning_pb2.Answer:
    return quote_passages(passages, confidence=0.5, as_of_date="2025-01-01", searched=searched)


def test_a_long_clause_is_cut_at_a_sentence_end_and_stays_a_part_of_the_text() -> None:
    text = "参保人员住院按比例支付。" * 30
    answer = quoted(passage(text, passage_pb2.VALIDITY_IN_FORCE))
    sentence = answer.citations[0].sentence
    assert sentence in text
    assert sentence.endswith("。")
    assert len(sentence) <= 160
    assert answer.citations[0].display == "《旧办法》第三条，第2页"
    assert answer.verification.sources[0].title == "旧办法"


def test_a_long_clause_without_sentence_ends_is_cut_anyway() -> None:
    answer = quoted(passage("项" * 1000, passage_pb2.VALIDITY_IN_FORCE))
    assert answer.citations[0].sentence == "项" * 160


def test_repealed_sources_are_left_out() -> None:
    answer = quoted(
        passage("甲：已废止的条文。", passage_pb2.VALIDITY_REPEALED),
        passage("乙：有效的条文。", passage_pb2.VALIDITY_IN_FORCE),
    )
    assert [citation.sentence for citation in answer.citations] == ["乙：有效的条文。"]


def test_nothing_but_repealed_sources_stops_and_names_the_newer_document() -> None:
    newer = passage("乙：新的条文，也已到期。", passage_pb2.VALIDITY_EXPIRED)
    newer.document.document_id, newer.document.title = "d2", "新办法"
    answer = quoted(passage("甲：已废止的条文。", passage_pb2.VALIDITY_REPEALED, superseded_by="d2"), newer)
    assert answer.status == reasoning_pb2.ANSWER_STATUS_STOPPED
    assert "《旧办法》已失效，现行文件为《新办法》" in answer.notice
    assert not answer.citations


def test_nothing_found_and_nothing_searched_are_told_apart() -> None:
    found_nothing, searched_nothing = quoted(), quoted(searched=False)
    assert found_nothing.status == searched_nothing.status == reasoning_pb2.ANSWER_STATUS_REFUSED
    assert found_nothing.notice != searched_nothing.notice
    assert found_nothing.tier == common_pb2.TIER_FALLBACK
