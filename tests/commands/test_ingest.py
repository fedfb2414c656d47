"""`trias ingest` as a user runs it: a process, a folder, an exit code."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from orchestrator.inference.launcher import TritonServer

REGULATION = "甲省医疗保险办法\n第一条 为了规范，制定本办法。\n第二条 三级医院支付比例为70%。\n"
# Nothing listens there: a probe is refused at once.
NOBODY = "127.0.0.1:1"


async def start(folder: Path, *arguments: str, triton: TritonServer | None = None) -> asyncio.subprocess.Process:
    tree = {
        "paths.data": str(folder / "data"),
        "server.port": "1",
        "ingest.workers": "1",
        "ingest.embed_rows": "4",
        "inference.endpoints": json.dumps({"*": triton.grpc_address if triton else NOBODY}),
    }
    if triton is not None:
        tree["paths.model_repository"] = str(triton.repository)
    sets = [word for key, value in tree.items() for word in ("--set", f"{key}={value}")]
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "from orchestrator.cli import main; main()",
        *sets,
        "ingest",
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def trias(folder: Path, *arguments: str, triton: TritonServer | None = None) -> tuple[int, str, str]:
    process = await start(folder, *arguments, triton=triton)
    out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


def report_of(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def write(folder: Path, count: int) -> Path:
    docs = folder / "docs"
    docs.mkdir()
    for number in range(count):
        (docs / f"办法{number}.txt").write_text(REGULATION.replace("70", str(number)), encoding="utf-8")
    return docs


async def test_a_dry_run_needs_neither_model_nor_library(tmp_path: Path) -> None:
    docs = write(tmp_path, 2)
    code, out, _ = await trias(tmp_path, "--dry-run", "--report", str(tmp_path / "r.json"), str(docs))
    assert code == 0
    assert "read" in out
    assert not (tmp_path / "data").exists()
    assert [file["clauses"] for file in report_of(tmp_path / "r.json")["files"]] == [2, 2]


@pytest.mark.triton
async def test_exit_codes_and_report(tmp_path: Path, tiny_triton: TritonServer) -> None:
    docs = write(tmp_path, 2)
    arguments = ("--report", str(tmp_path / "r.json"), str(docs))
    code, _, err = await trias(tmp_path, *arguments, triton=tiny_triton)
    assert code == 0, err
    assert report_of(tmp_path / "r.json")["documents"]["ingested"] == 2
    (docs / "empty.pdf").touch()
    code, out, err = await trias(tmp_path, *arguments, triton=tiny_triton)
    assert code == 3, err
    assert "EMPTY_FILE" in out
    assert "empty.pdf" in err
    report = report_of(tmp_path / "r.json")
    assert (report["documents"]["unchanged"], report["documents"]["skipped"]) == (2, 1)


@pytest.mark.triton
async def test_ctrl_c_keeps_what_is_done_and_the_next_run_goes_on(tmp_path: Path, tiny_triton: TritonServer) -> None:
    docs = write(tmp_path, 300)
    report = tmp_path / "r.json"
    process = await start(tmp_path, "--report", str(report), str(docs), triton=tiny_triton)
    assert process.stderr is not None
    while b"into the library" not in await process.stderr.readline():
        pass
    while b"files" not in await process.stderr.readline():
        pass
    process.send_signal(signal.SIGINT)
    await process.communicate()
    assert process.returncode == 130
    done = report_of(report)
    assert done["interrupted"]
    # A quick machine may have everything under way by then, and what is under way is finished.
    assert 0 < done["documents"]["ingested"] <= 300
    code, _, err = await trias(tmp_path, "--report", str(report), str(docs), triton=tiny_triton)
    assert code == 0, err
    rest = report_of(report)
    assert rest["documents"]["unchanged"] == done["documents"]["ingested"]
    assert rest["documents"]["ingested"] == 300 - rest["documents"]["unchanged"]


async def test_a_server_that_is_named_must_be_there(tmp_path: Path) -> None:
    code, _, err = await trias(tmp_path, "--to", NOBODY, str(write(tmp_path, 1)))
    assert code == 1
    assert "127.0.0.1:1" in err
    assert "trias serve" in err
