"""Parse sources and report their clauses; nothing is embedded or written."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ingest.intake import take_in, worker_count
from ingest.report import Entry, Outcome, Report, entry_of, skipped
from ingest.sources import Ignored, Source
from ingest.workers import ParserPool
from orchestrator.errors import DocumentError
from orchestrator.inference.taskgroup import all_of
from orchestrator.knowledge.clause import Clause
from orchestrator.settings import IngestSettings

__all__ = ["dry_run"]

_OUTLINE_CHARS = 60


async def dry_run(
    settings: IngestSettings,
    sources: Sequence[Source | Ignored],
    *,
    stopping: asyncio.Event,
    on_entry: Callable[[Entry], None] = lambda _: None,
) -> Report:
    """Parse the sources.

    Args:
        settings: of ingest.
        sources: in any number.
        stopping: once it is set, the files under way are finished and no others taken.
        on_entry: told of each file as soon as it is parsed.
    """
    report = Report("dry run: nothing is written")
    started = time.perf_counter()
    queue: Iterator[Source | Ignored] = iter(sources)

    async def work(pool: ParserPool) -> None:
        for source in queue:
            if stopping.is_set():
                return
            entry = await _read(pool, source, settings)
            report.entries.append(entry)
            on_entry(entry)

    workers = worker_count(settings)
    async with ParserPool(workers, settings.file_timeout_s) as pool:
        await all_of([work(pool) for _ in range(workers)])
    report.seconds = time.perf_counter() - started
    report.interrupted = stopping.is_set()
    report.missing = len(sources) - len(report.entries)
    return report


async def _read(pool: ParserPool, source: Source | Ignored, settings: IngestSettings) -> Entry:
    if isinstance(source, Ignored):
        return Entry(source.name, Outcome.IGNORED, kind=source.kind, message=source.message)
    try:
        intake = await asyncio.to_thread(take_in, source, settings)
        read = await pool.read(intake.task)
    except DocumentError as error:
        return skipped(source.name, error)
    return entry_of(read, Outcome.READ, outline=tuple(_outline(clause) for clause in read.clauses))


def _outline(clause: Clause) -> dict[str, Any]:
    return {
        "source_id": clause.source_id,
        "label": clause.label,
        "type": clause.clause_type.value,
        "position": clause.position.value,
        "path": [f"{step.label} {step.heading}".strip() for step in clause.path],
        "page": clause.place.page,
        "blocks": [clause.place.first_block, clause.place.last_block],
        "chars": len(clause.text),
        "text": clause.text[:_OUTLINE_CHARS],
    }
