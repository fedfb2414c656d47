"""Answers as they were given, for `GetAnswer`, `TraceEvidence` and feedback."""

from __future__ import annotations

import sqlite3

from google.protobuf.timestamp_pb2 import Timestamp

from orchestrator.errors import NotFoundError
from orchestrator.server.database import Database
from trias.v1 import answer_service_pb2

__all__ = ["AnswerStore"]


class AnswerStore:
    """The last ``kept`` answers, oldest forgotten first.

    Args:
        database: the server's file.
        kept: how many.
    """

    def __init__(self, database: Database, kept: int) -> None:
        self._database = database
        self._kept = kept

    def save(self, record: answer_service_pb2.GetAnswerResponse, retrieved: answer_service_pb2.Retrieved) -> None:
        """Keep one question with all its tiers; returns at once. Neither message may be changed afterwards."""

        def write(connection: sqlite3.Connection) -> None:
            cursor = connection.execute(
                "INSERT INTO answers (answer_id, record, passages) VALUES (?, ?, ?)",
                (record.answer_id, record.SerializeToString(), retrieved.SerializeToString()),
            )
            oldest = (cursor.lastrowid or 0) - self._kept
            connection.execute(
                "DELETE FROM feedback WHERE answer_id IN (SELECT answer_id FROM answers WHERE seq <= ?)", (oldest,)
            )
            connection.execute("DELETE FROM answers WHERE seq <= ?", (oldest,))

        self._database.post(write)

    async def get(self, answer_id: str) -> answer_service_pb2.GetAnswerResponse:
        """An answer with its feedback.

        Raises:
            NotFoundError: there is no such answer, or no longer.
        """

        def read(connection: sqlite3.Connection) -> tuple[bytes | None, list[bytes]]:
            row = connection.execute("SELECT record FROM answers WHERE answer_id = ?", (answer_id,)).fetchone()
            rows = connection.execute("SELECT feedback FROM feedback WHERE answer_id = ? ORDER BY seq", (answer_id,))
            return row and row[0], [feedback for (feedback,) in rows]

        record, feedback = await self._database.run(read)
        if record is None:
            raise self._unknown(answer_id)
        answer = answer_service_pb2.GetAnswerResponse.FromString(record)
        answer.feedback.extend(answer_service_pb2.Feedback.FromString(entry) for entry in feedback)
        return answer

    async def passages(self, answer_id: str) -> answer_service_pb2.Retrieved:
        """The passages that an answer was made of.

        Raises:
            NotFoundError: there is no such answer, or no longer.
        """

        def read(connection: sqlite3.Connection) -> bytes | None:
            row = connection.execute("SELECT passages FROM answers WHERE answer_id = ?", (answer_id,)).fetchone()
            return row and bytes(row[0])

        found = await self._database.run(read)
        if found is None:
            raise self._unknown(answer_id)
        return answer_service_pb2.Retrieved.FromString(found)

    async def add_feedback(self, answer_id: str, feedback: answer_service_pb2.Feedback) -> int:
        """Attach feedback, stamped with the present time; written when this returns.

        Returns:
            How many there are for this answer.

        Raises:
            NotFoundError: there is no such answer, or no longer.
        """
        stamped = answer_service_pb2.Feedback()
        stamped.CopyFrom(feedback)
        now = Timestamp()
        now.GetCurrentTime()
        stamped.submitted_at.CopyFrom(now)

        def write(connection: sqlite3.Connection) -> int | None:
            if not connection.execute("SELECT 1 FROM answers WHERE answer_id = ?", (answer_id,)).fetchone():
                return None
            connection.execute(
                "INSERT INTO feedback (answer_id, feedback) VALUES (?, ?)", (answer_id, stamped.SerializeToString())
            )
            (count,) = connection.execute("SELECT count(*) FROM feedback WHERE answer_id = ?", (answer_id,)).fetchone()
            return int(count)

        count = await self._database.run(write)
        if count is None:
            raise self._unknown(answer_id)
        return count

    def _unknown(self, answer_id: str) -> NotFoundError:
        return NotFoundError(
            f"There is no answer {answer_id!r}.",
            hint=f"The last {self._kept} answers are kept.",
            metadata={"answer_id": answer_id},
        )
