"""Blocks to clauses: articles where a document has them, else numbered items, else paragraphs; tables apart.

Every line of the source is in exactly one clause, save headings, which are in the paths of the clauses below them.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from dataclasses import dataclass, replace

from ingest.drafts import Draft, join_lines, split_table, table_label, with_whole_headers
from ingest.items import ItemCutter, count_leading_lines, has_items
from ingest.labels import DIVISIONS, read_appendix
from ingest.lines import Line, Role
from ingest.outline import is_heading_text
from ingest.split import split_text
from orchestrator.knowledge.clause import Clause, ClauseType, PathElement, Place, Position, source_id_for

__all__ = ["Cut", "cut_clauses"]

# Headings of the word processor stand below the divisions that laws know.
_HEADING_RANK = len(DIVISIONS)
_CAPTION = re.compile(r"\s*附?\s*表\s*[A-Z0-9０-９一二三四五六七八九十]")
# A title goes over this many lines at most.
_TITLE_LINES = 3
_TABLE_NOTE = re.compile(r"\s*(?:注|备注|说明)\s*\d{0,2}\s*[：:]")
_HISTORY = re.compile(r"\s*[（(].*[）)]\s*")
_DOC_NUMBER = re.compile(r".{0,20}[〔\[（(【]\s*\d{4}\s*[〕\]）)】]\s*第?\s*\d+\s*号\s*")


@dataclass(frozen=True, slots=True)
class Cut:
    """A document, cut.

    Attributes:
        headings: the lines that are in no clause's text, but in paths: headings, and contents lists.
    """

    clauses: tuple[Clause, ...]
    headings: tuple[Line, ...]


def cut_clauses(document_id: str, lines: list[Line], *, max_chars: int) -> Cut:
    """Cut a document into clauses with deterministic ids.

    Args:
        document_id: of the document.
        lines: as `read_outline` gives them.
        max_chars: a longer clause is split into parts that keep its label and path.
    """
    drafts = _Cutter(lines, max_chars).run()
    used = {id(line) for draft in drafts for line in (draft.caption, *draft.lines, *draft.notes)}
    headings = [line for line in lines if id(line) not in used]
    if not drafts and headings:
        # Nothing but headings: better a clause of them than none.
        drafts = [Draft(headings, (), ClauseType.TEXT, Position.BODY)]
        headings = []
    return Cut(tuple(_finish(document_id, drafts, max_chars)), tuple(headings))


class _Cutter:
    """Walks the lines with the headings that are open, and gathers drafts."""

    def __init__(self, lines: list[Line], max_chars: int) -> None:
        self._lines = lines
        self._max_chars = max_chars
        self._open: list[tuple[int, PathElement]] = []
        self._appendix: PathElement | None = None
        self._pending: list[Line] = []
        self._article: Draft | None = None
        self._drafts: list[Draft] = []
        self._started = False

    def run(self) -> list[Draft]:
        for line in self._lines:
            match line.role:
                case Role.CONTENTS:
                    continue
                case Role.APPENDIX:
                    self._start_appendix(line)
                case Role.DIVISION | Role.HEADING:
                    self._start_division(line)
                case Role.ARTICLE:
                    self._start_article(line)
                case Role.CLOSING:
                    self._add_closing(line)
                case Role.FOOTNOTE:
                    self._drafts.append(Draft([line], self._here(), ClauseType.FOOTNOTE, Position.FOOTNOTE))
                case _ if self._article is not None:
                    self._add_to_article(line, self._article)
                case _:
                    self._pending.append(line)
        self._flush()
        return [draft for draft in self._drafts if draft.lines]

    @property
    def _position(self) -> Position:
        return Position.APPENDIX if self._appendix else Position.BODY

    def _path(self) -> tuple[PathElement, ...]:
        above = (self._appendix,) if self._appendix else ()
        return (*above, *(step for _, step in self._open))

    def _here(self) -> tuple[PathElement, ...]:
        return self._article.path if self._article else self._path()

    def _start_appendix(self, line: Line) -> None:
        self._flush()
        assert line.label is not None
        self._open = []
        self._appendix = PathElement("附件", line.label.text, line.heading)

    def _start_division(self, line: Line) -> None:
        self._flush(closes_preamble=True)
        if line.role is Role.DIVISION and line.label is not None:
            rank = DIVISIONS.index(line.label.level)
            step = PathElement(line.label.level, line.label.text, line.heading)
        else:
            rank = _HEADING_RANK + line.block.level
            step = PathElement(
                line.label.level if line.label else "标题", line.label.text if line.label else "", line.heading
            )
        self._open = [entry for entry in self._open if entry[0] < rank]
        self._open.append((rank, step))

    def _start_article(self, line: Line) -> None:
        self._flush(closes_preamble=True)
        assert line.label is not None
        path = (*self._path(), PathElement(line.label.level, line.label.text))
        self._article = Draft([line], path, ClauseType.ARTICLE, self._position, label=line.label.canonical)
        self._drafts.append(self._article)

    def _add_closing(self, line: Line) -> None:
        last = self._drafts[-1] if self._drafts and not self._pending else None
        if last is None or last.lines[-1].role is not Role.CLOSING:
            self._flush()
            above = (self._appendix,) if self._appendix else ()
            self._drafts.append(Draft([], above, ClauseType.TEXT, self._position))
            last = self._drafts[-1]
        last.lines.append(line)

    def _add_to_article(self, line: Line, article: Draft) -> None:
        last = self._drafts[-1]
        if line.role is Role.TABLE:
            draft = Draft([line], article.path, ClauseType.TABLE, self._position, table=line.block.table)
            if len(article.lines) > 1 and _is_caption(article.lines[-1]):
                draft.caption = article.lines.pop()
            self._drafts.append(draft)
        elif last.table and _TABLE_NOTE.match(line.text):
            last.notes.append(line)
        else:
            article.lines.append(line)

    def _flush(self, *, closes_preamble: bool = False) -> None:
        """Cut what was gathered since the last heading or article."""
        self._article = None
        lines, self._pending = self._pending, []
        first, self._started = not self._started, True
        if not lines:
            return
        if first:
            count = _preamble_lines(lines, everything=closes_preamble)
            preamble, lines = lines[:count], lines[count:]
            self._add_preamble(preamble)
        drafts = ItemCutter(self._path(), self._position, self._max_chars).cut(lines)
        for before, draft in itertools.pairwise(drafts):
            if draft.table and not before.table and _is_caption(before.lines[-1]):
                draft.caption = before.lines.pop()
            while before.table and not draft.table and draft.lines and _TABLE_NOTE.match(draft.lines[0].text):
                before.notes.append(draft.lines.pop(0))
        self._drafts += drafts

    def _add_preamble(self, lines: list[Line]) -> None:
        group: list[Line] = []
        for line in lines:
            if line.role is Role.TABLE:
                self._drafts.append(Draft(group, (), ClauseType.PREAMBLE, Position.BODY))
                self._drafts.append(Draft([line], (), ClauseType.TABLE, Position.BODY, table=line.block.table))
                group = []
            else:
                group.append(line)
        # A title alone is the document's title and no clause.
        if len(group) > _TITLE_LINES or any(_is_front_matter(line) for line in group):
            self._drafts.append(Draft(group, (), ClauseType.PREAMBLE, Position.BODY))


def _is_front_matter(line: Line) -> bool:
    """Whether a line says more than a title: who issued the document, when, for whom."""
    text = line.text
    return not is_heading_text(text) or bool(_HISTORY.fullmatch(text) or _DOC_NUMBER.fullmatch(text))


def _preamble_lines(lines: list[Line], *, everything: bool) -> int:
    """How many of the first lines introduce the document: all of them where a heading or an article follows."""
    if has_items(lines):
        return count_leading_lines(lines)
    if everything:
        return len(lines)
    count = 0
    for line in lines:
        is_front = line.role is Role.TITLE or (
            line.role is Role.TEXT and (is_heading_text(line.text) or _HISTORY.fullmatch(line.text))
        )
        if not is_front:
            break
        count += 1
    return count if count < len(lines) else min(count, 1)


def _is_caption(line: Line) -> bool:
    return (
        line.role is Role.TEXT
        and is_heading_text(line.text)
        and (bool(_CAPTION.match(line.text)) or line.block.centered)
    )


def _finish(document_id: str, drafts: list[Draft], max_chars: int) -> list[Clause]:
    """Split what is too long, and give ids and ordinals."""
    clauses: list[Clause] = []
    repeats: Counter[tuple[tuple[PathElement, ...], str]] = Counter()
    for draft in drafts:
        for clause in _table_clauses(draft, max_chars) if draft.table else _text_clauses(draft, max_chars):
            key = (clause.path, clause.text)
            source_id = source_id_for(document_id, clause.path, clause.text, repeats[key])
            repeats[key] += 1
            clauses.append(replace(clause, source_id=source_id, document_id=document_id, ordinal=len(clauses)))
    return clauses


def _table_clauses(draft: Draft, max_chars: int) -> list[Clause]:
    assert draft.table is not None
    caption = draft.caption.text.strip() if draft.caption else draft.table.caption.strip()
    path, position = draft.path, draft.position
    appendix = read_appendix(caption)
    if appendix:
        # 附表 above a table opens an appendix that is the table.
        path, position = (), Position.APPENDIX
        step = PathElement("附件", appendix.text, caption[appendix.end :].strip("：: \u3000"))
    else:
        label, name = table_label(caption)
        step = PathElement("表", label, name)
    place = _place([*([draft.caption] if draft.caption else []), *draft.lines, *draft.notes])
    parts = split_table(replace(with_whole_headers(draft.table), caption=caption), max_chars)
    notes = "".join(f"\n{line.text}" for line in draft.notes)
    return [
        Clause(
            "",
            "",
            part.text + (notes if part is parts[-1] else ""),
            0,
            label=appendix.canonical if appendix else step.label,
            path=(*path, step),
            clause_type=draft.clause_type,
            position=position,
            place=place,
            table=part.table,
        )
        for part in parts
        if part.text
    ]


def _text_clauses(draft: Draft, max_chars: int) -> list[Clause]:
    text = draft.text()
    spans = [(start, end, line) for start, end, line in _line_spans(draft.lines)]
    clauses = []
    for start, end in split_text(text, max_chars):
        inside = [line for first, last, line in spans if first < end and last > start]
        part = text[start:end].strip()
        if part:
            clauses.append(
                Clause(
                    "",
                    "",
                    part,
                    0,
                    label=draft.label,
                    path=draft.path,
                    clause_type=draft.clause_type,
                    position=draft.position,
                    place=_place(inside),
                )
            )
    return clauses


def _line_spans(lines: list[Line]) -> list[tuple[int, int, Line]]:
    spans = []
    place = 0
    for number, line in enumerate(lines):
        place += len(line.glue) if number else 0
        spans.append((place, place + len(line.text), line))
        place += len(line.text)
    assert place == len(join_lines(lines))
    return spans


def _place(lines: list[Line]) -> Place:
    first = lines[0].block
    last = max(block.index for line in lines for block in line.blocks)
    return Place(page=first.page, box=first.box, first_block=first.index, last_block=last)
