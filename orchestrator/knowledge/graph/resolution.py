"""Which clause a reference means, given the documents that are live.

What a reference resolves to depends on the live documents alone, not on the order in which they came: each publish and
each delete resolves again whatever may mean the document concerned.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from orchestrator.knowledge.clause import ReferenceType
from orchestrator.knowledge.graph.labels import label_search_keys
from orchestrator.knowledge.graph.titles import version_key

__all__ = ["resolve_for"]


@dataclass(frozen=True, slots=True)
class _Open:
    """A reference to resolve."""

    id: int
    type: str
    target_title: str
    target_label: str
    title_key: str
    document_id: str
    dated: str


_REFERENCES = "SELECT id, type, target_title, target_label, title_key, document_id, dated FROM live_references WHERE "


def resolve_for(connection: sqlite3.Connection, document_id: str, keys: set[str]) -> None:
    """Resolve again what a document refers to, and what may refer to it.

    Args:
        connection: inside a transaction in which the document was published or deleted.
        document_id: of that document.
        keys: the title and number keys of its present and its former live revision.
    """
    rows = connection.execute(_REFERENCES + "document_id = ?", (document_id,)).fetchall()
    for key in sorted(keys):
        rows += connection.execute(_REFERENCES + "title_key = ? AND document_id != ?", (key, document_id))
    targets = []
    for row in rows:
        reference = _Open(*row)
        target = _target_document(connection, reference)
        clause = _target_clause(connection, target[0], reference.target_label) if target else ""
        targets.append((target[1] if target else "", clause, reference.id))
    connection.executemany(
        "UPDATE clause_references SET target_document_id = ?, target_source_id = ? WHERE id = ?", targets
    )


def _target_document(connection: sqlite3.Connection, reference: _Open) -> tuple[int, str] | None:
    """(revision's row id, document id) of the live document that is meant."""
    if not reference.title_key:
        return _self(connection, reference.document_id)
    candidates: list[tuple[int, str, str, str]] = connection.execute(
        "SELECT id, document_id, version_key, dated FROM revisions"
        " WHERE live = 1 AND (title_key = :key OR number_key = :key)",
        {"key": reference.title_key},
    ).fetchall()
    if reference.type != ReferenceType.CITES.value:
        # What repeals or amends is another document, and not an older one.
        candidates = [
            candidate
            for candidate in candidates
            if candidate[1] != reference.document_id
            and not (candidate[3] and reference.dated and candidate[3] > reference.dated)
        ]
    elif any(candidate[1] == reference.document_id for candidate in candidates):
        return _self(connection, reference.document_id)
    version = version_key(reference.target_title)
    if version:
        candidates = [candidate for candidate in candidates if candidate[2] == version] or candidates
    if not candidates:
        return None
    newest = max(candidates, key=lambda candidate: (candidate[3], candidate[1]))
    return newest[0], newest[1]


def _self(connection: sqlite3.Connection, document_id: str) -> tuple[int, str] | None:
    row = connection.execute("SELECT id, document_id FROM revisions WHERE document_id = ? AND live = 1", (document_id,))
    found: tuple[int, str] | None = row.fetchone()
    return found


def _target_clause(connection: sqlite3.Connection, revision_id: int, label: str) -> str:
    for key in label_search_keys(label):
        row = connection.execute(
            "SELECT source_id FROM labels WHERE revision_id = ? AND label_key = ? ORDER BY ordinal, source_id LIMIT 1",
            (revision_id, key),
        ).fetchone()
        if row:
            return str(row[0])
    return ""
