"""A clause as the models read it."""

from __future__ import annotations

from orchestrator.knowledge.clause import Clause, Document

__all__ = ["embedded_text"]


def embedded_text(document: Document, clause: Clause) -> str:
    """The document's title, the headings above the clause, its label, its text.

    Label and heading of the clause itself are left out where the text starts with them.
    """
    steps = clause.path
    if steps and clause.text.lstrip().startswith(steps[-1].label or steps[-1].heading):
        steps = steps[:-1]
    headings = [f"{step.label} {step.heading}".strip() for step in steps if step.heading]
    label = "" if clause.text.lstrip().startswith(clause.label) or clause.label in headings else clause.label
    return " ".join(part for part in (document.title, *headings, label, clause.text) if part)
