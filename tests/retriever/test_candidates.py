from __future__ import annotations

from orchestrator.knowledge.ports import Hit
from orchestrator.retriever.candidates import Candidates
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
    assert best.sub_question_ids == ["q1", "q2"]


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
