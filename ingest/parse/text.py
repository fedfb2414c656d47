"""Plain text: one paragraph a line, or several lines where a text is clearly wrapped at a fixed width."""

from __future__ import annotations

import re
from pathlib import Path

from ingest.parse.encoding import decode
from ingest.parse.joining import display_width, join_lines
from ingest.parse.layout import Block, BlockKind, ParsedDocument
from orchestrator.errors import DocumentError

__all__ = ["TEXT_MEDIA_TYPE", "read_text"]

TEXT_MEDIA_TYPE = "text/plain"

# A text is wrapped where most of its lines end at one width, without an end of a sentence.
_NARROWEST, _WIDEST = 40, 132
_WIDTH_SLACK = 3
_WRAPPED_SHARE = 0.5
_LEAST_LINES = 8

_SENTENCE_END = re.compile(r"[。！？；：.!?;:…][”’」』）)]?$")
_LABEL = re.compile(
    r"(?:第[一二三四五六七八九十百千零〇○\d０-９]+[编章节条款]|[一二三四五六七八九十]{1,3}[、．.]"
    r"|[（(][一二三四五六七八九十\d]{1,3}[）)]|\d{1,3}[、．.)]|[-*•·]\s)"
)
_INDENTED = re.compile(r"^(?:\u3000|[ \t]{2,})")


def read_text(path: Path, source: str) -> ParsedDocument:
    """Read a plain text file.

    Raises:
        DocumentError: ``UNDECODABLE``, or ``NO_TEXT`` where only white space is left.
    """
    decoded = decode(path.read_bytes(), source)
    lines = [line.rstrip() for line in re.split(r"\r\n|[\n\r\f\v\x1a\x1c-\x1e\x85\u2028\u2029]", decoded.text)]
    width = _wrap_width([line for line in lines if line.strip()])
    paragraphs = lines if width is None else _unwrapped(lines, width)
    texts = [text for text in paragraphs if text.strip()]
    if not texts:
        raise DocumentError(
            source, "the file holds white space only.", kind="NO_TEXT", hint="Check where it came from."
        )
    return ParsedDocument(
        source=source,
        media_type=TEXT_MEDIA_TYPE,
        blocks=tuple(Block(BlockKind.PARAGRAPH, text, index) for index, text in enumerate(texts)),
        properties={"encoding": decoded.encoding},
        warnings=(decoded.warning,) if decoded.warning else (),
    )


def _wrap_width(lines: list[str]) -> int | None:
    """The width at which a text is wrapped; None where it is not."""
    if len(lines) < _LEAST_LINES:
        return None
    widths = [display_width(line) for line in lines]
    widest = max(widths)
    if not _NARROWEST <= widest <= _WIDEST:
        return None
    full = sum(
        width >= widest - _WIDTH_SLACK and not _SENTENCE_END.search(line)
        for width, line in zip(widths, lines, strict=True)
    )
    return widest if full >= _WRAPPED_SHARE * len(lines) else None


def _unwrapped(lines: list[str], width: int) -> list[str]:
    paragraphs: list[list[str]] = []
    goes_on = False
    for line in lines:
        if goes_on and line.strip() and not _INDENTED.match(line) and not _starts_anew(paragraphs[-1][-1], line):
            paragraphs[-1].append(line)
        else:
            paragraphs.append([line])
        goes_on = bool(line.strip()) and display_width(line) >= width - _WIDTH_SLACK
    return [join_lines(paragraph) if len(paragraph) > 1 else paragraph[0] for paragraph in paragraphs]


def _starts_anew(before: str, line: str) -> bool:
    return bool(_SENTENCE_END.search(before) and _LABEL.match(line.strip()))
