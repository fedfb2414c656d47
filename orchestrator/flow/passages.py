"""The passages of one question, over all the searches that it took."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from trias.v1 import passage_pb2

__all__ = ["add_passages", "merge_passages"]

# The most that a request for passages may ask for; a merged list stays within it.
MOST_PASSAGES = 100


class _Passages(Protocol):
    """A repeated field of passages."""

    def add(self) -> passage_pb2.Passage: ...


def add_passages(into: _Passages, passages: Iterable[passage_pb2.Passage]) -> None:
    """Append copies; in half the time that `extend`, or the message's constructor, takes."""
    for passage in passages:
        into.add().CopyFrom(passage)


def merge_passages(
    known: Iterable[passage_pb2.Passage], found: Iterable[passage_pb2.Passage]
) -> list[passage_pb2.Passage]:
    """Join two searches: each clause once, with its better final score, best first, ranked anew from 1.

    Neither input is changed.
    """
    best: dict[str, passage_pb2.Passage] = {}
    for passage in (*known, *found):
        rival = best.get(passage.source_id)
        if rival is None or passage.scores.final > rival.scores.final:
            best[passage.source_id] = passage
    ordered = sorted(best.values(), key=lambda passage: -passage.scores.final)[:MOST_PASSAGES]
    merged = []
    for rank, passage in enumerate(ordered, start=1):
        copy = passage_pb2.Passage()
        copy.CopyFrom(passage)
        copy.rank = rank
        merged.append(copy)
    return merged
