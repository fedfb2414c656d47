"""A clause, cut into sentences with exact offsets; list items know their lead-in, table rows their headers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from trias.v1 import document_pb2

__all__ = ["Sentence", "split_clause"]

# A full stop inside these pairs ends nothing.
_OPENING, _CLOSING = "（(《“「【〔", "）)》”」】〕"
_STOPS, _SEMICOLONS, _COLONS = "。！？!?\n", "；;", "：:"
_SIGNS = re.compile(f"[{re.escape(_OPENING + _CLOSING + _STOPS + _SEMICOLONS + _COLONS)}]")
# 第十二条, before the text that it labels.
_LABEL = re.compile(
    r"\s*第[零〇○一二两三四五六七八九十百千\d０-９\s]{1,12}[编章节条](?:之[一二三四五六七八九十\d]+)?[\s　:：]*"
)
_ITEM = re.compile(
    r"\s*(?:[（(]\s*(?:[一二三四五六七八九十百]{1,4}|\d{1,2}|[a-z])\s*[)）]|(?:\d{1,2}|[一二三四五六七八九十]{1,3})\s?[、.．]\s?(?!\d)|[①-⑳])"
)
_CHAPTER = re.compile(r"\s*第[^条]{1,12}[编章节]\s*")
_WORDS = re.compile(r"\w")
_HEADING_LIMIT = 30
# A run of ；-separated statements longer than this is cut at each ；.
_LONG_SENTENCE = 120


class Sentence(NamedTuple):
    """One sentence of a clause.

    Attributes:
        text: for a person: the source's own words; for a table row the cells under their headers.
        source: exactly as in the clause's text, ``clause.text[start:end]``.
        lead: what the sentence depends on: the lead-in of a list, a heading above it, a table's caption.
        lead_start: offset of the lead-in of a list in the clause; -1 where ``lead`` is none.
        kind: ``sentence``, ``item`` (of a list), ``lead`` (that opens one) or ``row`` (of a table).
        list_id: the list that an item or a lead belongs to, from 0 within the clause; -1 outside lists.
    """

    text: str
    source: str
    start: int
    end: int
    lead: str = ""
    lead_start: int = -1
    kind: str = "sentence"
    list_id: int = -1


def split_clause(clause: document_pb2.Clause) -> list[Sentence]:
    """The sentences of a clause, in order. Blank ones, bare labels and headings are left out.

    Args:
        clause: of the contract. Where it has a table, every row is a sentence; text outside the rows is cut as usual.
    """
    text = clause.text
    if clause.HasField("table") and clause.table.rows:
        return list(_rows(clause))
    return list(_with_leads(text, [span for span in _spans(text) if _WORDS.search(text, *span)]))


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Sentences by their stops; ；ends one where a list goes on or the whole is long."""
    for start, end in _cut(text, 0, len(text), _STOPS):
        piece = text[start:end]
        if "；" not in piece and ";" not in piece:
            yield start, end
            continue
        parts = list(_cut(text, start, end, _SEMICOLONS))
        if any(_ITEM.match(text, *part) for part in parts):
            yield from _whole_items(text, parts)
        elif len(piece) > _LONG_SENTENCE:
            yield from parts
        else:
            yield start, end


def _whole_items(text: str, parts: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Items of a list, each with all of its statements: （三）…；既未…的，…；."""
    begin, end = parts[0]
    for part in parts[1:]:
        if _ITEM.match(text, *part):
            yield begin, end
            begin = part[0]
        end = part[1]
    yield begin, end


def _cut(text: str, start: int, end: int, stops: str) -> Iterator[tuple[int, int]]:
    depth, begin, cut = 0, start, start
    for match in _SIGNS.finditer(text, start, end):
        if match.start() < cut:
            continue
        depth = _depth_after(match[0], depth)
        if depth:
            continue
        if match[0] in stops:
            cut = match.end()
            # Closing quotes belong to the sentence that they close.
            while cut < end and text[cut] in _CLOSING:
                cut += 1
        elif match[0] in _COLONS and _ITEM.match(text, match.end(), end):
            # The lead-in of a list that begins in the same line.
            cut = match.end()
        else:
            continue
        yield begin, cut
        begin = cut
    if begin < end:
        yield begin, end


def _depth_after(sign: str, depth: int) -> int:
    """How many brackets and quotes are open behind a sign; a line's end closes whatever was left open."""
    if sign in _OPENING:
        return depth + 1
    if sign in _CLOSING:
        return max(0, depth - 1)
    return 0 if sign == "\n" else depth


def _with_leads(text: str, spans: list[tuple[int, int]]) -> Iterator[Sentence]:
    heading, lead, lead_start, list_id = "", "", -1, -1
    for position, (raw_start, raw_end) in enumerate(spans):
        label = _LABEL.match(text, raw_start, raw_end) if _opens_line(text, raw_start) else None
        start, end = _trim(text, label.end() if label else raw_start, raw_end)
        if start >= end:
            continue
        body = text[start:end]
        if label and _CHAPTER.match(label[0]):
            # A chapter's heading says what follows, and nothing itself.
            heading, lead, lead_start = body, "", -1
            continue
        following = text[spans[position + 1][0] : spans[position + 1][1]] if position + 1 < len(spans) else ""
        item = _ITEM.match(text, start, end)
        if _is_heading(body, bool(following), item is not None):
            heading, lead, lead_start = body, "", -1
        elif body[-1] in "：:" and _ITEM.match(following):
            list_id += 1
            lead, lead_start = body, start
            yield Sentence(body, body, start, end, heading, kind="lead", list_id=list_id)
        elif item is not None and lead:
            yield Sentence(body, body, start, end, lead, lead_start, "item", list_id)
        else:
            if item is None:
                lead, lead_start = "", -1
            yield Sentence(body, body, start, end, heading)


def _opens_line(text: str, start: int) -> bool:
    return start == 0 or text[start - 1] == "\n"


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _is_heading(body: str, has_more: bool, is_item: bool) -> bool:
    """关于支付比例: a short line that ends in no stop, above text."""
    if not has_more or len(body) > _HEADING_LIMIT or body[-1] in "。；;！？!?：:，,、":
        return False
    return not is_item or body[0] not in "（("


def _rows(clause: document_pb2.Clause) -> Iterator[Sentence]:
    text, position = clause.text, 0
    headers = list(clause.table.headers)
    caption = clause.table.caption
    for row in clause.table.rows:
        cells = list(row.cells)
        start, end = _row_span(text, [cell for cell in cells if cell.strip()], position)
        if start < 0:
            continue
        position = end
        readable = _readable_row(headers, cells)
        if readable:
            yield Sentence(readable, text[start:end], start, end, caption, kind="row")


def _readable_row(headers: list[str], cells: list[str]) -> str:
    pairs: list[str] = []
    seen: set[tuple[str, str]] = set()
    for index, cell in enumerate(cells):
        header = headers[index].strip() if index < len(headers) else ""
        value = " ".join(cell.split())
        # Merged cells are repeated in each place that they cover: said once.
        if not value or (header, value) in seen:
            continue
        seen.add((header, value))
        pairs.append(f"{' '.join(header.split())}：{value}" if header and header != value else value)
    return "，".join(pairs)


def _row_span(text: str, cells: list[str], position: int) -> tuple[int, int]:
    """Where the cells stand, in order, in the clause's text; (-1, -1) where they do not."""
    start = end = -1
    for cell in dict.fromkeys(cells):
        found = text.find(cell.strip(), position if end < 0 else end)
        if found < 0:
            return -1, -1
        start = found if start < 0 else start
        end = found + len(cell.strip())
    return start, end
