"""The tables of the embedded clause graph."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from orchestrator.errors import IndexCorruptError

__all__ = ["connect", "prepare"]

# Raised with every change of the tables.
_VERSION = 1

_TABLES = """
CREATE TABLE library_values (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE revisions (
    id INTEGER PRIMARY KEY,
    document_id TEXT NOT NULL,
    revision TEXT NOT NULL,
    live INTEGER NOT NULL,
    clauses INTEGER NOT NULL,
    title_key TEXT NOT NULL,
    number_key TEXT NOT NULL,
    version_key TEXT NOT NULL,
    dated TEXT NOT NULL,
    document TEXT NOT NULL,
    UNIQUE (document_id, live)
);
CREATE INDEX revisions_by_title ON revisions (title_key);
CREATE INDEX revisions_by_number ON revisions (number_key);

CREATE TABLE clauses (
    id INTEGER PRIMARY KEY,
    revision_id INTEGER NOT NULL REFERENCES revisions ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    source_id TEXT NOT NULL,
    path_key TEXT NOT NULL,
    parent_key TEXT NOT NULL,
    clause TEXT NOT NULL
);
CREATE INDEX clauses_by_source ON clauses (source_id);
CREATE INDEX clauses_by_ordinal ON clauses (revision_id, ordinal);
CREATE INDEX clauses_by_path ON clauses (revision_id, path_key);
CREATE INDEX clauses_by_parent ON clauses (revision_id, parent_key);

CREATE TABLE labels (
    revision_id INTEGER NOT NULL REFERENCES revisions ON DELETE CASCADE,
    label_key TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    source_id TEXT NOT NULL,
    PRIMARY KEY (revision_id, label_key, ordinal, source_id)
) WITHOUT ROWID;

CREATE TABLE clause_references (
    id INTEGER PRIMARY KEY,
    revision_id INTEGER NOT NULL REFERENCES revisions ON DELETE CASCADE,
    source_id TEXT NOT NULL,
    type TEXT NOT NULL,
    text TEXT NOT NULL,
    start INTEGER NOT NULL,
    end INTEGER NOT NULL,
    target_title TEXT NOT NULL,
    target_label TEXT NOT NULL,
    title_key TEXT NOT NULL,
    target_document_id TEXT NOT NULL DEFAULT '',
    target_source_id TEXT NOT NULL DEFAULT ''
);
CREATE INDEX references_by_revision ON clause_references (revision_id);
CREATE INDEX references_by_source ON clause_references (source_id);
CREATE INDEX references_by_title ON clause_references (title_key) WHERE title_key != '';
CREATE INDEX references_by_document ON clause_references (target_document_id, type) WHERE target_document_id != '';
CREATE INDEX references_by_target ON clause_references (target_source_id) WHERE target_source_id != '';

CREATE VIEW live_clauses AS
SELECT c.*, v.document_id FROM clauses c JOIN revisions v ON v.id = c.revision_id WHERE v.live = 1;
CREATE VIEW live_references AS
SELECT r.*, v.document_id, v.dated FROM clause_references r JOIN revisions v ON v.id = r.revision_id WHERE v.live = 1;
"""


def connect(file: Path) -> sqlite3.Connection:
    """Open a connection; the transactions are the caller's own."""
    connection = sqlite3.connect(file, isolation_level=None, check_same_thread=False, timeout=10)
    # FULL: a commit is what a publish acknowledges, so it reaches the disk. In WAL mode it never blocks readers.
    connection.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;")
    return connection


def prepare(connection: sqlite3.Connection, file: Path) -> None:
    """Make the tables where there are none.

    Raises:
        IndexCorruptError: the file holds another version of them.
    """
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version == 0:
        connection.executescript(f"BEGIN; {_TABLES} PRAGMA user_version={_VERSION}; COMMIT;")
    elif version != _VERSION:
        raise IndexCorruptError(
            f"The catalogue {file} has version {version}; this release reads {_VERSION}.",
            hint="Delete the library's folder and ingest the documents again.",
        )
