"""What is read of the embedded clause graph: plain functions on one connection. Only live revisions show."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Collection
from dataclasses import replace
from datetime import date
from typing import Any

from orchestrator.knowledge.clause import Clause, Document, DocumentStatus, Reference, ReferenceType
from orchestrator.knowledge.graph.labels import label_search_keys
from orchestrator.knowledge.graph.rows import clause_from_fields, document_from_fields, fetch, json_list
from orchestrator.knowledge.ports import CatalogueEntry, GraphHit

__all__ = [
    "clauses",
    "document_clauses",
    "documents",
    "edges",
    "entries",
    "entry",
    "find_label",
    "live_documents",
    "live_revisions",
    "neighbours",
    "references",
    "staged",
    "statistics",
    "value",
]

# Siblings this far before and after a clause count as its neighbours.
_SIBLING_DISTANCE = 2

_ENTRY_COLUMNS = "json(document), revision, live, clauses"
_CLAUSE = "json(clause)"
_AROUND = """
SELECT c.source_id AS found, s.source_id AS seed FROM live_clauses s
JOIN clauses c ON c.revision_id = s.revision_id AND {}
WHERE s.source_id IN (SELECT value FROM json_each(?))
ORDER BY s.id, abs(c.ordinal - s.ordinal), c.ordinal, c.id
"""
_RELATIONS = {
    "references": "SELECT target_source_id AS found, source_id AS seed FROM live_references"
    " WHERE target_source_id != '' AND source_id IN (SELECT value FROM json_each(?)) ORDER BY id",
    "referenced_by": "SELECT source_id AS found, target_source_id AS seed FROM live_references"
    " WHERE target_source_id != '' AND target_source_id IN (SELECT value FROM json_each(?)) ORDER BY id",
    "parent": _AROUND.format("c.path_key = s.parent_key AND s.parent_key != '' AND c.path_key != s.path_key"),
    "child": _AROUND.format("c.parent_key = s.path_key AND s.path_key != '' AND c.path_key != s.path_key"),
    "sibling": _AROUND.format(
        "c.parent_key = s.parent_key"
        f" AND c.ordinal BETWEEN s.ordinal - {_SIBLING_DISTANCE} AND s.ordinal + {_SIBLING_DISTANCE}"
    ),
}


def entry(connection: sqlite3.Connection, document_id: str) -> CatalogueEntry | None:
    """The live revision of a document, else its staged one."""
    query = "SELECT * FROM revisions WHERE document_id = ? ORDER BY live DESC LIMIT 1"
    found = _entries(connection, fetch(connection, _ENTRY_COLUMNS, query, document_id))
    return found[0] if found else None


def entries(connection: sqlite3.Connection, after: str, limit: int) -> list[CatalogueEntry]:
    """Live documents in order of id."""
    query = "SELECT * FROM revisions WHERE live = 1 AND document_id > ? ORDER BY document_id LIMIT ?"
    return _entries(connection, fetch(connection, _ENTRY_COLUMNS, query, after, limit))


def staged(connection: sqlite3.Connection) -> list[CatalogueEntry]:
    """Revisions that were never published."""
    query = "SELECT * FROM revisions WHERE live = 0 ORDER BY document_id"
    return _entries(connection, fetch(connection, _ENTRY_COLUMNS, query))


def live_revisions(connection: sqlite3.Connection) -> dict[str, str]:
    """document_id → live revision."""
    rows = fetch(connection, "document_id, revision", "SELECT * FROM revisions WHERE live = 1")
    return dict(rows)


def live_documents(connection: sqlite3.Connection) -> list[Document]:
    """All of them, as they were staged."""
    rows = fetch(connection, "json(document)", "SELECT document FROM revisions WHERE live = 1")
    return [document_from_fields(fields) for (fields,) in rows]


def documents(connection: sqlite3.Connection, document_ids: Collection[str]) -> dict[str, Document]:
    """Live documents by id."""
    query = "SELECT document FROM revisions WHERE live = 1 AND document_id IN (SELECT value FROM json_each(?))"
    rows = fetch(connection, "json(document)", query, json_list(document_ids))
    found = _with_successors(connection, [document_from_fields(fields) for (fields,) in rows])
    return {document.document_id: document for document in found}


def clauses(connection: sqlite3.Connection, source_ids: Collection[str]) -> dict[str, Clause]:
    """Clauses of live documents by id."""
    query = "SELECT clause FROM live_clauses WHERE source_id IN (SELECT value FROM json_each(?))"
    found = _clauses(fetch(connection, _CLAUSE, query, json_list(source_ids)))
    return {clause.source_id: clause for clause in found}


def document_clauses(connection: sqlite3.Connection, document_id: str) -> list[Clause]:
    """A live document's clauses, in order."""
    query = "SELECT clause FROM live_clauses WHERE document_id = ? ORDER BY ordinal, id"
    return _clauses(fetch(connection, _CLAUSE, query, document_id))


