"""Which of the first paragraphs is the document's title, where no style says so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from ingest.parse.layout import BlockKind

__all__ = ["Sized", "mark_titles"]

# A title stands at the top: after a letterhead, a mark or a number at most.
_FIRST_BLOCKS = 6
_MAX_TITLE_CHARS = 120
_MAX_PLAIN_TITLE_CHARS = 60


class Sized(Protocol):
    """A block whose size and alignment are known."""

    kind: BlockKind
    text: str
    level: int
    centered: bool
    half_points: int


def mark_titles(drafts: Sequence[Sized]) -> None:
    """Turn the first large centred paragraph, and those of the same size right after it, into the title.

    Where none is larger than the rest, a short centred paragraph at the very start will do. Nothing changes where a
    style already names a title.
    """
    if any(draft.kind is BlockKind.TITLE for draft in drafts[:_FIRST_BLOCKS]):
        return
    body = _body_size(drafts)
    for place, draft in enumerate(drafts[:_FIRST_BLOCKS]):
        if not _may_be_title(draft, body):
            continue
        for following in drafts[place:_FIRST_BLOCKS]:
            if not _may_be_title(following, body) or following.half_points != draft.half_points:
                break
            following.kind = BlockKind.TITLE
            following.level = 0
        return
    if drafts and drafts[0].centered and len(drafts[0].text) <= _MAX_PLAIN_TITLE_CHARS and _is_text(drafts[0]):
        drafts[0].kind = BlockKind.TITLE
        drafts[0].level = 0


def _may_be_title(draft: Sized, body: int) -> bool:
    return _is_text(draft) and draft.centered and draft.half_points > body and len(draft.text) <= _MAX_TITLE_CHARS


def _is_text(draft: Sized) -> bool:
    return draft.kind in {BlockKind.PARAGRAPH, BlockKind.HEADING}


def _body_size(drafts: Sequence[Sized]) -> int:
    """The size that most of the text has."""
    sizes: Counter[int] = Counter()
    for draft in drafts:
        if draft.half_points:
            sizes[draft.half_points] += len(draft.text)
    return sizes.most_common(1)[0][0] if sizes else 0
