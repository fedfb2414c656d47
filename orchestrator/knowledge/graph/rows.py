"""Documents and clauses as the JSON that the catalogue stores."""

from __future__ import annotations

import json
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

__all__ = ["clause_from_json", "clause_to_json", "document_from_json", "document_to_json"]


def document_to_json(document: Document) -> str:
    """A document as JSON; enums are their values."""
    return _dump(asdict(document))


def document_from_json(text: str) -> Document:
    """The document that `document_to_json` wrote."""
    fields: dict[str, Any] = json.loads(text)
    fields["authority_level"] = AuthorityLevel(fields["authority_level"])
    fields["status"] = DocumentStatus(fields["status"])
    fields["superseded_by"] = tuple(fields["superseded_by"])
    fields["provenance"] = tuple(Provenance(**item) for item in fields["provenance"])
    return Document(**fields)


def clause_to_json(clause: Clause) -> str:
    """A clause as JSON; enums are their values."""
    # Field by field: `asdict` copies deeply and takes five times as long.
    box, table = clause.place.box, clause.table
    return _dump(
        {
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
    )


def clause_from_json(text: str) -> Clause:
    """The clause that `clause_to_json` wrote."""
    fields: dict[str, Any] = json.loads(text)
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


def _dump(fields: dict[str, Any]) -> str:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
