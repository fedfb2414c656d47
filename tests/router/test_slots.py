"""The lexicon first; a model's spans where it found nothing, if they mean something to the pack."""

from __future__ import annotations

import pytest

from orchestrator.domain.pack import DomainPack
from orchestrator.inference.models import SlotSpan
from orchestrator.router.slots import SlotReader, slot_messages


@pytest.fixture(scope="module")
def reader(medical: DomainPack) -> SlotReader:
    return SlotReader(medical)


def read(reader: SlotReader, text: str, *spans: tuple[str, str, float]) -> set[tuple[str, str, str, str]]:
    made = [
        SlotSpan(slot_type, text.index(part), text.index(part) + len(part), chance) for slot_type, part, chance in spans
    ]
    found = reader.complete(reader.find(text), text, made)
    assert all(text[match.start : match.end] == match.text for match in found)
    return {(match.slot_type, match.text, match.value, match.decided_by) for match in found}


def test_colloquial_spellings_need_the_model(reader: SlotReader) -> None:
    text = "上班族去大医院看病"
    assert not read(reader, text)
    assert read(reader, text, ("population", "上班族", 0.9), ("hospital_grade", "大医院", 0.9)) == {
        ("population", "上班族", "职工", "model"),
        ("hospital_grade", "大医院", "三级", "model"),
    }


def test_the_lexicon_goes_before_the_model(reader: SlotReader) -> None:
    assert read(reader, "居民住院", ("population", "居民住", 0.99), ("disease", "住院", 0.99)) == {
        ("population", "居民", "居民", "lexicon"),
        ("service", "住院", "住院", "lexicon"),
    }


def test_a_border_that_is_off_is_put_right(reader: SlotReader) -> None:
    assert read(reader, "我在苏州做手术", ("region", "在苏州", 0.9)) == {("region", "苏州", "苏州", "model")}
    assert read(reader, "住在大医院里", ("hospital_grade", "在大医院里", 0.9)) == {
        ("hospital_grade", "大医院", "三级", "model")
    }


def test_a_slip_of_a_spelling_still_counts(reader: SlotReader) -> None:
    assert read(reader, "奥希替泥片多少钱", ("drug", "奥希替泥片", 0.9)) == {
        ("drug", "奥希替泥片", "奥希替尼片", "model")
    }


def test_what_means_nothing_is_dropped(reader: SlotReader) -> None:
    assert not read(reader, "月球医院能报吗", ("hospital_grade", "月球医院", 0.99))
    assert not read(reader, "我在苏州做手术", ("region", "苏州", 0.3))
    assert not read(reader, "我在苏州做手术", ("region", "苏", 0.99))
    assert not read(reader, "颜色红的能报吗", ("colour", "红的", 0.99))
    assert not read(reader, "在的、了", ("region", "在的、了", 0.99))


def test_open_types_take_new_values(reader: SlotReader) -> None:
    text = "痛风能办吗"
    (slot,) = slot_messages(reader.complete(reader.find(text), text, [SlotSpan("disease", 0, 2, 0.9)]))
    assert (slot.value, slot.decided_by, slot.start, slot.end) == ("痛风", "model", 0, 2)
    assert 0 < slot.confidence < 0.97
