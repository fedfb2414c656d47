"""Titles of documents: made comparable, and found in text."""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from orchestrator.knowledge.clause import Document

__all__ = ["TitleCatalogue", "title_key", "version_key"]

_STATE = "中华人民共和国"
_IGNORED = re.compile(r"[\s《》〈〉「」『』“”\"'‘’·]+")
# 医保发〔2024〕12号 is written with any of these.
_BRACKETS = str.maketrans("〔〕[]【】〖〗", "()()()()")
# (2018修正), (2019年修订), (2021年版): says which version; (试行) is part of the name.
_VERSION = re.compile(r"\(([^()]*(?:\d{4}|修正|修订)[^()]*)\)$")
_YEAR = re.compile(r"\d{4}")
# Shorter titles count inside a text only where the state's name was stripped from them: 刑法 is a name, 通知 is none.
_SHORTEST_INSIDE = 4


def title_key(title: str) -> str:
    """The comparable form of a title or a document's number: no 《》, no state prefix, no version suffix."""
    folded = _fold(title)
    stripped = _VERSION.sub("", folded)
    return stripped.removeprefix(_STATE) or stripped or folded


def version_key(title: str, version: str = "") -> str:
    """The year that tells versions of one title apart, from its suffix or the document's version; else empty."""
    found = _VERSION.search(_fold(title))
    for text in (found[1] if found else "", version):
        year = _YEAR.search(text)
        if year:
            return year[0]
    return ""


def _fold(text: str) -> str:
    return _IGNORED.sub("", unicodedata.normalize("NFKC", text).lower()).translate(_BRACKETS)


@dataclass(frozen=True, slots=True)
class _Name:
    """One name of a document: its title, or its number."""

    document_id: str
    key: str
    short_is_name: bool
    recency: tuple[str, str]


class TitleCatalogue:
    """The titles and numbers of live documents, in memory; safe to use from several threads."""

    def __init__(self, documents: Iterable[Document] = ()) -> None:
        self._lock = threading.Lock()
        self._names: dict[str, list[_Name]] = {}
        self._by_key: dict[str, dict[str, _Name]] = defaultdict(dict)
        self._keys_by_start: dict[str, set[str]] = defaultdict(set)
        for document in documents:
            self.put(document)

    def put(self, document: Document) -> None:
        """Add a document, or replace what was known of it."""
        recency = (document.effective_date or document.publish_date, document.document_id)
        names = [
            _Name(document.document_id, key, _fold(text).startswith(_STATE), recency)
            for text in (document.title, document.doc_number)
            if (key := title_key(text))
        ]
        with self._lock:
            self._forget(document.document_id)
            self._names[document.document_id] = names
            for name in names:
                self._by_key[name.key][name.document_id] = name
                self._keys_by_start[name.key[:2]].add(name.key)

    def remove(self, document_id: str) -> None:
        """Forget a document; one that is not known is ignored."""
        with self._lock:
            self._forget(document_id)

    def _forget(self, document_id: str) -> None:
        for name in self._names.pop(document_id, ()):
            self._by_key[name.key].pop(document_id, None)
            if not self._by_key[name.key]:
                del self._by_key[name.key]
                self._keys_by_start[name.key[:2]].discard(name.key)

    def find(self, text: str, limit: int) -> list[str]:
        """Ids of documents whose title equals, is contained in, or contains ``text``, in this order.

        Of several titles inside the text the longest comes first, and a title that stands only inside a longer one is
        left out. Documents of one title come newest first.
        """
        key, folded = title_key(text), _fold(text)
        if not key or limit <= 0:
            return []
        found: dict[str, None] = {}
        with self._lock:
            for candidate in self._keys(key, folded):
                names = sorted(self._by_key[candidate].values(), key=lambda name: name.recency, reverse=True)
                found |= dict.fromkeys(name.document_id for name in names)
                if len(found) >= limit:
                    break
        return list(found)[:limit]

    def _keys(self, key: str, folded: str) -> Iterator[str]:
        if key in self._by_key:
            yield key
        yield from self._inside(folded)
        yield from sorted((known for known in self._by_key if key in known), key=lambda known: (len(known), known))

    def _inside(self, folded: str) -> list[str]:
        spans = []
        for start in range(len(folded)):
            spans += [
                (start, start + len(known), known)
                for known in self._keys_by_start.get(folded[start : start + 2], ())
                if folded.startswith(known, start) and self._may_stand_inside(known)
            ]
        spans.sort(key=lambda span: (span[0] - span[1], span[0], span[2]))
        kept: list[tuple[int, int, str]] = []
        for start, end, known in spans:
            if not any(first <= start and end <= last and known != name for first, last, name in kept):
                kept.append((start, end, known))
        return [known for _, _, known in kept]

    def _may_stand_inside(self, known: str) -> bool:
        return len(known) >= _SHORTEST_INSIDE or any(name.short_is_name for name in self._by_key[known].values())
