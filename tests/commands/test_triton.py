"""`trias triton` as a user runs it."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.triton

TRIAS = (sys.executable, "-c", "from orchestrator.cli import main; main()")


async def run(*arguments: str) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        *TRIAS, *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    output, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, output.decode()


@pytest.mark.slow
async def test_start_status_load_stop(tiny_repository: Any, tmp_path: Path) -> None:
    tiny_repository.publish()
    common = (
        *("--set", f"paths.model_repository={tiny_repository.path}", "--set", f"paths.data={tmp_path / 'data'}"),
        *("--set", "launcher.grpc_port=0", "--set", "launcher.http_port=0", "--set", "launcher.metrics_port=0"),
    )
    server = await asyncio.create_subprocess_exec(
        *TRIAS, *common, "triton", "start", stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    assert server.stdout is not None
    printed: dict[str, str] = {}
    while "Stop" not in printed:
        line = (await server.stdout.readline()).decode()
        assert line, "it ended before it was ready"
        name, _, value = line.partition(" ")
        printed[name] = value.strip()
    assert printed["models"] == "embedder"
    endpoint = ("--set", f"inference.endpoints={{'*': '{printed['gRPC']}'}}")
    code, output = await run(*common, *endpoint, "triton", "status")
    assert code == 0
    assert "READY" in output
    assert "tiny-embedder-1-1" in output
    tiny_repository.publish(version="2")
    code, output = await run(*common, *endpoint, "triton", "load", "embedder")
    assert (code, output.partition(" on ")[0]) == (0, "embedder: version 2")
    server.send_signal(signal.SIGINT)
    assert await server.wait() == 0
    code, output = await run(*common, *endpoint, "triton", "status")
    assert code == 1
    assert "does not answer" in output


async def test_a_mistake_is_one_line(tmp_path: Path) -> None:
    code, output = await run("--set", f"paths.model_repository={tmp_path / 'nowhere'}", "triton", "start")
    assert code == 1
    assert output.strip().splitlines()[-1].startswith("error: The model repository")
    assert "Traceback" not in output
