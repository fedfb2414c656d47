"""Texts of many lengths into requests of few shapes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Batch", "pad", "plan_batches"]


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows that travel in one request.

    Attributes:
        rows: their places in the sequence that was planned.
        length: tokens that each is padded to.
    """

    rows: tuple[int, ...]
    length: int


def plan_batches(
    lengths: Sequence[int], *, buckets: Sequence[int], max_tokens: int, max_rows: int, max_length: int
) -> list[Batch]:
    """Group rows of like length.

    Every row is padded to the next bucket, so that little is wasted and Triton, which joins only requests of equal
    shape, finds many of them. Shorter rows come first.

    Args:
        lengths: tokens of each row, at most ``max_length``.
        buckets: padded lengths, in any order; ``max_length`` is one more.
        max_tokens: padded tokens in one request; a single row may exceed it.
        max_rows: rows in one request.
        max_length: the longest row that the model takes.
    """
    steps = sorted({size for size in buckets if size < max_length} | {max_length})
    members: dict[int, list[int]] = {size: [] for size in steps}
    for row in sorted(range(len(lengths)), key=lambda place: lengths[place]):
        members[steps[bisect_left(steps, lengths[row])]].append(row)
    return [
        Batch(rows=tuple(part), length=size)
        for size, rows in members.items()
        for part in _chunks(rows, max(1, min(max_rows, max_tokens // size)))
    ]


def pad(
    ids: Sequence[Sequence[int]], *, length: int, pad_id: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Token ids and attention mask, both int64 of shape [len(ids), length], padded on the right."""
    tokens = np.full((len(ids), length), pad_id, dtype=np.int64)
    mask = np.zeros((len(ids), length), dtype=np.int64)
    for row, sequence in enumerate(ids):
        tokens[row, : len(sequence)] = sequence
        mask[row, : len(sequence)] = 1
    return tokens, mask


def _chunks(rows: Sequence[int], size: int) -> Iterable[Sequence[int]]:
    return (rows[start : start + size] for start in range(0, len(rows), size))
