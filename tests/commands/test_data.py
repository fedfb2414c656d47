"""`trias data`: from templates to a file, from the queue to experts and back."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from orchestrator.cli import app
from orchestrator.errors import ConfigurationError
from orchestrator.server.database import DATABASE_FILE, Database
from orchestrator.server.labelling import LabellingQueue

WIDE = {"COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"}


def invoke(data: Path, *arguments: str) -> tuple[int, str, BaseException | None]:
    done = CliRunner().invoke(app, ["--set", f"paths.data={data}", "data", *arguments], env=WIDE)
    return done.exit_code, done.output, done.exception


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def write(path: Path, *questions: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in questions), "utf-8")
    return path


async def fill(data: Path) -> None:
    database = Database(data / DATABASE_FILE)
    queue = LabellingQueue(database)
    for question, intent, confidence in (("三甲报多少", "benefit.inpatient.rate", 0.4), ("那个怎么弄", "", 0.1)):
        queue.add(
            question, domain="medical_insurance", reason="LOW_CONFIDENCE", intent_id=intent, confidence=confidence
        )
    queue.add("茶叶", domain="general", reason="LOW_CONFIDENCE", intent_id="", confidence=0.2)
    await queue.entries()
    await database.close()


def test_synthesise_writes_the_same_file_again(tmp_path: Path) -> None:
    arguments = ("synthesise", "--per-template", "1")
    code, output, _ = invoke(tmp_path, *arguments)
    assert code == 0
    path = tmp_path / "training" / "medical_insurance.jsonl"
    assert "medical_insurance.jsonl" in output
    first = path.read_bytes()
    assert {row.get("split", "train") for row in rows(path)} == {"train", "validation", "test"}
    assert invoke(tmp_path, *arguments, "--out", str(tmp_path / "again.jsonl"))[0] == 0
    assert (tmp_path / "again.jsonl").read_bytes() == first


def test_a_pack_without_templates_or_none_at_all(tmp_path: Path) -> None:
    for domain, complaint in (("general", "nothing to make training questions from"), ("no_such", "no domain pack")):
        error = invoke(tmp_path, "synthesise", "--domain", domain)[2]
        assert isinstance(error, ConfigurationError)
        assert complaint in str(error)


def test_the_queue_goes_out_and_comes_back(tmp_path: Path) -> None:
    asyncio.run(fill(tmp_path))
    labelling, training = tmp_path / "labelling.jsonl", tmp_path / "training.jsonl"
    write(training, {"text": "你好", "intent": "chat", "slots": []}, {"text": "谢谢", "intent": "chat", "slots": []})
    code, output, _ = invoke(tmp_path, "export", str(labelling), "--data", str(training), "--sample", "1")
    assert (code, output.split()[0]) == (0, "2")
    exported = rows(labelling)
    assert [row["text"] for row in exported[:2]] == ["那个怎么弄", "三甲报多少"]
    assert [row["checked"] for row in exported] == [False] * 3
    assert exported[1]["slots"][0]["value"] == "三级甲等"
    assert (exported[1]["reason"], exported[1]["confidence"], exported[1]["times"]) == ("LOW_CONFIDENCE", 0.4, 1)

    corrected = {
        **exported[1],
        "checked": True,
        "slots": [{"type": "hospital_grade", "text": "三甲", "value": "三级甲等"}],
    }
    changed = {"text": "谢谢", "intent": "supervise.fraud", "slots": [], "checked": True}
    write(labelling, exported[0], corrected, changed)
    code, output, _ = invoke(tmp_path, "import", str(labelling), "--into", str(training))
    assert (code, output.split(";")[0]) == (0, "1 added, 1 changed, 0 as they were")
    merged = {row["text"]: row for row in rows(training)}
    assert merged.keys() == {"你好", "谢谢", "三甲报多少"}
    assert merged["谢谢"]["intent"] == "supervise.fraud"
    assert merged["三甲报多少"]["slots"][0]["start"] == 0
    assert "checked" not in merged["三甲报多少"]


def test_a_wrong_line_changes_nothing(tmp_path: Path) -> None:
    training = write(tmp_path / "training.jsonl", {"text": "你好", "intent": "chat", "slots": []})
    before = training.read_bytes()
    labelling = write(
        tmp_path / "labelling.jsonl",
        {"text": "好", "intent": "chat", "slots": [], "checked": True},
        {"text": "坏", "intent": "nonsense", "slots": [], "checked": True},
    )
    error = invoke(tmp_path, "import", str(labelling), "--into", str(training))[2]
    assert isinstance(error, ConfigurationError)
    assert "line 2: intent: 'nonsense'" in str(error)
    assert training.read_bytes() == before


@pytest.mark.parametrize("queue", [True, False])
def test_export_without_a_server_run(tmp_path: Path, queue: bool) -> None:
    if queue:
        asyncio.run(fill(tmp_path))
    code, output, _ = invoke(tmp_path, "export", str(tmp_path / "out.jsonl"), "--domain", "general")
    assert (code, output.split()[0]) == (0, "1" if queue else "0")
