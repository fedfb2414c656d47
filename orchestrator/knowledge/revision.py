"""One revision of a document: whether it is fit for the library, what names it, what each index reads of it."""

from __future__ import annotations

import hashlib

import numpy as np

from orchestrator.errors import InvalidFieldError
from orchestrator.knowledge.clause import Clause, IndexedDocument
from orchestrator.knowledge.ports import KeywordEntry

__all__ = ["check_document", "keyword_entry", "revision_of"]

# Ids are terms of the indexes, which have a limit; ours are 25 and 32 characters.
_LONGEST_ID = 256


def check_document(indexed: IndexedDocument) -> None:
    """Refuse what does not fit together.

    Raises:
        InvalidFieldError: names the field, as in the contract's ApplyDocumentRequest.
    """
    document, clauses, vectors = indexed.document, indexed.clauses, indexed.vectors
    if not 0 < len(document.document_id) <= _LONGEST_ID:
        raise InvalidFieldError("document.document_id", f"must have 1 to {_LONGEST_ID} characters")
    if not indexed.embedder_fingerprint:
        raise InvalidFieldError("embedder_fingerprint", "is empty")
    ids = {clause.source_id for clause in clauses}
    if len(ids) != len(clauses) or any(not 0 < len(source_id) <= _LONGEST_ID for source_id in ids):
        raise InvalidFieldError("clauses", f"each needs a source_id of its own, of 1 to {_LONGEST_ID} characters")
    if any(clause.document_id != document.document_id for clause in clauses):
        raise InvalidFieldError("clauses", f"each must belong to document {document.document_id}")
    if any(reference.source_id not in ids for reference in indexed.references):
        raise InvalidFieldError("references", "each must start from one of the clauses")
    if not clauses:
        return
    if vectors.ndim != 2 or vectors.shape[0] != len(clauses) or vectors.shape[1] == 0:
        raise InvalidFieldError("vectors", f"must have one row a clause ({len(clauses)}), not shape {vectors.shape}")
    if not np.isfinite(vectors).all():
        raise InvalidFieldError("vectors", "contain a value that is not a number")


def revision_of(indexed: IndexedDocument) -> str:
    """Names everything about a document but the digits of its vectors, which its clauses and embedder determine.

    ``repr`` of the frozen dataclasses covers each field; a field added later gives new revisions, as it should.
    """
    whole = (indexed.document, indexed.clauses, indexed.references, indexed.embedder_fingerprint)
    return "r" + hashlib.sha256(repr(whole).encode()).hexdigest()[:31]


def keyword_entry(title: str, clause: Clause) -> KeywordEntry:
    """What the keyword index reads of a clause; a table's caption counts as a heading."""
    caption = clause.table.caption if clause.table is not None else ""
    heading = f"{clause.heading_path()} {caption}".strip()
    return KeywordEntry(source_id=clause.source_id, title=title, heading=heading, text=clause.text)
