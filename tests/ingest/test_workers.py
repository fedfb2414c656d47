"""Parser processes: what one file does to its process costs that file only."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from ingest.reading import ReadDocument, ReadTask, hash_source
from ingest.workers import ParserPool
from orchestrator.errors import DocumentError
from orchestrator.knowledge.clause import Document


def misbehave(task: ReadTask) -> ReadDocument:
    """Does what the file's name says."""
    match task.name:
        case "crash":
            os.abort()
        case "exit":
            os._exit(7)
        case "hang":
            time.sleep(600)
        case "raise":
            raise ValueError("a bug")
        case "refuse":
            raise DocumentError(task.name, "no", kind="ENCRYPTED", hint="open it")
    return ReadDocument(task.name, Document("d", task.name, "t", "h"), (), (), (), 0.0)


def task(name: str, path: Path = Path("/nowhere")) -> ReadTask:
    return ReadTask(path, name, name, "h", 1000, 1200)


async def outcome(pool: ParserPool, name: str) -> str:
    try:
        return (await pool.read(task(name))).name
    except DocumentError as error:
        return error.kind


async def test_a_crash_a_hang_and_a_bug_cost_one_file_each() -> None:
    names = ["a", "crash", "b", "hang", "c", "raise", "d", "refuse", "exit", "e"]
    async with ParserPool(2, timeout_s=3, read=misbehave) as pool:
        found = await asyncio.gather(*(outcome(pool, name) for name in names))
    assert found == [
        "a",
        "PARSER_CRASHED",
        "b",
        "TIMEOUT",
        "c",
        "PARSER_FAILED",
        "d",
        "ENCRYPTED",
        "PARSER_CRASHED",
        "e",
    ]


async def test_a_cancelled_read_frees_its_process() -> None:
    async with ParserPool(1, timeout_s=600, read=misbehave) as pool:
        await pool.read(task("a"))
        hanging = asyncio.ensure_future(pool.read(task("hang")))
        await asyncio.sleep(0.2)
        hanging.cancel()
        with pytest.raises(asyncio.CancelledError):
            await hanging
        assert (await pool.read(task("b"))).name == "b"


async def test_a_file_is_read_in_another_process(tmp_path: Path) -> None:
    file = tmp_path / "甲办法.txt"
    file.write_text("甲办法\n第一条 甲。\n第二条 依照第一条。\n", encoding="utf-8")
    found = ReadTask(file, "甲", str(file), hash_source(file), 10_000, 1200)
    async with ParserPool(1, timeout_s=60) as pool:
        read = await pool.read(found)
        assert [clause.label for clause in read.clauses] == ["第一条", "第二条"]
        assert read.references[0].target_label == "第一条"
        file.write_text("甲办法\n第一条 乙。\n", encoding="utf-8")
        with pytest.raises(DocumentError, match="changed"):
            await pool.read(found)


def test_a_sidecar_is_part_of_the_content(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text("x")
    alone = hash_source(file)
    (tmp_path / "a.md.meta.yaml").write_text("region: 甲省")
    assert hash_source(file) != alone
