"""One source file, read to the end: document, clauses, references. Runs in a parser process."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from pathlib import Path

from ingest.clauses import cut_clauses
from ingest.metadata import read_metadata
from ingest.outline import read_outline
from ingest.parse.reader import parse_file
from ingest.references import find_references
from ingest.sidecar import read_sidecar, sidecar_of
from orchestrator.errors import DocumentError
from orchestrator.knowledge.clause import Clause, Document, Reference, document_id_for

__all__ = ["ReadDocument", "ReadTask", "hash_source", "read_source"]

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class ReadTask:
    """What a parser process is asked to do."""

    path: Path
    name: str
    doc_source: str
    content_hash: str
    max_bytes: int
    max_clause_chars: int


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """A document without its vectors; ``name`` is that of the task."""

    name: str
    document: Document
    clauses: tuple[Clause, ...]
    references: tuple[Reference, ...]
    warnings: tuple[str, ...]
    seconds: float


def hash_source(path: Path) -> str:
    """Hex SHA-256 of a file; where a sidecar lies beside it, of both, so that a change of either is one.

    Raises:
        OSError: the file cannot be read.
    """
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    sidecar = sidecar_of(path)
    if sidecar.is_file():
        digest = hashlib.sha256(digest.digest() + sidecar.read_bytes())
    return digest.hexdigest()


def read_source(task: ReadTask) -> ReadDocument:
    """Parse a source file and cut it into clauses.

    Raises:
        DocumentError: it cannot be read, holds no clause, has a wrong sidecar, or changed meanwhile.
    """
    started = time.perf_counter()
    parsed = parse_file(task.path, source=task.name, max_bytes=task.max_bytes)
    sidecar = sidecar_of(task.path)
    fields = read_sidecar(sidecar.read_bytes(), f"{task.name}'s sidecar {sidecar.name}") if sidecar.is_file() else {}
    if hash_source(task.path) != task.content_hash:
        raise DocumentError(task.name, "it changed while it was read.", kind="CHANGED", hint="Ingest it again.")
    document_id = document_id_for(task.doc_source)
    lines = read_outline(parsed.blocks)
    document = read_metadata(
        parsed,
        lines,
        document_id=document_id,
        doc_source=task.doc_source,
        content_hash=task.content_hash,
        sidecar=fields,
    )
    cut = cut_clauses(document_id, lines, max_chars=task.max_clause_chars)
    if not cut.clauses:
        raise DocumentError(task.name, "no text was found in it.", kind="NO_TEXT", hint="Look whether it is a scan.")
    references = find_references(document.title, cut.clauses)
    return ReadDocument(
        task.name,
        document,
        cut.clauses,
        tuple(references),
        parsed.warnings,
        round(time.perf_counter() - started, 4),
    )
