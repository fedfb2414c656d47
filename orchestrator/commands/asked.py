"""The questions that the service was asked last, for trying a new model version on them."""

from __future__ import annotations

import logging
import sqlite3
from contextlib import closing
from pathlib import Path

from google.protobuf.message import DecodeError

from orchestrator.server.database import DATABASE_FILE
from trias.v1 import answer_service_pb2

__all__ = ["Asked", "last_asked"]

log = logging.getLogger(__name__)

Asked = tuple[str, str]  # a question, and the passage found for it first; empty where none was
BUSY_TIMEOUT_S = 5.0


def last_asked(data: Path, limit: int) -> list[Asked]:
    """The last different questions, newest first; empty where the service keeps none, or they cannot be read.

    Args:
        data: Trias's data folder.
        limit: how many at most.
    """
    path = data / DATABASE_FILE
    if not path.is_file():
        return []
    found: dict[str, str] = {}
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=BUSY_TIMEOUT_S)) as rows:
            for record, passages in rows.execute("SELECT record, passages FROM answers ORDER BY seq DESC"):
                question = answer_service_pb2.GetAnswerResponse.FromString(record).question
                if question and question not in found:
                    retrieved = answer_service_pb2.Retrieved.FromString(passages)
                    found[question] = retrieved.passages[0].clause.text if retrieved.passages else ""
                if len(found) == limit:
                    break
    except (sqlite3.Error, DecodeError) as error:
        log.warning("%s: the questions asked cannot be read: %s", path, error)
    return list(found.items())
