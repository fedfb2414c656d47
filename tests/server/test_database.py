from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import ConfigurationError
from orchestrator.server.database import Database
from orchestrator.server.labelling import LabellingQueue


async def test_a_damaged_file_is_kept_aside_and_a_new_one_begun(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite3"
    path.write_bytes(b"this is no database, and never was one" * 100)
    database = Database(path)
    try:
        assert await database.run(lambda connection: connection.execute("SELECT count(*) FROM answers").fetchone()) == (
            0,
        )
    finally:
        await database.close()
    (aside,) = tmp_path.glob("*.damaged-*")
    assert aside.read_bytes().startswith(b"this is no database")


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(ConfigurationError, match=r"paths\.data"):
        Database(tmp_path / "file" / "answers.sqlite3")


async def test_a_failed_write_is_logged_and_the_next_one_goes_through(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    database = Database(tmp_path / "answers.sqlite3")
    try:
        database.post(lambda connection: connection.execute("INSERT INTO nowhere VALUES (1)"))
        LabellingQueue(database).add("q", domain="d", reason="LOW_CONFIDENCE", intent_id="", confidence=0.1)
        assert len(await LabellingQueue(database).entries()) == 1
    finally:
        await database.close()
    assert "could not be written" in caplog.text


async def test_the_labelling_queue_counts_repeated_questions_and_shows_the_least_sure_first(tmp_path: Path) -> None:
    database = Database(tmp_path / "answers.sqlite3")
    try:
        queue = LabellingQueue(database)
        for question, confidence in (("甲", 0.3), ("乙", 0.1), ("甲", 0.2)):
            queue.add(question, domain="d", reason="LOW_CONFIDENCE", intent_id="i", confidence=confidence)
        entries = await queue.entries()
    finally:
        await database.close()
    assert [(entry.question, entry.times, entry.confidence) for entry in entries] == [("乙", 1, 0.1), ("甲", 2, 0.2)]
