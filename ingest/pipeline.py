"""From source files to a library: hash, check, parse, embed, apply; many files at a time, few in memory.

Nothing is kept between runs but the library itself. A run that was killed is simply started again: what is live is
found unchanged before it is parsed, and everything else gives the same clauses under the same ids.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from ingest.embedding import embed_in_parts
from ingest.intake import Intake, take_in, worker_count
from ingest.reading import ReadDocument
from ingest.report import Entry, Outcome, Report, entry_of, skipped
from ingest.sinks import DocumentSink
from ingest.sources import Ignored, Source
from ingest.workers import ParserPool
from orchestrator.errors import (
    DocumentError,
    FingerprintMismatchError,
    InvalidFieldError,
    ModelError,
    ModelNotFoundError,
    TriasError,
)
from orchestrator.inference.models import Embedder
from orchestrator.inference.taskgroup import all_of
from orchestrator.knowledge.clause import IndexedDocument
from orchestrator.knowledge.embedded_text import embedded_text
from orchestrator.settings import IngestSettings

__all__ = ["Pipeline"]

# Files that are hashed and asked about together.
_BATCH = 200
# Documents that wait between parsing and embedding, for each parser process: enough that neither waits for the other.
_PARSED_AHEAD = 2
# Groups of documents that are embedded and applied side by side: one is at the model while another is at the indexes.
_FINISHERS = 3
# A model that changes during one document is asked again; one that changes more often is broken.
_VERSION_CHANGES = 3


class Pipeline:
    """One run of ingest.

    Args:
        settings: of ingest.
        sink: where documents go.
        embedder: makes the vectors.
        again: parse and apply also what is live with the same content: after an upgrade that cuts differently, say.
        on_entry: told of each file as soon as its outcome is known.
    """

    def __init__(
        self,
        settings: IngestSettings,
        sink: DocumentSink,
        embedder: Embedder,
        *,
        again: bool = False,
        on_entry: Callable[[Entry], None] = lambda _: None,
    ) -> None:
        self._settings = settings
        self._sink = sink
        self._embedder = embedder
        self._again = again
        self._on_entry = on_entry
        self._stopping = asyncio.Event()
        self.report = Report(sink.target)

    def stop(self) -> None:
        """Finish the documents that are being embedded or applied, take no others."""
        self._stopping.set()

    async def run(self, sources: Sequence[Source | Ignored]) -> Report:
        """Ingest the sources.

        Raises:
            FingerprintMismatchError: the library was filled by another embedder.
            TriasError: model or library fail for good; what was applied until then stays, and `report` tells it.
        """
        started = time.perf_counter()
        try:
            await self._check_embedder()
            await self._run(sources)
        except TriasError as error:
            self.report.error = str(error)
            raise
        finally:
            self.report.seconds = time.perf_counter() - started
            self.report.interrupted = self._stopping.is_set()
            self.report.missing = len(sources) - len(self.report.entries)
        return self.report

    async def _check_embedder(self) -> None:
        filled_by = await self._sink.fingerprint()
        serves = await self._embedder.fingerprint()
        self.report.embedder_fingerprint = serves
        if filled_by and filled_by != serves:
            raise FingerprintMismatchError(
                f"The library was filled by embedder {filled_by}, Triton serves {serves}.",
                hint="Serve the embedder that filled it, or ingest into a new library (--set knowledge.name=…).",
            )

    async def _run(self, sources: Sequence[Source | Ignored]) -> None:
        workers = worker_count(self._settings)
        hashed: asyncio.Queue[Intake | None] = asyncio.Queue(_BATCH)
        parsed: asyncio.Queue[ReadDocument | None] = asyncio.Queue(_PARSED_AHEAD * workers)
        async with ParserPool(workers, self._settings.file_timeout_s) as pool:

            async def produce() -> None:
                await self._produce(sources, hashed)
                for _ in range(workers):
                    await hashed.put(None)

            async def parse_all() -> None:
                await all_of([self._parse(pool, hashed, parsed) for _ in range(workers)])
                for _ in range(_FINISHERS):
                    await parsed.put(None)

            await all_of([produce(), parse_all(), *[self._finish(parsed) for _ in range(_FINISHERS)]])

    async def _produce(self, sources: Iterable[Source | Ignored], hashed: asyncio.Queue[Intake | None]) -> None:
        """Hash, drop what is live or a second copy, hand on the rest."""
        contents: dict[str, str] = {}
        for batch in _batches(sources, _BATCH):
            if self._stopping.is_set():
                return
            states = [item async for item in self._hash(batch)]
            live = await self._sink.check({item.document_id: item.task.content_hash for item in states})
            for item in states:
                first = contents.setdefault(item.task.content_hash, item.task.name)
                if item.document_id in live and not self._again:
                    self._note(Entry(item.task.name, Outcome.UNCHANGED, document_id=item.document_id))
                elif first != item.task.name:
                    self._note(
                        Entry(
                            item.task.name,
                            Outcome.IGNORED,
                            kind="DUPLICATE",
                            message=f"its content is that of {first}.",
                            document_id=item.document_id,
                        )
                    )
                else:
                    await hashed.put(item)

    async def _hash(self, batch: Sequence[Source | Ignored]) -> AsyncIterator[Intake]:
        for source in batch:
            if isinstance(source, Ignored):
                self._note(Entry(source.name, Outcome.IGNORED, kind=source.kind, message=source.message))
                continue
            try:
                yield await asyncio.to_thread(take_in, source, self._settings)
            except DocumentError as error:
                self._note(skipped(source.name, error))

    async def _parse(
        self, pool: ParserPool, hashed: asyncio.Queue[Intake | None], parsed: asyncio.Queue[ReadDocument | None]
    ) -> None:
        while (item := await hashed.get()) is not None:
            if self._stopping.is_set():
                continue
            try:
                document = await pool.read(item.task)
            except DocumentError as error:
                self._note(skipped(item.task.name, error))
            else:
                await parsed.put(document)

    async def _finish(self, parsed: asyncio.Queue[ReadDocument | None]) -> None:
        """Embed and apply documents; small ones together, so that the model gets full batches."""
        ended = False
        while not ended:
            group: list[ReadDocument] = []
            rows = 0
            while rows < self._settings.embed_rows and not ended:
                # Wait for the first; take others only if they are there.
                if group and parsed.empty():
                    break
                document = await parsed.get()
                if document is None:
                    ended = True
                elif not self._stopping.is_set():
                    group.append(document)
                    rows += len(document.clauses)
            if group:
                await self._finish_group(group)

    async def _finish_group(self, group: list[ReadDocument]) -> None:
        texts = [embedded_text(read.document, clause) for read in group for clause in read.clauses]
        try:
            vectors, fingerprint = await self._embed(texts)
        except ModelError as error:
            if error.retryable or isinstance(error, (FingerprintMismatchError, ModelNotFoundError)):
                raise
            # The model stumbled over one of these texts: find out whose.
            await self._embed_apart(group, error)
            return
        start = 0
        applies = []
        for read in group:
            end = start + len(read.clauses)
            indexed = IndexedDocument(read.document, read.clauses, read.references, vectors[start:end], fingerprint)
            applies.append(self._apply(read, indexed))
            start = end
        await all_of(applies)

    async def _embed_apart(self, group: list[ReadDocument], error: ModelError) -> None:
        if len(group) > 1:
            for read in group:
                await self._finish_group([read])
            return
        name = group[0].name
        failed = DocumentError(name, f"the embedder fails on its text: {error.message}", kind="EMBEDDING_FAILED")
        self._note(skipped(name, failed))

    async def _embed(self, texts: list[str]) -> tuple[np.ndarray[Any, np.dtype[np.float32]], str]:
        """Vectors of one model version for all texts."""
        embed = partial(self._embedder.embed, kind="passage", timeout_s=self._settings.embed_timeout_s)
        for _ in range(_VERSION_CHANGES):
            parts = await embed_in_parts(embed, texts, self._settings.embed_rows)
            fingerprints = {part.fingerprint for part in parts}
            if len(fingerprints) == 1:
                return np.concatenate([part.vectors for part in parts]), fingerprints.pop()
        raise ModelError("The embedder changed its version again and again.", hint="Ingest again once it is settled.")

    async def _apply(self, read: ReadDocument, indexed: IndexedDocument) -> None:
        try:
            written = await self._sink.apply(indexed)
        except DocumentError as error:
            self._note(skipped(read.name, error))
        except InvalidFieldError as error:
            refused = DocumentError(read.name, f"the library refuses it: {error.message}", kind="REFUSED")
            self._note(skipped(read.name, refused))
        else:
            self._note(entry_of(read, Outcome.INGESTED if written else Outcome.UNCHANGED))

    def _note(self, entry: Entry) -> None:
        self.report.entries.append(entry)
        self._on_entry(entry)


def _batches(items: Iterable[Source | Ignored], size: int) -> Iterator[list[Source | Ignored]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
