"""Labelled corpora: JSON lines of clauses and questions, TREC-style judgements. Plain or gzipped.

- corpus rows: ``{"id": …, "title" | "law": …, "content": …}``; rows of one title are one document, in file order.
- query rows: ``{"id": …, "text": …}``, and perhaps ``"answer"``, a person's.
- qrels: ``query-id<TAB>corpus-id<TAB>relevance``; rows of relevance 0 are left out.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ingest.labels import read_article
from orchestrator.errors import ConfigurationError
from orchestrator.knowledge.clause import (
    Clause,
    ClauseType,
    Document,
    PathElement,
    document_id_for,
    source_id_for,
)

__all__ = ["LabelledDocument", "Query", "read_corpus", "read_qrels", "read_queries"]


@dataclass(frozen=True, slots=True)
class LabelledDocument:
    """One document of a corpus.

    Attributes:
        row_ids: the corpus's own id of each clause, in the clauses' order.
    """

    document: Document
    clauses: tuple[Clause, ...]
    row_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Query:
    """A question of the corpus, and what a person answered, where the rows tell."""

    query_id: str
    text: str
    answer: str = ""


def read_corpus(path: Path) -> list[LabelledDocument]:
    """Read a corpus, one document a title.

    Raises:
        ConfigurationError: the file is missing, or a row is malformed; names the line.
    """
    by_title: dict[str, list[tuple[str, str]]] = {}
    for number, row in _rows(path):
        title = str(row.get("title", row.get("law", "")))
        if "id" not in row or not isinstance(row.get("content"), str):
            raise ConfigurationError(f"{path}, line {number}: a corpus row needs `id` and `content`.")
        by_title.setdefault(title, []).append((str(row["id"]), row["content"]))
    return [_document(path, title, rows) for title, rows in by_title.items()]


def read_queries(path: Path) -> list[Query]:
    """Read questions.

    Raises:
        ConfigurationError: the file is missing, or a row is malformed; names the line.
    """
    queries = []
    for number, row in _rows(path):
        if "id" not in row or not isinstance(row.get("text"), str):
            raise ConfigurationError(f"{path}, line {number}: a query row needs `id` and `text`.")
        answer = row.get("answer")
        queries.append(Query(str(row["id"]), row["text"], answer if isinstance(answer, str) else ""))
    return queries


def read_qrels(path: Path) -> dict[str, frozenset[str]]:
    """Read judgements: query id → the corpus ids that answer it.

    Raises:
        ConfigurationError: the file is missing, or a row is malformed; names the line.
    """
    gold: dict[str, set[str]] = {}
    for number, line in _lines(path):
        parts = line.split("\t")
        if len(parts) != 3:
            raise ConfigurationError(
                f"{path}, line {number}: query-id, corpus-id, relevance are wanted, tab-separated."
            )
        if parts[2] != "0":
            gold.setdefault(parts[0], set()).add(parts[1])
    return {query_id: frozenset(found) for query_id, found in gold.items()}


def _document(path: Path, title: str, rows: list[tuple[str, str]]) -> LabelledDocument:
    document_id = document_id_for(f"{path.name}#{title}")
    digest = hashlib.sha256("\x1e".join(text for _, text in rows).encode()).hexdigest()
    clauses = []
    for ordinal, (row_id, text) in enumerate(rows):
        # The corpus's id is a step of the path: rows of one document may repeat each other's text.
        step = PathElement(level="row", label=row_id)
        clauses.append(
            Clause(
                source_id=source_id_for(document_id, (step,), text),
                document_id=document_id,
                text=text,
                ordinal=ordinal,
                label=_label(title, row_id, text),
                path=(step,),
                clause_type=ClauseType.ARTICLE,
            )
        )
    document = Document(document_id=document_id, doc_source=f"{path.name}#{title}", title=title, content_hash=digest)
    return LabelledDocument(document, tuple(clauses), tuple(row_id for row_id, _ in rows))


def _label(title: str, row_id: str, text: str) -> str:
    """What references call the row: what its id adds to the title, else the number that its text starts with."""
    if title and row_id.startswith(title):
        return row_id[len(title) :]
    article = read_article(text)
    return article.text if article else ""


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in _lines(path):
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise ConfigurationError(f"{path}, line {number}: not JSON ({error.msg}).") from None
        if not isinstance(row, dict):
            raise ConfigurationError(f"{path}, line {number}: an object is wanted.")
        yield number, row


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield number, line.rstrip("\r\n")
    except (OSError, UnicodeDecodeError, EOFError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}.", hint="Check the path; UTF-8 is wanted.") from None
