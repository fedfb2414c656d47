"""What changes the embedded clause graph: plain functions on one connection, inside the caller's transaction.

`UNIQUE (document_id, live)` holds each document to one live and one staged revision.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from orchestrator.errors import NotFoundError
from orchestrator.knowledge.clause import Clause, Document, PathElement, Reference
from orchestrator.knowledge.graph.labels import label_keys
from orchestrator.knowledge.graph.resolution import resolve_for
from orchestrator.knowledge.graph.rows import clause_to_json, document_from_json, document_to_json
from orchestrator.knowledge.graph.titles import title_key, version_key

__all__ = ["delete", "discard", "publish", "stage"]


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
    connection.executemany(
        "INSERT INTO clauses (revision_id, ordinal, source_id, path_key, parent_key, clause) VALUES (?, ?, ?, ?, ?, ?)",
        (
            (
                revision_id,
                clause.ordinal,
                clause.source_id,
                _path_key(clause.path),
                _path_key(clause.path[:-1]),
                clause_to_json(clause),
            )
            for clause in clauses
        ),
    )
    connection.executemany(
        "INSERT OR IGNORE INTO labels (revision_id, label_key, ordinal, source_id) VALUES (?, ?, ?, ?)",
        (
            (revision_id, key, clause.ordinal, clause.source_id)
            for clause in clauses
            for key in sorted(label_keys(clause.label, clause.path))
        ),
    )
    connection.executemany(
        "INSERT INTO clause_references"
        " (revision_id, source_id, type, text, start, end, target_title, target_label, title_key)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (
                revision_id,
                reference.source_id,
                reference.type.value,
                reference.text,
                reference.start,
                reference.end,
                reference.target_title,
                reference.target_label,
                title_key(reference.target_title),
            )
            for reference in references
        ),
    )


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
    row = connection.execute("SELECT document FROM revisions WHERE document_id = ? AND live = 1", (document_id,))
    return document_from_json(row.fetchone()[0])


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


def _path_key(path: Sequence[PathElement]) -> str:
    return "\x1f".join(f"{step.level}\x1e{step.label}" for step in path)
