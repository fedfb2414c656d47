from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from orchestrator.cli import app
from orchestrator.errors import ConfigurationError
from orchestrator.inference.control import TritonControl
from orchestrator.inference.launcher import TritonServer

WIDE = {"COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"}


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["deploy", *arguments], env=WIDE)


def test_render_writes_and_tells_each_file(tmp_path: Path) -> None:
    done = invoke("render", "a100-80", "--out", str(tmp_path))
    assert done.exit_code == 0, done.output
    told = done.output.split()
    assert sorted(told) == sorted(str(path) for path in tmp_path.rglob("*") if path.is_file())
    assert str(tmp_path / "compose.yaml") in told
    assert str(tmp_path / "models" / "reasoner" / "config.pbtxt") in told


def test_list_and_budget_show_what_there_is() -> None:
    assert "a10x2" in invoke("list").output
    done = invoke("budget", "a100-80")
    assert done.exit_code == 0
    assert "of 19968" in done.output
    assert "No slice is on a GPU" in invoke("budget", "cpu").output


def test_a_budget_that_does_not_fit_is_an_exit_code(tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    text = (Path(__file__).resolve().parents[2] / "deploy/partitions/a100-40.yaml").read_text("utf-8")
    path.write_text(text.replace("profile: 3g.20gb", "profile: 1g.10gb"), encoding="utf-8")
    done = invoke("budget", str(path))
    assert done.exit_code == 1
    assert "4096 too few" in done.output
    assert isinstance(invoke("render", str(path), "--out", str(tmp_path / "out")).exception, ConfigurationError)


def test_engine_is_for_language_models() -> None:
    done = invoke("engine", "gpu/bge-m3", ".")
    assert isinstance(done.exception, ConfigurationError)
    assert "no language model" in str(done.exception)


def test_watch_wants_to_know_what_to_load() -> None:
    done = invoke("watch")
    assert isinstance(done.exception, ConfigurationError)
    assert "inference.endpoints names no model" in str(done.exception)


@pytest.mark.triton
async def test_watch_loads_what_a_triton_that_somebody_else_started_does_not_serve_yet(
    tiny_repository: Any, launcher_settings: Any, tmp_path: Path
) -> None:
    tiny_repository.publish("embedder")
    tiny_repository.publish("other")
    server = TritonServer(
        launcher_settings, repository=tiny_repository.path, data=tmp_path / "triton", models=["other"]
    )
    async with server, TritonControl(server.grpc_address) as control:
        assert not await control.model_ready("embedder")
        command = [
            *(sys.executable, "-c", "from orchestrator.cli import main; main()"),
            *("--set", f"inference.endpoints={{embedder: '{server.grpc_address}'}}"),
            *("--set", f"paths.model_repository={tiny_repository.path}", "--set", "canary.interval_s=0.2"),
            *("deploy", "watch"),
        ]
        watch = await asyncio.create_subprocess_exec(*command, env={**os.environ, **WIDE})
        try:
            for _ in range(600):
                if await control.model_ready("embedder"):
                    break
                assert watch.returncode is None
                await asyncio.sleep(0.2)
            config = await control.model_config("embedder")
            assert config.parameters["fingerprint.1"].string_value == tiny_repository.fingerprints["embedder", "1"]
            watch.send_signal(signal.SIGTERM)
            assert await asyncio.wait_for(watch.wait(), 60) == 0
        finally:
            if watch.returncode is None:
                watch.kill()
                await watch.wait()
