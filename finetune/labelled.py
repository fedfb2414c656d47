"""Labelled questions for retrieval: what is asked, which passages are right, and what training never sees."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from evaluation.corpus import read_corpus, read_qrels, read_queries
from finetune.card import DataCard
from finetune.draw import draw
from orchestrator.errors import ConfigurationError
from orchestrator.knowledge.embedded_text import embedded_text

__all__ = ["LabelledSet", "Question", "read_labelled_set", "split"]

QUERIES, QRELS, CORPUS = "queries.jsonl", "qrels.tsv", ("corpus.jsonl.gz", "corpus.jsonl")


@dataclass(frozen=True, slots=True)
class Question:
    """One question with the passages that answer it.

    Attributes:
        answer: what a person answered; empty where nobody did.
        gold: places in `LabelledSet.passages`.
    """

    question_id: str
    text: str
    answer: str
    gold: frozenset[int]


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """A corpus as the embedder reads it, and its questions.

    Attributes:
        passages: the text of each clause, as ingest embeds it, without the model's prefix.
        card: where it came from.
    """

    passages: tuple[str, ...]
    questions: tuple[Question, ...]
    card: DataCard


def read_labelled_set(folder: Path, *, licence: str) -> LabelledSet:
    """Read ``corpus.jsonl[.gz]``, ``queries.jsonl`` and ``qrels.tsv`` of a folder.

    Raises:
        ConfigurationError: a file is missing or malformed, or a judgement names a row that is not there.
    """
    corpus = next((folder / name for name in CORPUS if (folder / name).is_file()), None)
    if corpus is None:
        raise ConfigurationError(
            f"{folder} holds no {' or '.join(CORPUS)}.",
            hint=f"--data wants a folder with a corpus, {QUERIES} and {QRELS}; the README shows their rows.",
        )
    passages: list[str] = []
    places: dict[str, int] = {}
    for document in read_corpus(corpus):
        for row_id, clause in zip(document.row_ids, document.clauses, strict=True):
            places[row_id] = len(passages)
            passages.append(embedded_text(document.document, clause))
    gold = read_qrels(folder / QRELS)
    questions = []
    for query in read_queries(folder / QUERIES):
        named = gold.get(query.query_id, frozenset())
        missing = sorted(named - places.keys())
        if missing:
            raise ConfigurationError(f"{folder / QRELS}: {missing[0]!r} is not in the corpus.")
        if named:
            right = frozenset(places[row] for row in named)
            questions.append(Question(query.query_id, query.text, query.answer, right))
    if not questions:
        raise ConfigurationError(f"{folder} has no question with a judgement.")
    digest = hashlib.sha256()
    for path in (corpus, folder / QUERIES, folder / QRELS):
        digest.update(path.read_bytes())
    card = DataCard(name=folder.name, sha256=digest.hexdigest(), rows=len(questions), licence=licence)
    return LabelledSet(tuple(passages), tuple(questions), card)


def split(questions: tuple[Question, ...], share: float, seed: int) -> tuple[list[Question], list[Question]]:
    """Those to train on and those held out. What is asked decides, so equal questions fall on one side."""
    train: list[Question] = []
    held: list[Question] = []
    for question in questions:
        (held if draw(seed, question.text) < share else train).append(question)
    return train, held
