"""Which clause a reference means, given the documents that are live.

What a reference resolves to depends on the live documents alone, not on the order in which they came: each publish and
each delete resolves again whatever may mean the document concerned.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import NamedTuple

from orchestrator.knowledge.clause import ReferenceType
from orchestrator.knowledge.graph.labels import label_search_keys
from orchestrator.knowledge.graph.rows import fetch, json_list
from orchestrator.knowledge.graph.titles import version_key

__all__ = ["resolve_for"]


@dataclass(frozen=True, slots=True)
class _Meant:
    """What a reference says of its target; references that say the same are resolved once."""

    type: str
    target_title: str
    target_label: str
    title_key: str
    document_id: str
    dated: str


_COLUMNS = "id, type, target_title, target_label, title_key, document_id, dated"
_CANDIDATE_COLUMNS = "id, document_id, version_key, dated"
_UPDATE = """
UPDATE clause_references SET target_document_id = t.document_id, target_source_id = t.source_id
FROM (
    SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS document_id,
    json_extract(value, '$[2]') AS source_id FROM json_each(?)
) t WHERE clause_references.id = t.id
"""


def resolve_for(connection: sqlite3.Connection, document_id: str, keys: set[str]) -> None:
    """Resolve again what a document refers to, and what may refer to it.

    Args:
        connection: inside a transaction in which the document was published or deleted.
        document_id: of that document.
        keys: the title and number keys of its present and its former live revision.
    """
    rows = fetch(
        connection,
        _COLUMNS,
        "SELECT * FROM live_references WHERE document_id = ?1 UNION SELECT * FROM live_references"
        " WHERE title_key != '' AND title_key IN (SELECT value FROM json_each(?2)) AND document_id != ?1",
        document_id,
        json_list(sorted(keys)),
    )
    if not rows:
        return
    targets: dict[_Meant, tuple[str, str]] = {}
    updates = []
    for row_id, *said in rows:
        meant = _Meant(*said)
        if meant not in targets:
            targets[meant] = _target(connection, meant)
        updates.append((row_id, *targets[meant]))
    connection.execute(_UPDATE, (json_list(updates),))


def _target(connection: sqlite3.Connection, meant: _Meant) -> tuple[str, str]:
    """(document id, source id), each empty where the library does not hold it."""
    candidates = _candidates(connection, meant)
    if not candidates:
        return "", ""
    newest = max(candidates, key=lambda candidate: (candidate.dated, candidate.document_id))
    return newest.document_id, _target_clause(connection, newest.revision_id, meant.target_label)


class _Candidate(NamedTuple):
    """A live document that a reference may mean."""

    revision_id: int
    document_id: str
    version_key: str
    dated: str


def _candidates(connection: sqlite3.Connection, meant: _Meant) -> list[_Candidate]:
    if meant.title_key:
        query = "SELECT * FROM revisions WHERE live = 1 AND (title_key = ?1 OR number_key = ?1)"
        rows = fetch(connection, _CANDIDATE_COLUMNS, query, meant.title_key)
    else:
        query = "SELECT * FROM revisions WHERE live = 1 AND document_id = ?"
        rows = fetch(connection, _CANDIDATE_COLUMNS, query, meant.document_id)
    found = [_Candidate(*row) for row in rows]
    own = [candidate for candidate in found if candidate.document_id == meant.document_id]
    if meant.type != ReferenceType.CITES.value:
        # What repeals or amends is another document, and not an older one.
        found = [
            candidate
            for candidate in found
            if candidate not in own and not (candidate.dated and meant.dated and candidate.dated > meant.dated)
        ]
    elif own:
        return own
    version = version_key(meant.target_title)
    return [candidate for candidate in found if candidate.version_key == version] or found if version else found


def _target_clause(connection: sqlite3.Connection, revision_id: int, label: str) -> str:
    for key in label_search_keys(label):
        row = connection.execute(
            "SELECT source_id FROM labels WHERE revision_id = ? AND label_key = ? ORDER BY ordinal, source_id LIMIT 1",
            (revision_id, key),
        ).fetchone()
        if row:
            return str(row[0])
    return ""
