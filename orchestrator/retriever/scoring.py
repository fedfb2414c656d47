"""The hybrid score: final = Σ weight × term, each term in [0,1] and returned with the passage.

No term depends on which other candidates happen to be in the list:

- semantic: the cosine, stretched linearly from [cosine_low, cosine_high] to [0,1]. Where the reranker has read the
  clause, `rerank_share` of it is the reranker's: 1/(1 + exp(−(rerank_scale·logit + rerank_shift))).
- bm25: the BM25 sum per query token, as a share of `bm25_full`, capped at 1. Dividing by the tokens makes long and
  short questions comparable.
- graph: how the clause is reached: named by the question, referred to by a strong hit, or its PageRank percentile.
- position: body 1.0, appendix 0.6, footnote 0.3.
- consistency: what a clause loses because the rest of the library contradicts it; its contribution is at most 0.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypedDict, TypeVar

import numpy as np
import numpy.typing as npt

from orchestrator.knowledge.clause import Position
from orchestrator.settings import ScoringSettings
from trias.v1 import passage_pb2

__all__ = ["POSITION_VALUES", "Features", "final_of", "final_score", "score", "searched_scores"]

_Value = TypeVar("_Value", float, npt.NDArray[np.float64])

POSITION_VALUES = {Position.BODY: 1.0, Position.APPENDIX: 0.6, Position.FOOTNOTE: 0.3}


class Features(NamedTuple):
    """What is known of one candidate before it is scored.

    Attributes:
        cosine: None where the vector search did not find the clause.
        bm25: the raw BM25 sum; None where the keyword search did not find it.
        query_tokens: distinct tokens of the query that found it.
        rank: PageRank percentile in [0,1].
        reached: in [0,1], how directly the question or a strong hit leads to the clause; 0 where nothing does.
        position: where in its document the clause stands.
        contradicted: in [0,1], how far the rest of the library contradicts it.
        logit: the reranker's; None where it has not read the clause.
    """

    cosine: float | None = None
    bm25: float | None = None
    query_tokens: int = 1
    rank: float = 0.0
    reached: float = 0.0
    position: Position = Position.BODY
    contradicted: float = 0.0
    logit: float | None = None


def score(features: Features, settings: ScoringSettings) -> passage_pb2.Scores:
    """Score one candidate, term by term."""
    read = features.logit is not None
    raw, origin = (features.logit, "reranker") if read else (features.cosine, "vector")
    semantic = _term(_semantic(features, settings), raw, settings.semantic, origin)
    bm25 = _term(_bm25(features, settings), features.bm25, settings.bm25, "keyword")
    pagerank = settings.pagerank * features.rank
    by_reference = features.reached >= pagerank
    graph = _term(
        max(features.reached, pagerank),
        features.reached if by_reference else features.rank,
        settings.graph,
        "reference" if by_reference else "pagerank",
    )
    graph["present"] = bool(features.reached or features.rank)
    place = POSITION_VALUES[features.position]
    position = _term(place, place, settings.position, "position")
    consistency = _term(features.contradicted, features.contradicted, -settings.consistency, "consistency")
    total = sum(term["contribution"] for term in (semantic, bm25, graph, position, consistency))
    return passage_pb2.Scores(
        final=min(1.0, max(0.0, total)),
        semantic=semantic,
        bm25=bm25,
        graph=graph,
        position=position,
        consistency=consistency,
    )


def final_score(features: Features, settings: ScoringSettings) -> float:
    """The final score alone, unclamped."""
    searched = settings.semantic * _semantic(features, settings) + settings.bm25 * _bm25(features, settings)
    return final_of(
        searched,
        settings,
        reached=max(features.reached, settings.pagerank * features.rank),
        place=POSITION_VALUES[features.position],
        contradicted=features.contradicted,
    )


def final_of(
    searched: _Value,
    settings: ScoringSettings,
    *,
    reached: _Value | float = 0.0,
    place: float = 1.0,
    contradicted: float = 0.0,
) -> _Value:
    """The final score, unclamped, of one clause or of a column of them.

    Args:
        searched: what the searches add to it.
        settings: weights.
        reached: the graph term, in [0,1].
        place: the position term, in [0,1].
        contradicted: in [0,1].
    """
    return searched + settings.graph * reached + settings.position * place - settings.consistency * contradicted


def searched_scores(
    cosine: npt.NDArray[np.float64], bm25: npt.NDArray[np.float64], query_tokens: int, settings: ScoringSettings
) -> npt.NDArray[np.float64]:
    """What the two searches add to the final scores of many clauses: the same sums as for one, in columns.

    Args:
        cosine: shape [clauses], NaN where the vector search did not find the clause.
        bm25: shape [clauses], NaN where the keyword search did not.
        query_tokens: of the query.
        settings: weights and normalisations.
    """
    semantic = (cosine - settings.cosine_low) / (settings.cosine_high - settings.cosine_low)
    share = bm25 / max(1, query_tokens) / settings.bm25_full
    # What is missing adds nothing: fmax takes the number that is none for the lesser one.
    return settings.semantic * np.fmin(1.0, np.fmax(0.0, semantic)) + settings.bm25 * np.fmin(1.0, np.fmax(0.0, share))


def _semantic(features: Features, settings: ScoringSettings) -> float:
    near = 0.0
    if features.cosine is not None:
        near = _clip((features.cosine - settings.cosine_low) / (settings.cosine_high - settings.cosine_low))
    if features.logit is None:
        return near
    # The logistic curve, in the form that no logit overflows.
    answers = 0.5 + 0.5 * math.tanh((settings.rerank_scale * features.logit + settings.rerank_shift) / 2)
    return (1 - settings.rerank_share) * near + settings.rerank_share * answers


def _bm25(features: Features, settings: ScoringSettings) -> float:
    if features.bm25 is None:
        return 0.0
    return _clip(features.bm25 / max(1, features.query_tokens) / settings.bm25_full)


def _clip(value: float) -> float:
    return min(1.0, max(0.0, value))


class _Term(TypedDict):
    """The fields of a `passage_pb2.ScoreTerm`: half as dear as the message itself, which would be copied."""

    value: float
    raw: float
    weight: float
    contribution: float
    present: bool
    origin: str


def _term(value: float, raw: float | None, weight: float, origin: str) -> _Term:
    return {
        "value": value,
        "raw": raw or 0.0,
        "weight": weight,
        "contribution": value * weight,
        "present": raw is not None,
        "origin": origin,
    }
