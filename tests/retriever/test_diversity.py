from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.retriever.diversity import TOP, diversify

Item = tuple[str, float]


def run(ranked: list[Item], documents: int = 2) -> list[Item]:
    return diversify(ranked, documents, document_of=lambda item: item[0], score_of=lambda item: item[1])


def test_a_near_second_document_is_lifted_into_the_top_five() -> None:
    ranked = [("a", 1.0 - place / 100) for place in range(7)] + [("b", 0.92)]
    assert run(ranked)[TOP - 1] == ("b", 0.92)
    assert run(ranked)[TOP] == ranked[TOP - 1]


def test_a_far_second_document_stays_where_it_is() -> None:
    ranked = [("a", 1.0 - place / 100) for place in range(7)] + [("b", 0.3)]
    assert run(ranked) == ranked


def test_one_document_alone_is_left_alone() -> None:
    ranked = [("a", 1.0 - place / 100) for place in range(9)]
    assert run(ranked) == ranked


def test_three_documents_find_room_beside_each_other() -> None:
    ranked = [("a", 1.0)] * 5 + [("b", 0.99), ("c", 0.98)]
    assert [document for document, _ in run(ranked, 3)] == ["a", "a", "a", "b", "c", "a", "a"]


def test_more_documents_than_places_end() -> None:
    ranked = [(name, 1.0) for name in "abcdefg"]
    assert run(ranked, 9) == ranked


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 1)), max_size=12), st.integers(1, 3))
def test_nothing_is_lost_or_made_up(items: list[Item], documents: int) -> None:
    ranked = sorted(items, key=lambda item: -item[1])
    assert sorted(run(ranked, documents)) == sorted(ranked)
