"""A source before it is parsed: its size checked, its content hashed."""

from __future__ import annotations

import os
from dataclasses import dataclass

from ingest.reading import ReadTask, hash_source
from ingest.sources import Source
from orchestrator.errors import DocumentError
from orchestrator.knowledge.clause import document_id_for
from orchestrator.settings import IngestSettings

__all__ = ["Intake", "take_in", "worker_count"]

_MB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Intake:
    """What is known of a source before it is parsed, and what parses it."""

    document_id: str
    task: ReadTask


def take_in(source: Source, settings: IngestSettings) -> Intake:
    """Check and hash a source; blocks.

    Raises:
        DocumentError: it is no file, is too large, or cannot be read.
    """
    max_bytes = settings.max_file_mb * _MB
    try:
        _check(source, max_bytes)
        content_hash = hash_source(source.path)
    except OSError as error:
        raise DocumentError(
            source.name,
            f"the file cannot be read: {error.strerror or error}.",
            kind="UNREADABLE_FILE",
            hint="Check that this user may read it.",
        ) from None
    task = ReadTask(
        path=source.path,
        name=source.name,
        doc_source=source.doc_source,
        content_hash=content_hash,
        max_bytes=max_bytes,
        max_clause_chars=settings.max_clause_chars,
    )
    return Intake(document_id_for(source.doc_source), task)


def worker_count(settings: IngestSettings) -> int:
    """How many parser processes run: as many as configured, else one for each core that this process may use."""
    if settings.workers:
        return settings.workers
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _check(source: Source, max_bytes: int) -> None:
    """Refuse what must not even be hashed: a pipe would block, a huge file would take its time."""
    path = source.path
    if not path.is_file():
        what = "does not exist" if not path.exists() else "is no regular file"
        raise DocumentError(
            source.name, f"it {what}.", kind="NOT_A_FILE", hint="Name a file, or a folder to be walked."
        )
    size = path.stat().st_size
    if size > max_bytes:
        raise DocumentError(
            source.name,
            f"the file has {size / _MB:.0f} MB, more than the limit of {max_bytes / _MB:.0f} MB.",
            kind="TOO_LARGE",
            hint="Split it, or raise ingest.max_file_mb.",
        )
