from __future__ import annotations

import pytest

from orchestrator.knowledge.clause import Document, DocumentStatus
from orchestrator.retriever.trust import as_of, confidence_of, contradiction_of, validity_of
from orchestrator.settings import RetrieverSettings
from trias.v1 import passage_pb2


def document(**fields: object) -> Document:
    return Document(document_id="d", doc_source="s", title="t", content_hash="h", **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "on", "superseded_from", "wanted"),
    [
        ({}, "2024-06-01", "", passage_pb2.VALIDITY_UNKNOWN),
        ({"effective_date": "2024-01-01"}, "2024-06-01", "", passage_pb2.VALIDITY_IN_FORCE),
        ({"effective_date": "2024-06-01"}, "2024-06-01", "", passage_pb2.VALIDITY_IN_FORCE),
        ({"effective_date": "2024-06-02"}, "2024-06-01", "", passage_pb2.VALIDITY_NOT_YET_EFFECTIVE),
        ({"effective_date": "2020-01-01", "expiry_date": "2023-12-31"}, "2024-01-01", "", passage_pb2.VALIDITY_EXPIRED),
        (
            {"effective_date": "2020-01-01", "expiry_date": "2023-12-31"},
            "2023-12-31",
            "",
            passage_pb2.VALIDITY_IN_FORCE,
        ),
        ({"status": DocumentStatus.REPEALED}, "2024-06-01", "", passage_pb2.VALIDITY_REPEALED),
        ({"status": DocumentStatus.REPEALED}, "2024-06-01", "2024-06-01", passage_pb2.VALIDITY_REPEALED),
        (
            {"status": DocumentStatus.REPEALED, "effective_date": "2020-01-01"},
            "2023-01-01",
            "2024-06-01",
            passage_pb2.VALIDITY_IN_FORCE,
        ),
        (
            {"status": DocumentStatus.AMENDED, "effective_date": "2020-01-01"},
            "2024-06-01",
            "2024-01-01",
            passage_pb2.VALIDITY_AMENDED,
        ),
    ],
)
def test_validity_on_a_date(
    fields: dict[str, object], on: str, superseded_from: str, wanted: passage_pb2.Validity
) -> None:
    assert validity_of(document(**fields), on, superseded_from) == wanted


def test_a_repealed_source_is_contradicted_most() -> None:
    assert contradiction_of(passage_pb2.VALIDITY_REPEALED) == 1.0
    assert 0 < contradiction_of(passage_pb2.VALIDITY_AMENDED) < 1
    assert contradiction_of(passage_pb2.VALIDITY_IN_FORCE) == 0.0


def test_confidence_rises_with_the_score_and_is_one_half_at_the_midpoint() -> None:
    settings = RetrieverSettings()
    assert confidence_of(settings.confidence_midpoint, settings) == pytest.approx(0.5)
    values = [confidence_of(step / 10, settings) for step in range(11)]
    assert values == sorted(values)
    assert 0 < values[0] < values[-1] < 1


def test_as_of_is_today_unless_the_plan_names_a_date() -> None:
    assert as_of("2021-05-06") == "2021-05-06"
    assert len(as_of("")) == len("2021-05-06")
