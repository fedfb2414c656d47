"""At least two documents in the top five, where two bear on the question."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

__all__ = ["TOP", "diversify"]

TOP = 5
# A passage of another document bears on the question where it scores at least this share of the one it replaces.
BEARS_ON = 0.95

_T = TypeVar("_T")


def diversify(
    ranked: Sequence[_T], documents: int, *, document_of: Callable[[_T], str], score_of: Callable[[_T], float]
) -> list[_T]:
    """Lift passages of other documents into the top five until it holds ``documents`` of them.

    Only a passage that scores nearly as high as the one it pushes down is lifted; the order is kept otherwise.

    Args:
        ranked: passages, best first.
        documents: how many documents the top five should hold.
        document_of: a passage's document.
        score_of: a passage's final score.
    """
    top, rest = list(ranked[:TOP]), list(ranked[TOP:])
    while rest and len({document_of(item) for item in top}) < documents:
        present = {document_of(item) for item in top}
        lifted = next((item for item in rest if document_of(item) not in present), None)
        if lifted is None or score_of(lifted) < BEARS_ON * score_of(top[-1]):
            break
        rest.remove(lifted)
        rest.insert(0, top.pop())
        top.append(lifted)
    return top + rest
