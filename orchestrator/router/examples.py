"""The pack's labelled examples as vectors, and what those near a question say about its intent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["ExampleBank", "ExampleVote"]

Vector = npt.NDArray[np.float32]
Shares = npt.NDArray[np.float64]

# Of centred cosines: how fast an example's say falls with its distance. Chosen with the development questions in
# tests/router; anything from 0.05 to 0.2 does about as well.
TEMPERATURE = 0.1
# The intents' centroids decide first, single neighbours correct them: on the development questions centroids alone were
# right for 90 %, neighbours alone for 84 %.
NEIGHBOUR_WEIGHT = 0.5
# What an intent that none of the neighbours has still gets.
NEIGHBOUR_FLOOR = 0.02
# In place of the length of a vector of zeros.
SHORTEST = np.finfo(np.float32).tiny


@dataclass(frozen=True, slots=True)
class ExampleVote:
    """``shares``: float64, shape [intents], summing to 1. ``nearest``: the best example's centred cosine, in [-1,1]."""

    shares: Shares
    nearest: float


class ExampleBank:
    """Labelled examples of one pack, embedded by one model.

    Encoders like E5 press all cosines into a narrow band (.88 to .91). Taking the bank's mean out of every vector
    spreads them again, so that distances mean the same for one encoder as for the next.

    Args:
        labels: the place in the list of intents, one a row of ``vectors``.
        intents: how many intents there are.
        vectors: float32, shape [examples, dimension], L2-normalised rows.
        fingerprint: of the embedder.
        neighbours: how many examples vote.
    """

    def __init__(self, labels: Sequence[int], intents: int, vectors: Vector, fingerprint: str, neighbours: int) -> None:
        self.fingerprint = fingerprint
        self._labels = np.asarray(labels, dtype=np.intp)
        self._neighbours = neighbours
        self._mean = vectors.mean(axis=0)
        self._rows = _unit(vectors - self._mean)
        self._sums = np.zeros((intents, vectors.shape[1]), dtype=np.float32)
        np.add.at(self._sums, self._labels, self._rows)
        self._centroids = _unit(self._sums)
        self._empty = np.bincount(self._labels, minlength=intents) == 0

    def __len__(self) -> int:
        return len(self._labels)

    def vote(self, vector: Vector) -> ExampleVote:
        """The vote on one L2-normalised vector, shape [dimension]."""
        centred = self._centre(vector)
        return self._vote(self._rows @ centred, self._centroids @ centred, self._empty)

    def vote_without(self, row: int) -> ExampleVote:
        """What the other examples would say about example ``row``: to learn how far votes can be trusted."""
        question = self._rows[row]
        similarities = self._rows @ question
        similarities[row] = -1.0
        label = self._labels[row]
        centroids, empty = self._centroids.copy(), self._empty.copy()
        centroids[label] = _unit((self._sums[label] - question)[None])[0]
        empty[label] = np.count_nonzero(self._labels == label) == 1
        return self._vote(similarities, centroids @ question, empty)

    def similarity_to(self, vector: Vector, other: Vector) -> float:
        """The centred cosine of two vectors that are not in the bank."""
        return float(self._centre(vector) @ self._centre(other))

    def _centre(self, vector: Vector) -> Vector:
        centred: Vector = _unit((vector - self._mean)[None])[0]
        return centred

    def _vote(self, similarities: Vector, to_centroids: Vector, empty: npt.NDArray[np.bool_]) -> ExampleVote:
        nearest = np.argsort(-similarities, kind="stable")[: self._neighbours]
        best = float(similarities[nearest[0]])
        weights = np.exp((similarities[nearest] - best) / TEMPERATURE)
        neighbours = np.zeros(len(to_centroids))
        np.add.at(neighbours, self._labels[nearest], weights / weights.sum())
        log_shares = to_centroids / TEMPERATURE + NEIGHBOUR_WEIGHT * np.log(neighbours + NEIGHBOUR_FLOOR)
        log_shares[empty] = -np.inf
        shares = np.exp(log_shares - log_shares.max())
        return ExampleVote(shares / shares.sum(), best)


def _unit(rows: Vector) -> Vector:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: Vector = (rows / np.maximum(lengths, SHORTEST)).astype(np.float32)
    return unit
