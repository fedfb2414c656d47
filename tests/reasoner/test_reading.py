"""What is kept of a clause follows from its content alone, and changes no answer."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.pack import DomainPack
from orchestrator.reasoner.evidence import read_sources, readings_of
from orchestrator.reasoner.lazy import lazy
from orchestrator.reasoner.phrases import key_phrase, runs_of
from orchestrator.reasoner.reading import LONGEST_CLAUSE, PackReader
from trias.v1 import document_pb2

RATE = "参保职工在三级医院住院的支付比例为75%，二级医院为85%。"


def clause(text: str, heading: str = "") -> document_pb2.Clause:
    return document_pb2.Clause(text=text, path=[document_pb2.PathElement(label="第一章", heading=heading)])


def test_the_same_content_is_read_once(pack: DomainPack) -> None:
    reader = PackReader(pack)
    first = reader.clause(clause(RATE))
    assert reader.clause(clause(RATE)) is first
    assert reader.clause(clause(RATE, "待遇")) is not first
    assert reader.clause(clause(RATE + "另行规定。")) is not first
    assert first.statements[0].numbers is first.statements[0].numbers


def test_what_is_long_is_read_anew(pack: DomainPack) -> None:
    reader = PackReader(pack)
    long = clause("医" * LONGEST_CLAUSE)
    assert reader.clause(long) is not reader.clause(long)


def test_what_passages_differ_in_is_not_shared(pack: DomainPack, passage: Any) -> None:
    reader = PackReader(pack)
    one, other = readings_of(
        read_sources([passage(RATE, title="云川省办法"), passage(RATE, title="青岚市办法")], reader)
    )
    assert one.scope["region"] == {"云川省"}
    assert other.scope["region"] == {"青岚市"}
    assert one.number_scope(0)["hospital_grade"] == other.number_scope(0)["hospital_grade"] == {"三级"}


def test_what_was_read_before_changes_no_answer(reason: Any, passage: Any) -> None:
    passages = [passage(RATE), passage("经办机构不得拒绝备案。", label="第二条")]
    questions = ("三级医院住院报销比例是多少", "可以拒绝备案吗", "三级医院住院报销比例是多少")
    answers = [reason(question, passages).answer for question in questions]
    assert answers[0] == answers[2] != answers[1]


@given(
    st.text(alphabet="应当不得或者和的，。；（）一二备案转院参与之日起内", max_size=40),
    st.frozensets(st.sampled_from(["备案", "转院", "参与", "案转"])),
    st.none() | st.tuples(st.integers(0, 20), st.integers(1, 4)),
)
def test_a_phrase_of_known_runs_is_the_same_phrase(
    text: str, grams: frozenset[str], at: tuple[int, int] | None
) -> None:
    required = (at[0], at[0] + at[1]) if at and at[0] + at[1] <= len(text) else None
    phrase, (start, end) = key_phrase(text, grams, 15, required)
    assert (phrase, (start, end)) == key_phrase(text, grams, 15, required, runs_of(text, 15, required))
    assert len(phrase) <= 15
    assert 0 <= start <= end <= len(text)
    if required is not None:
        assert text[required[0] : required[1]] in phrase


def test_a_lazy_attribute_is_worked_out_once() -> None:
    class Counted:
        def __init__(self) -> None:
            self.calls = 0

        @lazy
        def value(self) -> int:
            """The value."""
            self.calls += 1
            return 7

    counted = Counted()
    assert (counted.value, counted.value, counted.calls) == (7, 7, 1)
    assert Counted.value.__doc__ == "The value."
