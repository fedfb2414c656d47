"""One question's life: budgets, tiers, follow-ups, fallbacks. Knows the contract only; the agents are handed to it."""

from __future__ import annotations

from orchestrator.flow.events import Event, Found, Planned, Question, Replied
from orchestrator.flow.life import Flow
from orchestrator.flow.ports import FallbackRetriever, Reasoner, Retriever, Router

__all__ = [
    "Event",
    "FallbackRetriever",
    "Flow",
    "Found",
    "Planned",
    "Question",
    "Reasoner",
    "Replied",
    "Retriever",
    "Router",
]
