"""Titles and headings, by size, weight and place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from ingest.parse.layout import BlockKind
from ingest.parse.pdf.paragraphs import Paragraph, Row

__all__ = ["Roles", "body_size_of"]

_LARGER = 1.12  # times the body's size
_MAX_HEADING_CHARS = 80
_FIRST_PARAGRAPHS = 6
_SENTENCE_ENDS = "。；;，,"


def body_size_of(sizes: Iterable[tuple[float, int]]) -> float:
    """The size that most of the text has, from pairs of size and number of characters."""
    weight: Counter[float] = Counter()
    for size, characters in sizes:
        weight[round(size * 2) / 2] += characters
    return weight.most_common(1)[0][0] if weight else 0.0


@dataclass(frozen=True, slots=True)
class Roles:
    """What each paragraph of a document is.

    Attributes:
        body: the size of body text.
        sizes: of headings, the largest first.
        titles: places of the paragraphs that make the title.
    """

    body: float
    sizes: tuple[float, ...]
    titles: frozenset[int]

    @classmethod
    def of(cls, paragraphs: list[Paragraph], body: float) -> Roles:
        """Look at a document's paragraphs."""
        titles = _titles(paragraphs, body)
        large = {
            _size(paragraph)
            for place, paragraph in enumerate(paragraphs)
            if place not in titles and _size(paragraph) > body * _LARGER and _is_short(paragraph)
        }
        return cls(body, tuple(sorted(large, reverse=True)), titles)

    def role(self, place: int, paragraph: Paragraph) -> tuple[BlockKind, int]:
        """The kind of a paragraph, and its level where it is a heading."""
        if place in self.titles:
            return BlockKind.TITLE, 0
        if not _is_short(paragraph):
            return BlockKind.PARAGRAPH, 0
        size = _size(paragraph)
        if size in self.sizes:
            return BlockKind.HEADING, self.sizes.index(size) + 1
        if all(row.line.bold for row in paragraph.rows):
            return BlockKind.HEADING, len(self.sizes) + 1
        return BlockKind.PARAGRAPH, 0


def _titles(paragraphs: list[Paragraph], body: float) -> frozenset[int]:
    first = [
        (place, paragraph)
        for place, paragraph in enumerate(paragraphs[:_FIRST_PARAGRAPHS])
        if paragraph.rows[0].page == paragraphs[0].rows[0].page and _may_be_title(paragraph, body)
    ]
    if not first:
        return frozenset()
    largest = max(_size(paragraph) for _, paragraph in first)
    start = next(place for place, paragraph in first if _size(paragraph) == largest)
    places = {place for place, paragraph in first if _size(paragraph) == largest}
    run = start
    while run + 1 in places:
        run += 1
    return frozenset(range(start, run + 1))


def _may_be_title(paragraph: Paragraph, body: float) -> bool:
    return _is_short(paragraph) and (_size(paragraph) > body * _LARGER or _is_bold_and_centered(paragraph.rows))


def _is_bold_and_centered(rows: list[Row]) -> bool:
    return all(row.is_centered and row.line.bold for row in rows)


def _is_short(paragraph: Paragraph) -> bool:
    text = paragraph.text
    return len(text) <= _MAX_HEADING_CHARS and not text.endswith(tuple(_SENTENCE_ENDS))


def _size(paragraph: Paragraph) -> float:
    return body_size_of((row.line.size, len(row.line.text)) for row in paragraph.rows)
