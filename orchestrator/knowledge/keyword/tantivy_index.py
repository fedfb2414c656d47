"""The keyword index on Tantivy, in process: BM25 (k1 1.2, b 0.75) over two fields, grams and words.

Tantivy releases the interpreter lock while it searches and commits; both run outside the event loop all the same.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

import tantivy

from orchestrator.errors import IndexCorruptError, KnowledgeError, LibraryLockedError
from orchestrator.knowledge.group import GroupWriter
from orchestrator.knowledge.ports import Hit, KeywordEntry
from orchestrator.knowledge.text import tokenize

__all__ = ["TantivyIndex"]

# The names carry the analyser's version: an index that another analyser filled does not open.
_GRAMS, _WORDS = "grams_1", "words_1"
_SOURCE, _DOCUMENT, _PART = "source_id", "document_id", "part"
_SEPARATOR = "\x1f"
_TOKENIZER = "tokens"
Result = TypeVar("Result")
_WRITER_BYTES = 64_000_000
_READERS = 4
# A question has some sixty tokens. Of a pasted page only the rarest are looked up: they decide the ranking.
_MOST_QUERY_TOKENS = 256


class TantivyIndex:
    """A `KeywordIndex`. Use `TantivyIndex.open`.

    Args:
        index: with its schema.
        gram_weight: of the BM25 over character uni- and bigrams.
        word_weight: of the BM25 over words.
    """

    def __init__(self, index: tantivy.Index, *, gram_weight: float, word_weight: float) -> None:
        self._index = index
        self._schema = index.schema
        self._fields = [(name, weight) for name, weight in ((_GRAMS, gram_weight), (_WORDS, word_weight)) if weight > 0]
        self._writer = index.writer(_WRITER_BYTES, 1)
        self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="tantivy-read")
        # One thread, however many documents come at once: cutting text is Python, and so is the event loop.
        self._preparer = ThreadPoolExecutor(1, thread_name_prefix="tantivy-prepare")
        self._group = GroupWriter("tantivy-write", commit=self._commit, rollback=self._rollback)

    @classmethod
    async def open(cls, folder: Path, *, gram_weight: float = 1.0, word_weight: float = 1.0) -> TantivyIndex:
        """Open the index in ``folder``, or make an empty one.

        Raises:
            LibraryLockedError: another process writes to it.
            IndexCorruptError: what lies there is no such index, or one of another analyser.
        """
        return await asyncio.to_thread(cls._open, folder, gram_weight, word_weight)

    @classmethod
    def _open(cls, folder: Path, gram_weight: float, word_weight: float) -> TantivyIndex:
        folder.mkdir(parents=True, exist_ok=True)
        tokenize("预热")  # loads the dictionary now, not in the first question
        try:
            index = tantivy.Index(_schema(), path=str(folder))
            index.register_tokenizer(_TOKENIZER, tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build())
            return cls(index, gram_weight=gram_weight, word_weight=word_weight)
        except ValueError as error:
            if "LockBusy" in str(error):
                raise LibraryLockedError(
                    f"The keyword index {folder} is in use by another process.",
                    hint="`trias serve` may own it; reach the library through the server, or stop it.",
                ) from None
            raise IndexCorruptError(
                f"The keyword index {folder} cannot be opened: {error}.",
                hint="Delete the library's folder and ingest the documents again.",
            ) from None

    async def upsert(self, document_id: str, revision: str, entries: Sequence[KeywordEntry]) -> None:
        """See `KeywordIndex`."""
        prepare = partial(self._rows, document_id, revision, list(entries))
        rows = await asyncio.get_running_loop().run_in_executor(self._preparer, prepare)
        part = document_id + _SEPARATOR + revision

        def write() -> None:
            self._writer.delete_documents_by_term(_PART, part)
            for row in rows:
                self._writer.add_document(row)

        await self._write(write)

    async def search(self, query: str, limit: int, document_ids: Collection[str] | None = None) -> list[Hit]:
        """See `KeywordIndex`."""
        if limit <= 0 or (document_ids is not None and not document_ids):
            return []
        return await self._read(partial(self._search, query, limit, document_ids))

    async def delete(self, document_id: str, *, keep_revision: str | None = None) -> None:
        """See `KeywordIndex`."""
        wanted = [(tantivy.Occur.Must, self._term(_DOCUMENT, document_id))]
        if keep_revision is not None:
            wanted.append((tantivy.Occur.MustNot, self._term(_PART, document_id + _SEPARATOR + keep_revision)))
        query = tantivy.Query.boolean_query(wanted)

        def write() -> None:
            self._writer.delete_documents_by_query(query)

        await self._write(write)

    async def count(self) -> int:
        """See `KeywordIndex`."""
        return self._index.searcher().num_docs

    async def revisions(self) -> Mapping[tuple[str, str], int]:
        """See `KeywordIndex`."""
        return await self._read(self._revisions)

    async def close(self) -> None:
        """See `KeywordIndex`."""
        await self._group.close()
        await asyncio.to_thread(self._preparer.shutdown)
        await asyncio.to_thread(self._readers.shutdown)
        await asyncio.to_thread(self._writer.wait_merging_threads)

    async def _read(self, work: Callable[[], Result]) -> Result:
        with _reported():
            return await asyncio.get_running_loop().run_in_executor(self._readers, work)

    async def _write(self, work: Callable[[], None]) -> None:
        with _reported():
            await self._group.run(work)

    def _commit(self) -> None:
        self._writer.commit()
        self._index.reload()

    def _rollback(self) -> None:
        self._writer.rollback()

    def _term(self, field: str, value: str) -> tantivy.Query:
        return tantivy.Query.term_query(self._schema, field, value, "basic")

    def _rows(self, document_id: str, revision: str, entries: list[KeywordEntry]) -> list[tantivy.Document]:
        rows = []
        for entry in entries:
            tokens = tokenize(f"{entry.title}\n{entry.heading}\n{entry.text}")
            row = tantivy.Document()
            row.add_text(_SOURCE, entry.source_id)
            row.add_text(_DOCUMENT, document_id)
            row.add_text(_PART, document_id + _SEPARATOR + revision)
            row.add_text(_GRAMS, " ".join(tokens.grams))
            row.add_text(_WORDS, " ".join(tokens.words))
            rows.append(row)
        return rows

    def _search(self, query: str, limit: int, document_ids: Collection[str] | None) -> list[Hit]:
        searcher = self._index.searcher()
        terms = self._query_terms(searcher, query)
        if not terms:
            return []
        wanted = tantivy.Query.boolean_query(terms)
        if document_ids is not None:
            # A constant of 0: the filter must not add to the BM25 sum.
            one_of = tantivy.Query.term_set_query(self._schema, _DOCUMENT, list(document_ids))
            only = tantivy.Query.const_score_query(one_of, 0.0)
            wanted = tantivy.Query.boolean_query([(tantivy.Occur.Must, wanted), (tantivy.Occur.Must, only)])
        hits = []
        for score, address in searcher.search(wanted, limit, count=False).hits:
            row = searcher.doc(address)
            document_id, _, revision = row[_PART][0].rpartition(_SEPARATOR)
            hits.append(Hit(row[_SOURCE][0], document_id, revision, float(score)))
        # The engine breaks ties by where a clause happens to lie.
        return sorted(hits, key=lambda hit: (-hit.score, hit.source_id))

    def _query_terms(self, searcher: tantivy.Searcher, query: str) -> list[tuple[tantivy.Occur, tantivy.Query]]:
        tokens = tokenize(query)
        terms = []
        for field, weight in self._fields:
            counts = Counter(tokens.grams if field == _GRAMS else tokens.words)
            for token in _rarest(searcher, field, counts):
                term = tantivy.Query.term_query(self._schema, field, token, "freq")
                boost = weight * counts[token]
                terms.append((tantivy.Occur.Should, tantivy.Query.boost_query(term, boost) if boost != 1 else term))
        return terms

    def _revisions(self) -> dict[tuple[str, str], int]:
        searcher = self._index.searcher()
        # The filter makes the counts those of entries that are not deleted.
        parts = searcher.terms_with_prefix(_PART, "", filter_query=tantivy.Query.all_query())
        held = {}
        for part, entries in parts:
            document_id, _, revision = part.rpartition(_SEPARATOR)
            held[document_id, revision] = entries
        return held


def _rarest(searcher: tantivy.Searcher, field: str, counts: Counter[str]) -> list[str]:
    if len(counts) <= _MOST_QUERY_TOKENS:
        return list(counts)
    frequency = {token: searcher.doc_freq(field, token) for token in counts}
    known = [token for token in counts if frequency[token]]
    return sorted(known, key=lambda token: (frequency[token], token))[:_MOST_QUERY_TOKENS]


@contextmanager
def _reported() -> Iterator[None]:
    """What Tantivy raises (a ValueError, an OSError) as an error of ours."""
    try:
        yield
    except (ValueError, OSError) as error:
        raise KnowledgeError(f"The keyword index failed: {error}.") from error


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    for name, stored in ((_SOURCE, True), (_PART, True), (_DOCUMENT, False)):
        builder.add_text_field(name, stored=stored, tokenizer_name="raw", index_option="basic")
    for name in (_GRAMS, _WORDS):
        builder.add_text_field(name, tokenizer_name=_TOKENIZER, index_option="freq")
    return builder.build()
