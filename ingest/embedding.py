"""What of a clause is embedded, and how many texts are sent at a time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from orchestrator.inference.models import Embedding
from orchestrator.knowledge.clause import Clause, Document

__all__ = ["embed_in_parts", "embedding_text"]


def embedding_text(document: Document, clause: Clause) -> str:
    """A clause as the embedder reads it: the document's title, the headings above the clause, its label, its text.

    Label and heading of the clause itself are left out where the text starts with them.
    """
    steps = clause.path
    if steps and clause.text.lstrip().startswith(steps[-1].label or steps[-1].heading):
        steps = steps[:-1]
    headings = [f"{step.label} {step.heading}".strip() for step in steps if step.heading]
    label = "" if clause.text.lstrip().startswith(clause.label) or clause.label in headings else clause.label
    return " ".join(part for part in (document.title, *headings, label, clause.text) if part)


async def embed_in_parts(
    embed: Callable[[list[str]], Awaitable[Embedding]], texts: list[str], rows: int
) -> list[Embedding]:
    """What ``embed`` gives for ``texts``, at most ``rows`` of them a call, one call after the other."""
    return [await embed(texts[start : start + rows]) for start in range(0, len(texts), rows)]
