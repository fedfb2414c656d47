"""What changes the embedded clause graph: plain functions on one connection, inside the caller's transaction.

`UNIQUE (document_id, live)` holds each document to one live and one staged revision.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import astuple

from orchestrator.errors import NotFoundError
from orchestrator.knowledge.clause import Clause, Document, PathElement, Reference
from orchestrator.knowledge.graph.labels import label_keys
from orchestrator.knowledge.graph.resolution import resolve_for
from orchestrator.knowledge.graph.rows import clause_fields, document_from_fields, document_to_json, fetch, json_list
from orchestrator.knowledge.graph.titles import title_key, version_key

__all__ = ["delete", "discard", "publish", "stage"]

# One statement for all rows: see rows.py. ``$[0]`` is a row's first value.
_INSERT_CLAUSES = """
INSERT INTO clauses (revision_id, ordinal, source_id, path_key, parent_key, clause)
SELECT ?, json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
json_extract(value, '$[3]'), json_extract(value, '$[4]') FROM json_each(?)
"""
_INSERT_LABELS = """
INSERT OR IGNORE INTO labels (revision_id, label_key, ordinal, source_id)
SELECT ?, json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]') FROM json_each(?)
"""
_INSERT_REFERENCES = """
INSERT INTO clause_references
(revision_id, source_id, type, text, start, end, target_title, target_label, title_key)
SELECT ?, json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
json_extract(value, '$[3]'), json_extract(value, '$[4]'), json_extract(value, '$[5]'), json_extract(value, '$[6]'),
json_extract(value, '$[7]') FROM json_each(?)
"""


def stage(
    connection: sqlite3.Connection,
    document: Document,
    revision: str,
    clauses: Sequence[Clause],
    references: Sequence[Reference],
) -> None:
    """Write a revision that is not live; it replaces one that is staged. A revision that is live stays as it is."""
    document_id = document.document_id
    live = connection.execute(
        "SELECT 1 FROM revisions WHERE document_id = ? AND live = 1 AND revision = ?", (document_id, revision)
    )
    if live.fetchone():
        return
    connection.execute("DELETE FROM revisions WHERE document_id = ? AND live = 0", (document_id,))
    row = {
        "document_id": document_id,
        "revision": revision,
        "clauses": len(clauses),
        "title_key": title_key(document.title),
        "number_key": title_key(document.doc_number),
        "version_key": version_key(document.title, document.version),
        "dated": document.effective_date or document.publish_date,
        "document": document_to_json(document),
    }
    inserted = connection.execute(
        "INSERT INTO revisions"
        " (document_id, revision, live, clauses, title_key, number_key, version_key, dated, document)"
        " VALUES (:document_id, :revision, 0, :clauses, :title_key, :number_key, :version_key, :dated, :document)",
        row,
    )
    revision_id = inserted.lastrowid
    connection.execute(_INSERT_CLAUSES, (revision_id, json_list([_clause_row(clause) for clause in clauses])))
    labels = [
        (key, clause.ordinal, clause.source_id)
        for clause in clauses
        for key in sorted(label_keys(clause.label, clause.path))
    ]
    connection.execute(_INSERT_LABELS, (revision_id, json_list(labels)))
    made = [(*astuple(reference)[:7], title_key(reference.target_title)) for reference in references]
    connection.execute(_INSERT_REFERENCES, (revision_id, json_list(made)))


def publish(connection: sqlite3.Connection, document_id: str, revision: str) -> Document | None:
    """Make a staged revision the live one.

    Returns:
        The document, or None where that revision was live already.

    Raises:
        NotFoundError: no such revision is staged.
    """
    found = connection.execute(
        "SELECT live FROM revisions WHERE document_id = ? AND revision = ? ORDER BY live", (document_id, revision)
    ).fetchone()
    if found is None:
        raise NotFoundError(f"Document {document_id} has no staged revision {revision}.")
    if found[0]:
        return None
    keys = _keys(connection, document_id)
    connection.execute("DELETE FROM revisions WHERE document_id = ? AND live = 1", (document_id,))
    connection.execute("UPDATE revisions SET live = 1 WHERE document_id = ? AND live = 0", (document_id,))
    resolve_for(connection, document_id, keys)
    query = "SELECT document FROM revisions WHERE document_id = ? AND live = 1"
    return document_from_fields(fetch(connection, "json(document)", query, document_id)[0][0])


def discard(connection: sqlite3.Connection, document_id: str, revision: str) -> None:
    """Remove a staged revision."""
    connection.execute(
        "DELETE FROM revisions WHERE document_id = ? AND live = 0 AND revision = ?", (document_id, revision)
    )


def delete(connection: sqlite3.Connection, document_id: str) -> int:
    """Remove a document, live and staged; returns how many live clauses it had."""
    keys = _keys(connection, document_id)
    row = connection.execute("SELECT clauses FROM revisions WHERE document_id = ? AND live = 1", (document_id,))
    found = row.fetchone()
    connection.execute("DELETE FROM revisions WHERE document_id = ?", (document_id,))
    resolve_for(connection, document_id, keys)
    return int(found[0]) if found else 0


def _keys(connection: sqlite3.Connection, document_id: str) -> set[str]:
    """What any of its revisions may be called in a reference."""
    rows = connection.execute("SELECT title_key, number_key FROM revisions WHERE document_id = ?", (document_id,))
    return {key for row in rows for key in row if key}


def _clause_row(clause: Clause) -> list[object]:
    return [
        clause.ordinal,
        clause.source_id,
        _path_key(clause.path),
        _path_key(clause.path[:-1]),
        clause_fields(clause),
    ]


def _path_key(path: Sequence[PathElement]) -> str:
    return "\x1f".join(f"{step.level}\x1e{step.label}" for step in path)
