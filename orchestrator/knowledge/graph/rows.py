"""Documents and clauses as the JSON that the catalogue stores, and queries whose whole answer is one JSON value.

Python's sqlite3 gives up and takes back the interpreter lock for every row that it steps to, and each time it may wait
behind every other thread that computes. One row that holds them all is read, and written, several times faster on a
busy server.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection
from dataclasses import asdict
from typing import Any

from orchestrator.knowledge.clause import (
    AuthorityLevel,
    Box,
    Clause,
    ClauseType,
    Document,
    DocumentStatus,
    PathElement,
    Place,
    Position,
    Provenance,
    Table,
)

__all__ = [
    "clause_fields",
    "clause_from_fields",
    "document_from_fields",
    "document_to_json",
    "fetch",
    "json_list",
]

_AS_JSON = "SELECT json_group_array(json_array({})) FROM ({})"


def fetch(connection: sqlite3.Connection, columns: str, query: str, *parameters: object) -> list[list[Any]]:
    """The rows of ``query``, in its order, as lists of ``columns`` (expressions over what it selects)."""
    (answer,) = connection.execute(_AS_JSON.format(columns, query), parameters).fetchone()
    rows: list[list[Any]] = json.loads(answer)
    return rows


def json_list(values: Collection[object]) -> str:
    """Values as a parameter for ``json_each``."""
    return json.dumps(list(values), ensure_ascii=False, separators=(",", ":"))


def document_to_json(document: Document) -> str:
    """A document as JSON; enums are their values."""
    return json.dumps(asdict(document), ensure_ascii=False, separators=(",", ":"))


def document_from_fields(fields: dict[str, Any]) -> Document:
    """The document that `document_to_json` wrote."""
    return Document(
        **{
            **fields,
            "authority_level": AuthorityLevel(fields["authority_level"]),
            "status": DocumentStatus(fields["status"]),
            "superseded_by": tuple(fields["superseded_by"]),
            "provenance": tuple(Provenance(**item) for item in fields["provenance"]),
        }
    )


def clause_fields(clause: Clause) -> dict[str, Any]:
    """A clause as what JSON can hold; enums are their values."""
    # Field by field: `asdict` copies deeply and takes five times as long.
    box, table = clause.place.box, clause.table
    return {
        "source_id": clause.source_id,
        "document_id": clause.document_id,
        "text": clause.text,
        "ordinal": clause.ordinal,
        "label": clause.label,
        "path": [[step.level, step.label, step.heading] for step in clause.path],
        "clause_type": clause.clause_type.value,
        "position": clause.position.value,
        "place": [clause.place.page, clause.place.first_block, clause.place.last_block],
        "box": [box.x0, box.y0, box.x1, box.y1] if box else None,
        "table": [table.headers, table.rows, table.caption] if table else None,
    }


def clause_from_fields(fields: dict[str, Any]) -> Clause:
    """The clause of `clause_fields`."""
    page, first_block, last_block = fields["place"]
    box, table = fields["box"], fields["table"]
    return Clause(
        source_id=fields["source_id"],
        document_id=fields["document_id"],
        text=fields["text"],
        ordinal=fields["ordinal"],
        label=fields["label"],
        path=tuple(PathElement(*step) for step in fields["path"]),
        clause_type=ClauseType(fields["clause_type"]),
        position=Position(fields["position"]),
        place=Place(page, Box(*box) if box else None, first_block, last_block),
        table=Table(tuple(table[0]), tuple(tuple(row) for row in table[1]), table[2]) if table else None,
    )
