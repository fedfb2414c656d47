from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.knowledge.ports import Hit
from orchestrator.retriever.candidates import Candidates
from orchestrator.retriever.scoring import Features, final_score
from orchestrator.retriever.search import GraphReach, Outcome
from orchestrator.settings import ScoringSettings


def outcome(search: str, **scores: float) -> Outcome:
    return Outcome(search=search, hits=tuple(Hit(name, f"d-{name}", "r", value) for name, value in scores.items()))


def test_both_signals_of_one_clause_meet() -> None:
    candidates = Candidates(ScoringSettings())
    candidates.add_query([outcome("vector", a=0.9, b=0.8), outcome("keyword", a=12.0, c=3.0)], query_tokens=6)
    found = {candidate.source_id: candidate.features for candidate in candidates.best(10)}
    assert found["a"].cosine == 0.9
    assert found["a"].bm25 == 12.0
    assert found["b"].bm25 is None
    assert found["c"].cosine is None
    assert all(features.query_tokens == 6 for features in found.values())


def test_the_better_of_two_queries_counts_and_both_are_named() -> None:
    candidates = Candidates(ScoringSettings())
    candidates.add_query([outcome("vector", a=0.80)], 5, "q1")
    candidates.add_query([outcome("vector", a=0.92)], 9, "q2")
    (best,) = candidates.best(1)
    assert best.features.cosine == 0.92
    assert best.features.query_tokens == 9
    assert best.sub_question_ids == ("q1", "q2")


def test_the_graph_raises_known_clauses_and_adds_new_ones() -> None:
    candidates = Candidates(ScoringSettings())
    candidates.add_query([outcome("vector", a=0.9)], 5)
    candidates.add_reaches([GraphReach("a", "d-a", 0.5), GraphReach("z", "d-z", 1.0), GraphReach("a", "d-a", 0.2)])
    found = {candidate.source_id: candidate.features for candidate in candidates.best(10)}
    assert found["a"].reached == 0.5
    assert found["z"].reached == 1.0


def test_a_named_document_raises_all_its_clauses() -> None:
    candidates = Candidates(ScoringSettings())
    candidates.add_query([outcome("vector", a=0.9, b=0.9)], 5)
    candidates.raise_documents(["d-b"], 0.6)
    assert [candidate.source_id for candidate in candidates.best(2)] == ["b", "a"]


def test_ties_come_in_a_stable_order() -> None:
    candidates = Candidates(ScoringSettings())
    candidates.add_query([outcome("vector", b=0.9, a=0.9)], 5)
    assert [candidate.source_id for candidate in candidates.best(2)] == ["a", "b"]


def test_a_clause_that_a_later_query_finds_better_keeps_what_the_graph_said_of_it() -> None:
    candidates = Candidates(ScoringSettings())
    candidates.add_reaches([GraphReach("a", "d-a", 0.1)])
    candidates.add_query([outcome("keyword", a=20.0, b=1.0)], 4)
    candidates.add_query([outcome("keyword", b=30.0)], 4)
    found = {candidate.source_id: candidate.features for candidate in candidates.best(10)}
    assert (found["a"].bm25, found["a"].reached) == (20.0, 0.1)
    assert found["b"].bm25 == 30.0


@given(
    st.dictionaries(
        st.text("abc", min_size=1, max_size=3),
        st.tuples(st.none() | st.floats(-1, 1), st.none() | st.floats(0, 200)),
        max_size=30,
    ),
    st.integers(0, 40),
    st.integers(0, 40),
)
def test_columns_score_and_order_as_single_features_do(
    clauses: dict[str, tuple[float | None, float | None]], query_tokens: int, limit: int
) -> None:
    scoring = ScoringSettings()
    cosines = {name: cosine for name, (cosine, _) in clauses.items() if cosine is not None}
    sums = {name: bm25 for name, (_, bm25) in clauses.items() if bm25 is not None}
    candidates = Candidates(scoring)
    candidates.add_query([outcome("vector", **cosines), outcome("keyword", **sums)], query_tokens)
    expected = {
        name: Features(cosine=cosines.get(name), bm25=sums.get(name), query_tokens=query_tokens)
        for name in {**cosines, **sums}
    }
    order = sorted(expected, key=lambda name: (-final_score(expected[name], scoring), name))[:limit]
    best = candidates.best(limit)
    assert [candidate.source_id for candidate in best] == order
    assert [candidate.features for candidate in best] == [expected[name] for name in order]
