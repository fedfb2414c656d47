"""Golden sets: labelled examples on which a new version is measured against the live one.

One folder or file a kind of model, JSON lines, plain or gzipped:

- *retrieval* (embedder, reranker): a folder with ``corpus.jsonl`` (``id``, ``title``, ``content``), ``queries.jsonl``
  (``id``, ``text``) and ``qrels.tsv`` (query, passage, relevance), as `trias eval` reads them.
- *routing* (router): rows of ``text``, ``intent`` and ``slots``, each a ``type``, ``start`` and ``end`` in the text.
- *claims* (reasoner): rows of ``clause``, ``question``, the ``number`` that the claim must hold, as written (empty for
  none), and ``topic``, a list of lists of words: of each list the claim must hold one.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from orchestrator.errors import ConfigurationError

__all__ = [
    "ClaimSet",
    "Golden",
    "LabelledClause",
    "LabelledText",
    "Question",
    "RetrievalSet",
    "RoutingSet",
    "own_retrieval_set",
    "read_golden",
]

CORPUS, QUERIES, QRELS = "corpus.jsonl", "queries.jsonl", "qrels.tsv"
Span: TypeAlias = tuple[str, int, int]  # slot type, start, end
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the places of the passages that answer it."""

    text: str
    gold: frozenset[int]


@dataclass(frozen=True, slots=True)
class RetrievalSet:
    """Passages, and questions that some of them answer. ``digest``: SHA-256 over the files."""

    name: str
    digest: str
    passages: tuple[str, ...]
    questions: tuple[Question, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """What is asked."""
        return tuple(question.text for question in self.questions)


@dataclass(frozen=True, slots=True)
class LabelledText:
    """A question with its intent and slots."""

    text: str
    intent: str
    slots: frozenset[Span]


@dataclass(frozen=True, slots=True)
class RoutingSet:
    """Labelled questions."""

    name: str
    digest: str
    rows: tuple[LabelledText, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """What is asked."""
        return tuple(row.text for row in self.rows)


@dataclass(frozen=True, slots=True)
class LabelledClause:
    """A clause, what is asked of it, the number that its claim must hold, and words, one of each group."""

    clause: str
    question: str
    number: str
    topic: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class ClaimSet:
    """Labelled clauses."""

    name: str
    digest: str
    rows: tuple[LabelledClause, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """The clauses."""
        return tuple(row.clause for row in self.rows)


Golden: TypeAlias = RetrievalSet | RoutingSet | ClaimSet


def own_retrieval_set() -> Path:
    """The retrieval set that comes with Trias: its example documents, and seventy questions in everyday words."""
    with resources.as_file(resources.files("export") / "golden_sets" / "retrieval") as folder:
        return folder


def read_golden(kind: str, path: Path) -> Golden:
    """The golden set for a kind of model.

    Raises:
        ConfigurationError: a file is missing or malformed, or holds nothing; names the line.
    """
    if kind in ("embedder", "reranker"):
        return _retrieval(path)
    if kind == "router":
        return RoutingSet(path.name, _digest(path), _rows_of(path, _labelled_text))
    if kind == "reasoner":
        return ClaimSet(path.name, _digest(path), _rows_of(path, _labelled_clause))
    raise ConfigurationError(f"There is no golden set for a model of kind '{kind}'.")


def _retrieval(folder: Path) -> RetrievalSet:
    corpus, queries, qrels = (_file(folder, name) for name in (CORPUS, QUERIES, QRELS))
    places: dict[str, int] = {}
    passages: list[str] = []
    for number, row in _json_rows(corpus):
        title, content = row.get("title", row.get("law", "")), row.get("content")
        if "id" not in row or not isinstance(content, str) or not isinstance(title, str):
            raise ConfigurationError(f"{corpus}, line {number}: a passage needs `id` and `content`.")
        places[str(row["id"])] = len(passages)
        passages.append(f"{title} {content}".strip())
    gold = _judgements(qrels, places)
    questions = []
    for number, row in _json_rows(queries):
        if "id" not in row or not isinstance(row.get("text"), str):
            raise ConfigurationError(f"{queries}, line {number}: a question needs `id` and `text`.")
        if str(row["id"]) in gold:
            questions.append(Question(row["text"], frozenset(gold[str(row["id"])])))
    if not questions:
        raise ConfigurationError(f"{folder} holds no question with a judgement.")
    return RetrievalSet(folder.name, _digest(corpus, queries, qrels), tuple(passages), tuple(questions))


def _judgements(path: Path, places: dict[str, int]) -> dict[str, set[int]]:
    gold: dict[str, set[int]] = {}
    for number, line in enumerate(_text(path).splitlines(), start=1):
        fields = line.split()
        if not fields:
            continue
        if len(fields) < 2 or fields[1] not in places:
            raise ConfigurationError(f"{path}, line {number}: a question and a passage of {CORPUS} are wanted.")
        if fields[-1] != "0" or len(fields) == 2:
            gold.setdefault(fields[0], set()).add(places[fields[1]])
    return gold


def _labelled_text(row: dict[str, Any]) -> LabelledText:
    slots = frozenset((str(slot["type"]), int(slot["start"]), int(slot["end"])) for slot in row.get("slots", ()))
    return LabelledText(_string(row, "text"), _string(row, "intent"), slots)


def _labelled_clause(row: dict[str, Any]) -> LabelledClause:
    topic = tuple(tuple(map(str, group)) for group in row["topic"])
    return LabelledClause(_string(row, "clause"), _string(row, "question"), _string(row, "number"), topic)


def _string(row: dict[str, Any], field: str) -> str:
    if not isinstance(row[field], str):
        raise TypeError(field)
    return str(row[field])


def _rows_of(path: Path, make: Callable[[dict[str, Any]], Row]) -> tuple[Row, ...]:
    rows = []
    for number, row in _json_rows(path):
        try:
            rows.append(make(row))
        except (KeyError, TypeError, ValueError) as error:
            raise ConfigurationError(f"{path}, line {number}: {error} is missing or malformed.") from None
    if not rows:
        raise ConfigurationError(f"{path} holds no rows.")
    return tuple(rows)


def _json_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(_text(path).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise ConfigurationError(f"{path}, line {number}: {error}.") from None
        if not isinstance(row, dict):
            raise ConfigurationError(f"{path}, line {number}: a JSON object is wanted.")
        yield number, row


def _file(folder: Path, name: str) -> Path:
    found = next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)
    if found is None:
        raise ConfigurationError(
            f"{folder} holds no {name}.", hint=f"A golden set is a folder with {CORPUS}, {QUERIES} and {QRELS}."
        )
    return found


def _text(path: Path) -> str:
    try:
        content = path.read_bytes()
        return (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}.", hint="Check --golden.") from None


def _digest(*paths: Path) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(_text(path).encode())
    return digest.hexdigest()
