"""At least two documents in the top five, where two bear on the question."""

from __future__ import annotations

from collections import Counter
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
    while rest:
        held = Counter(document_of(item) for item in top)
        if len(held) >= documents:
            break
        lifted = next((item for item in rest if document_of(item) not in held), None)
        # The lowest passage whose document stays in the top without it: each round brings one document more.
        place = next((at for at in reversed(range(len(top))) if held[document_of(top[at])] > 1), None)
        if lifted is None or place is None or score_of(lifted) < BEARS_ON * score_of(top[place]):
            break
        rest.remove(lifted)
        rest.insert(0, top.pop(place))
        top.append(lifted)
    return top + rest
