"""What an ingest did: what went in, what did not and why."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import asdict, dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from ingest.reading import ReadDocument
from orchestrator.errors import DocumentError

__all__ = ["Entry", "Outcome", "Report", "entry_of", "skipped"]


class Outcome(str, Enum):
    """What became of a file."""

    INGESTED = "ingested"
    READ = "read"
    """Of a dry run: it could be ingested."""
    UNCHANGED = "unchanged"
    """Its content was live already."""
    SKIPPED = "skipped"
    """It should have gone in and could not."""
    IGNORED = "ignored"
    """It is no source: a hidden or temporary file, a second copy."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One file.

    Attributes:
        source: the file, as the user named it or its folder.
        kind: UPPER_SNAKE, why it was skipped or ignored.
        clause_types: how many clauses of each type it has.
        outline: of a dry run: each clause's label, type, position, path and first words.
    """

    source: str
    outcome: Outcome
    kind: str = ""
    message: str = ""
    hint: str = ""
    document_id: str = ""
    title: str = ""
    clauses: int = 0
    references: int = 0
    clause_types: dict[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0
    outline: tuple[dict[str, Any], ...] = ()


def entry_of(read: ReadDocument, outcome: Outcome, outline: tuple[dict[str, Any], ...] = ()) -> Entry:
    """The entry of a document that was read."""
    return Entry(
        read.name,
        outcome,
        document_id=read.document.document_id,
        title=read.document.title,
        clauses=len(read.clauses),
        references=len(read.references),
        clause_types=dict(Counter(clause.clause_type.value for clause in read.clauses)),
        warnings=read.warnings,
        seconds=read.seconds,
        outline=outline,
    )


def skipped(name: str, error: DocumentError) -> Entry:
    """The entry of a file that could not be read or taken."""
    return Entry(name, Outcome.SKIPPED, kind=error.kind, message=error.description, hint=error.hint)


@dataclass(slots=True)
class Report:
    """A whole run.

    Attributes:
        target: where the documents went.
        interrupted: whether it was ended before its end.
        error: what ended it.
        missing: files that an interrupted run did not come to.
    """

    target: str
    entries: list[Entry] = field(default_factory=list)
    seconds: float = 0.0
    interrupted: bool = False
    error: str = ""
    missing: int = 0
    embedder_fingerprint: str = ""

    def count(self, outcome: Outcome) -> int:
        """How many files had that outcome."""
        return sum(entry.outcome is outcome for entry in self.entries)

    @property
    def clauses(self) -> int:
        """Clauses of the documents that were read."""
        return sum(entry.clauses for entry in self.entries)

    @property
    def documents_per_second(self) -> float:
        """Documents read, by the run's time."""
        done = self.count(Outcome.INGESTED) + self.count(Outcome.READ)
        return done / self.seconds if self.seconds else 0.0

    def reasons(self) -> Counter[tuple[Outcome, str]]:
        """How often each reason kept a file out."""
        kept_out = (Outcome.SKIPPED, Outcome.IGNORED)
        return Counter((entry.outcome, entry.kind) for entry in self.entries if entry.outcome in kept_out)

    def as_dict(self) -> dict[str, Any]:
        """The report for a machine."""
        return {
            "target": self.target,
            "seconds": round(self.seconds, 3),
            "documents_per_second": round(self.documents_per_second, 3),
            "interrupted": self.interrupted,
            "error": self.error,
            "missing": self.missing,
            "embedder_fingerprint": self.embedder_fingerprint,
            "documents": {outcome.value: self.count(outcome) for outcome in Outcome},
            "clauses": self.clauses,
            "references": sum(entry.references for entry in self.entries),
            "files": [_plain(entry) for entry in sorted(self.entries, key=lambda entry: entry.source)],
        }

    def write(self, file: Path) -> None:
        """Write the report as JSON; a reader sees the old file or the whole new one."""
        file.parent.mkdir(parents=True, exist_ok=True)
        unfinished = file.with_name(f"{file.name}.{os.getpid()}.tmp")
        unfinished.write_text(json.dumps(self.as_dict(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        unfinished.replace(file)


def _plain(entry: Entry) -> dict[str, Any]:
    return {key: value for key, value in asdict(entry).items() if value not in ("", 0, 0.0, (), {}) or key == "source"}
