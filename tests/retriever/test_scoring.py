from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.knowledge.clause import Position
from orchestrator.retriever.scoring import Features, final_score, score
from orchestrator.settings import ScoringSettings

SETTINGS = ScoringSettings(
    semantic=0.4, bm25=0.3, graph=0.2, position=0.1, consistency=0.1, cosine_low=0.8, cosine_high=0.9, bm25_full=2.0
)

features = st.builds(
    Features,
    cosine=st.none() | st.floats(-1, 1),
    bm25=st.none() | st.floats(0, 200),
    query_tokens=st.integers(0, 100),
    rank=st.floats(0, 1),
    reached=st.floats(0, 1),
    position=st.sampled_from(Position),
    contradicted=st.floats(0, 1),
    logit=st.none() | st.floats(-1e9, 1e9),
)


def test_every_term_of_a_full_hit() -> None:
    scores = score(Features(cosine=0.85, bm25=10, query_tokens=10, reached=0.5), SETTINGS)
    assert scores.semantic.value == pytest.approx(0.5)
    assert scores.semantic.raw == pytest.approx(0.85)
    assert scores.bm25.value == pytest.approx(0.5)
    assert scores.graph.value == pytest.approx(0.5)
    assert scores.position.value == 1.0
    assert scores.final == pytest.approx(0.4 * 0.5 + 0.3 * 0.5 + 0.2 * 0.5 + 0.1)


def test_what_the_reranker_has_read_shares_the_semantic_term() -> None:
    settings = SETTINGS.model_copy(update={"rerank_share": 0.75, "rerank_scale": 2.0, "rerank_shift": -2.0})
    semantic = score(Features(cosine=0.85, logit=1.0), settings).semantic
    assert (semantic.origin, semantic.raw, semantic.present) == ("reranker", 1.0, True)
    assert semantic.value == pytest.approx(0.25 * 0.5 + 0.75 * 0.5)
    sure = score(Features(cosine=None, logit=30.0), settings).semantic
    assert sure.value == pytest.approx(0.75)
    assert score(Features(cosine=0.85), settings).semantic.origin == "vector"


@pytest.mark.parametrize(("position", "value"), [("body", 1.0), ("appendix", 0.6), ("footnote", 0.3)])
def test_position_values_are_the_design_s(position: str, value: float) -> None:
    assert score(Features(position=Position(position)), SETTINGS).position.value == value


def test_a_signal_that_did_not_find_the_clause_says_so() -> None:
    scores = score(Features(bm25=1.0), SETTINGS)
    assert not scores.semantic.present
    assert scores.semantic.value == 0.0
    assert scores.bm25.present


def test_a_contradicted_passage_loses_and_never_gains() -> None:
    whole, spoiled = (score(Features(cosine=0.9, contradicted=part), SETTINGS) for part in (0.0, 1.0))
    assert spoiled.consistency.contribution == pytest.approx(-0.1)
    assert spoiled.final == pytest.approx(whole.final - 0.1)


@given(features)
def test_terms_and_final_stay_in_the_unit_interval(one: Features) -> None:
    scores = score(one, SETTINGS)
    for term in (scores.semantic, scores.bm25, scores.graph, scores.position, scores.consistency):
        assert 0.0 <= term.value <= 1.0
    assert 0.0 <= scores.final <= 1.0


@given(features)
def test_the_quick_score_is_the_sum_of_the_terms(one: Features) -> None:
    assert score(one, SETTINGS).final == pytest.approx(min(1.0, max(0.0, final_score(one, SETTINGS))))


@given(features, features)
def test_a_score_does_not_depend_on_other_candidates(one: Features, other: Features) -> None:
    alone = score(one, SETTINGS)
    score(other, SETTINGS)
    assert score(one, SETTINGS) == alone
