"""What the clauses of a document refer to (本法第X条, 《…》第X条, 前条, 附件1), and what they repeal or amend."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ingest.abbreviations import read_abbreviations
from ingest.citations import Citation, find_citations
from ingest.labels import ARTICLE, canonical_label
from orchestrator.knowledge.clause import Clause, ClauseType, Reference, ReferenceType

__all__ = ["find_references"]

_TITLE = re.compile(r"《[^《》]*(?:《[^《》]*》[^《》]*)*》")
_SENTENCE_END = re.compile(r"[。；\n]")
_REPEALED = re.compile(r"废止|同时失效|停止(?:执行|施行)")
_REPEALS_NEXT = re.compile(r"废止\s*$")
_AMENDED = re.compile(
    r"(?:修改为|作(?:出)?(?:如下|以下)(?:补充)?修改|作相应修改|予以修改|改为[：:]|删去|增加一[条款项])"
)
_AMENDS_NEXT = re.compile(r"(?:修改|修正|修订)\s*$")
_OF_AMENDING_TITLE = re.compile(r"修改[《〈]([^《》〈〉]+)[》〉]")


def find_references(title: str, clauses: Sequence[Clause]) -> list[Reference]:
    """Every reference in a document's clauses, in order; offsets are those of the clause's text.

    Args:
        title: of the document: a reference to it by name is one within the document, and the bare 第X条 of a decision
            that amends another document is that document's.
        clauses: in order.
    """
    abbreviations = read_abbreviations(clause.text for clause in clauses)
    amended = _OF_AMENDING_TITLE.search(title)
    articles = list(dict.fromkeys(clause.label for clause in clauses if clause.clause_type is ClauseType.ARTICLE))
    references: list[Reference] = []
    for clause in clauses:
        finder = _Finder(clause, title, abbreviations, articles, amended[1] if amended else "")
        references += finder.find()
    return references


class _Finder:
    """Reads the citations of one clause as references of its document."""

    def __init__(
        self, clause: Clause, title: str, abbreviations: dict[str, str], articles: list[str], amended: str
    ) -> None:
        self._clause = clause
        self._title = title
        self._abbreviations = abbreviations
        self._articles = articles
        self._amended = amended
        self._own = next((canonical_label(s.label) for s in clause.path if s.level == ARTICLE), clause.label)

    def find(self) -> Iterator[Reference]:
        text = self._clause.text
        for citation in find_citations(text, self._abbreviations):
            if self._is_own_label(citation):
                continue
            title = self._abbreviations.get(citation.title, citation.title)
            kind = self._kind(citation)
            # Cited by its name, a document means itself; repealed or amended by it, an older one of the same name.
            if kind is ReferenceType.CITES and _same(title, self._title):
                title = ""
            if not title and not citation.of_itself and self._amended:
                title = self._amended
            for label in self._labels(citation) if not title or citation.labels else ("",):
                if title or label:
                    yield Reference(
                        source_id=self._clause.source_id,
                        type=kind,
                        text=text[citation.start : citation.end],
                        start=citation.start,
                        end=citation.end,
                        target_title=title,
                        target_label=label,
                    )

    def _is_own_label(self, citation: Citation) -> bool:
        """第十二条 at the start of 第十二条 is its label."""
        at_start = not self._clause.text[: citation.start].strip()
        return at_start and not citation.title and not citation.of_itself and self._own in citation.labels

    def _labels(self, citation: Citation) -> tuple[str, ...]:
        if citation.previous:
            return self._previous(citation.previous)
        if citation.within_article:
            # 第二款 alone is one of the article at hand; a document without articles has no such target.
            return tuple(self._own + label for label in citation.labels) if self._own else ()
        return citation.labels

    def _previous(self, previous: tuple[str, int]) -> tuple[str, ...]:
        unit, count = previous
        if unit != ARTICLE:
            return (self._own,) if self._own else ()
        place = self._articles.index(self._own) if self._own in self._articles else 0
        return tuple(self._articles[max(place - count, 0) : place])

    def _kind(self, citation: Citation) -> ReferenceType:
        """Whether its sentence repeals or amends what it names; titles that contain those words aside."""
        text = self._clause.text
        start = max((m.end() for m in _SENTENCE_END.finditer(text, 0, citation.start)), default=0)
        end_match = _SENTENCE_END.search(text, citation.end)
        end = end_match.start() if end_match else len(text)
        before = _blank_titles(text[start : citation.start])
        behind = _blank_titles(text[citation.end : end])
        if citation.title and (_REPEALED.search(behind) or _REPEALS_NEXT.search(before)):
            return ReferenceType.REPEALS
        amends = _AMENDED.search(behind) or _AMENDS_NEXT.search(before)
        if amends and (citation.title or self._amended) and not citation.of_itself:
            return ReferenceType.AMENDS
        return ReferenceType.CITES


def _blank_titles(text: str) -> str:
    return _TITLE.sub(lambda match: "□" * len(match[0]), text)


def _same(first: str, second: str) -> bool:
    plain = (re.sub(r"[\s《》〈〉]", "", name).removeprefix("中华人民共和国") for name in (first, second))
    return len(set(plain)) == 1
