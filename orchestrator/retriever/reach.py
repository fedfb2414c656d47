"""Walks over the clause graph: from what the question names, and from strong hits along references."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.knowledge.ports import ClauseGraph
from orchestrator.retriever.search import GraphReach
from trias.v1 import plan_pb2

__all__ = ["NAMED_DOCUMENT", "named_clauses", "named_documents", "names_clauses", "referenced_clauses"]

# How directly the question or a strong hit leads to a clause, in [0,1]. On labelled questions references help a little
# and hurt soon: they break ties, and only what the question itself names outweighs the other signals.
NAMED_CLAUSE = 1.0
NAMED_DOCUMENT = 0.3
REFERENCED = 0.08
REFERRING = 0.03

_BY_RELATION = {"references": REFERENCED, "referenced_by": REFERRING}
NEIGHBOUR_LIMIT = 40


def named_documents(plan: plan_pb2.Plan) -> list[str]:
    """The library's documents that the question names, each once."""
    return list(dict.fromkeys(found for mention in plan.named_documents for found in mention.document_ids))


def names_clauses(plan: plan_pb2.Plan) -> bool:
    """Whether the question names a clause of a document by its label."""
    return any(mention.clause_label for mention in plan.named_documents)


async def named_clauses(graph: ClauseGraph, plan: plan_pb2.Plan) -> Sequence[GraphReach]:
    """The clauses that the question names by document and label: 《…》第十二条."""
    reaches = []
    for mention in plan.named_documents:
        if not mention.clause_label:
            continue
        for document_id in mention.document_ids:
            clauses = await graph.find_label(document_id, mention.clause_label)
            reaches += [GraphReach(clause.source_id, document_id, NAMED_CLAUSE) for clause in clauses]
    return reaches


async def referenced_clauses(graph: ClauseGraph, strong: Sequence[str]) -> Sequence[GraphReach]:
    """The clauses one reference away from strong hits, in either direction."""
    hits = await graph.neighbours(strong, NEIGHBOUR_LIMIT)
    wanted = {hit.source_id: _BY_RELATION[hit.relation] for hit in reversed(hits) if hit.relation in _BY_RELATION}
    clauses = await graph.clauses(wanted)
    return [GraphReach(source_id, clause.document_id, wanted[source_id]) for source_id, clause in clauses.items()]