def find_label(connection: sqlite3.Connection, document_id: str, label: str) -> list[Clause]:
    """A live document's clauses under the label, or under the nearest label above it that the document has."""
    query = (
        "SELECT c.clause FROM labels l"
        " JOIN live_clauses c ON c.revision_id = l.revision_id AND c.source_id = l.source_id"
        " WHERE c.document_id = ? AND l.label_key = ? ORDER BY c.ordinal, c.id"
    )
    for key in label_search_keys(label):
        if found := fetch(connection, _CLAUSE, query, document_id, key):
            return _clauses(found)
    return []


def references(connection: sqlite3.Connection, source_ids: Collection[str]) -> dict[str, tuple[Reference, ...]]:
    """The references that these clauses make, in the order of the text; clauses that make none are left out."""
    rows = fetch(
        connection,
        "source_id, type, text, start, end, target_title, target_label, target_document_id, target_source_id",
        "SELECT * FROM live_references WHERE source_id IN (SELECT value FROM json_each(?)) ORDER BY start, id",
        json_list(source_ids),
    )
    found: dict[str, list[Reference]] = defaultdict(list)
    for source_id, kind, *rest in rows:
        found[source_id].append(Reference(source_id, ReferenceType(kind), *rest))
    return {source_id: tuple(made) for source_id, made in found.items()}


def neighbours(connection: sqlite3.Connection, source_ids: Collection[str], limit: int) -> list[GraphHit]:
    """Clauses one step from these: references, then what refers to them, parents, children, near siblings."""
    seeds = json_list(source_ids)
    seen = set(source_ids)
    hits: list[GraphHit] = []
    for relation, query in _RELATIONS.items():
        for found, seed in fetch(connection, "found, seed", query, seeds):
            if found not in seen:
                seen.add(found)
                hits.append(GraphHit(found, seed, relation))
        if len(hits) >= limit:
            break
    return hits[:limit]


def edges(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """Every resolved reference from clause to clause. One to a whole document says nothing about a clause of it."""
    query = "SELECT source_id, target_source_id FROM live_references WHERE target_source_id != ''"
    return [(source, target) for source, target in fetch(connection, "source_id, target_source_id", query)]


def value(connection: sqlite3.Connection, key: str) -> str | None:
    """A value of the library itself."""
    row = connection.execute("SELECT value FROM library_values WHERE key = ?", (key,)).fetchone()
    return str(row[0]) if row else None


def statistics(connection: sqlite3.Connection) -> dict[str, int]:
    """Counts over live revisions."""
    held = connection.execute("SELECT count(*), coalesce(sum(clauses), 0) FROM revisions WHERE live = 1").fetchone()
    made = connection.execute(
        "SELECT count(*), coalesce(sum(target_document_id != ''), 0) FROM live_references"
    ).fetchone()
    return dict(zip(("documents", "clauses", "references", "resolved_references"), (*held, *made), strict=True))


def _clauses(rows: list[list[Any]]) -> list[Clause]:
    return [clause_from_fields(fields) for (fields,) in rows]


def _entries(connection: sqlite3.Connection, rows: list[list[Any]]) -> list[CatalogueEntry]:
    found = _with_successors(connection, [document_from_fields(fields) for fields, *_ in rows])
    return [
        CatalogueEntry(document, revision, bool(live), count)
        for document, (_, revision, live, count) in zip(found, rows, strict=True)
    ]


def _with_successors(connection: sqlite3.Connection, found: list[Document]) -> list[Document]:
    """Documents as the references of others leave them: repealed or amended, and by which, newest last."""
    rows = fetch(
        connection,
        "target_document_id, document_id, dated, type = 'repeals' AND target_label = ''",
        "SELECT * FROM live_references WHERE type IN ('amends', 'repeals') AND target_document_id != document_id"
        " AND target_document_id != '' AND target_document_id IN (SELECT value FROM json_each(?))"
        " ORDER BY dated, document_id",
        json_list([document.document_id for document in found]),
    )
    successors: dict[str, list[tuple[str, str, bool]]] = defaultdict(list)
    for document_id, successor, dated, whole in rows:
        successors[document_id].append((successor, dated, bool(whole)))
    return [_superseded(document, successors.get(document.document_id, [])) for document in found]


def _superseded(document: Document, successors: list[tuple[str, str, bool]]) -> Document:
    if not successors:
        return document
    ids = dict.fromkeys([*document.superseded_by, *(successor for successor, _, _ in successors)])
    # A successor that is not in force yet changes nothing today; it is named all the same.
    today = date.today().isoformat()
    in_force = [whole for _, dated, whole in successors if dated <= today]
    status = document.status
    if any(in_force):
        status = DocumentStatus.REPEALED
    elif in_force and status is not DocumentStatus.REPEALED:
        status = DocumentStatus.AMENDED
    return replace(document, superseded_by=tuple(ids), status=status)
