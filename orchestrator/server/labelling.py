"""Questions that the router was not sure of, kept for people to label."""

from __future__ import annotations

import sqlite3
import time
from dataclasses import dataclass

from orchestrator.server.database import Database

__all__ = ["LabellingEntry", "LabellingQueue"]

# The most uncertain questions are worth labelling; beyond this many the oldest are forgotten.
KEPT = 100_000


@dataclass(frozen=True, slots=True)
class LabellingEntry:
    """One question of the queue; ``times`` is how often it was asked."""

    question: str
    domain: str
    reason: str
    intent_id: str
    confidence: float
    times: int


class LabellingQueue:
    """Takes questions at once, writes them off the request path; a question asked again is counted, not repeated."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, question: str, *, domain: str, reason: str, intent_id: str, confidence: float) -> None:
        """Queue a question; returns at once.

        Args:
            question: as asked.
            domain: the domain pack that was used.
            reason: why it is worth a label: ``LOW_CONFIDENCE``, ``CLARIFICATION``, …
            intent_id: the router's best guess; empty where it had none.
            confidence: of that guess, in [0,1].
        """

        def write(connection: sqlite3.Connection) -> None:
            cursor = connection.execute(
                "INSERT INTO labelling (queued_at, question, domain, reason, intent_id, confidence)"
                " VALUES (?, ?, ?, ?, ?, ?)"
                " ON CONFLICT (question) DO UPDATE SET times = times + 1, queued_at = excluded.queued_at,"
                " domain = excluded.domain, reason = excluded.reason, intent_id = excluded.intent_id,"
                " confidence = excluded.confidence",
                (time.time(), question, domain, reason, intent_id, confidence),
            )
            connection.execute("DELETE FROM labelling WHERE seq <= ?", ((cursor.lastrowid or 0) - KEPT,))

        self._database.post(write)

    async def entries(self, limit: int = 100) -> list[LabellingEntry]:
        """The queue, least confident first."""

        def read(connection: sqlite3.Connection) -> list[LabellingEntry]:
            rows = connection.execute(
                "SELECT question, domain, reason, intent_id, confidence, times FROM labelling"
                " ORDER BY confidence, seq LIMIT ?",
                (limit,),
            )
            return [LabellingEntry(*row) for row in rows]

        return await self._database.run(read)
