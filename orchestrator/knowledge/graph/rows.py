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
    return _dump(asdict(clause))


def clause_from_json(text: str) -> Clause:
    """The clause that `clause_to_json` wrote."""
    fields: dict[str, Any] = json.loads(text)
    fields["path"] = tuple(PathElement(**step) for step in fields["path"])
    fields["clause_type"] = ClauseType(fields["clause_type"])
    fields["position"] = Position(fields["position"])
    box = fields["place"].pop("box")
    fields["place"] = Place(**fields["place"], box=Box(**box) if box else None)
    table = fields["table"]
    if table is not None:
        rows = tuple(tuple(row) for row in table["rows"])
        fields["table"] = Table(headers=tuple(table["headers"]), rows=rows, caption=table["caption"])
    return Clause(**fields)


def _dump(fields: dict[str, Any]) -> str:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
