"""Rates of a run to ratios: each round is compared with itself, so what slows the machine slows both sides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
import numpy.typing as npt

__all__ = ["Agreement", "Ratio", "agreement", "ratios"]


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times another's throughput ours is: the median of the rounds, the lowest and the highest."""

    median: float
    lowest: float
    highest: float


@dataclass(frozen=True, slots=True)
class Agreement:
    """Cosines of a system's vectors with the reference's: the worst text's, and the mean."""

    worst: float
    mean: float


def ratios(rounds: Sequence[Mapping[str, float]], ours: str) -> dict[str, Ratio]:
    """Ours over each other system.

    Args:
        rounds: system → texts a second, one mapping a round.
        ours: the system that the others are compared with.

    Raises:
        ValueError: there is no round, or a round lacks a system.
    """
    if not rounds:
        raise ValueError("there is no round to compare")
    names = rounds[0].keys()
    if any(one.keys() != names for one in rounds) or ours not in names:
        raise ValueError(f"every round must hold the same systems, {ours} among them")
    found = {}
    for name in names:
        if name != ours:
            each = [one[ours] / one[name] for one in rounds]
            found[name] = Ratio(median(each), min(each), max(each))
    return found


def agreement(vectors: npt.NDArray[np.float64], reference: npt.NDArray[np.float64]) -> Agreement:
    """Cosines row by row; both [texts, dimension].

    Raises:
        ValueError: the shapes differ.
    """
    if vectors.shape != reference.shape:
        raise ValueError(f"vectors of shape {vectors.shape} cannot be compared with {reference.shape}")
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(reference, axis=1)
    cosines = (vectors * reference).sum(axis=1) / lengths
    return Agreement(float(cosines.min()), float(cosines.mean()))
