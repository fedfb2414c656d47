"""Starting and stopping a real tritonserver, and what can go wrong."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import ConfigurationError, ModelError, ModelUnavailableError
from orchestrator.inference.embedder import TritonEmbedder
from orchestrator.inference.launcher import TritonServer
from orchestrator.inference.shared_memory import SHM_FOLDER, SHM_REGIONS
from orchestrator.settings import InferenceSettings, LauncherSettings

pytestmark = pytest.mark.triton

PATIENCE_S = 60.0


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def regions() -> set[Path]:
    return set(SHM_FOLDER.glob(SHM_REGIONS))


async def test_a_server_starts_answers_and_leaves_nothing_behind(
    tiny_repository: Any, launcher_settings: LauncherSettings, tmp_path: Path
) -> None:
    tiny_repository.publish("embedder")
    tiny_repository.publish("slow", iterations=50_000)
    server = TritonServer(launcher_settings, repository=tiny_repository.path, data=tmp_path / "data")
    with pytest.raises(ModelUnavailableError):
        _ = server.control
    async with server:
        pid = server.pid
        assert pid is not None
        assert server.models == ("embedder", "slow")
        assert await server.control.model_versions("embedder") == ("1",)
        assert len({server.grpc_address, server.http_address, server.metrics_address}) == 3
        _, writer = await asyncio.open_connection(*server.metrics_address.split(":"))
        writer.close()
        mine = {path for path in regions() if str(path) in Path(f"/proc/{pid}/maps").read_text()}
        assert mine
        # What is in flight when the server is told to stop is finished.
        settings = InferenceSettings(endpoints={"*": server.grpc_address}, deadline_s=PATIENCE_S)
        async with TritonEmbedder(settings, tiny_repository.path, "slow") as embedder:
            await embedder.embed(["甲"], kind="passage")
            call = asyncio.ensure_future(embedder.embed(["乙"], kind="passage"))
            await asyncio.sleep(0.05)
            await server.stop()
            assert (await call).vectors.shape == (1, 8)
    assert not alive(pid)
    assert not mine & regions()
    assert "successfully loaded 'embedder'" in server.log_file.read_text("utf-8")
    assert server.pid is None


async def test_a_taken_port_is_named_with_its_setting(
    tiny_repository: Any, launcher_settings: LauncherSettings, tmp_path: Path
) -> None:
    tiny_repository.publish()
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        settings = launcher_settings.model_copy(update={"http_port": port})
        with pytest.raises(ConfigurationError, match=rf"Port {port} .*taken \(launcher\.http_port\)"):
            await TritonServer(settings, repository=tiny_repository.path, data=tmp_path / "data").start()


async def test_a_repository_without_models_says_how_to_make_one(
    launcher_settings: LauncherSettings, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigurationError, match="trias models build"):
        await TritonServer(launcher_settings, repository=tmp_path / "empty", data=tmp_path / "data").start()
    with pytest.raises(ConfigurationError, match="does not exist"):
        await TritonServer(launcher_settings, repository=tmp_path / "nowhere", data=tmp_path / "data").start()


async def test_a_model_that_cannot_be_loaded_ends_the_start(
    tiny_repository: Any, launcher_settings: LauncherSettings, tmp_path: Path
) -> None:
    tiny_repository.publish()
    (tiny_repository.path / "embedder" / "1" / "model.onnx").write_bytes(b"not a graph")
    server = TritonServer(launcher_settings, repository=tiny_repository.path, data=tmp_path / "data")
    with pytest.raises(ModelError, match=r"embedder/1/model\.onnx cannot be opened"):
        await server.start()
    assert not server.running


async def test_a_server_that_ends_at_once_shows_its_last_words(
    launcher_settings: LauncherSettings, tmp_path: Path
) -> None:
    server = TritonServer(
        launcher_settings, repository=tmp_path / "nowhere", data=tmp_path / "data", models=["embedder"]
    )
    with pytest.raises(ConfigurationError, match=r"ended with exit code 1(?s:.*)failed to stat"):
        await server.start()


async def test_a_missing_tritonserver_says_what_to_install(
    tiny_repository: Any, launcher_settings: LauncherSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_repository.publish()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match=r"pip install 'trias\[local\]'"):
        await TritonServer(launcher_settings, repository=tiny_repository.path, data=tmp_path / "data").start()


async def test_a_cancelled_start_leaves_no_process(
    tiny_repository: Any, launcher_settings: LauncherSettings, tmp_path: Path
) -> None:
    tiny_repository.publish()
    server = TritonServer(launcher_settings, repository=tiny_repository.path, data=tmp_path / "data")
    start = asyncio.ensure_future(server.start())
    while server.pid is None:
        await asyncio.sleep(0.01)
    pid = server.pid
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await start
    assert not alive(pid)


async def test_it_dies_with_a_parent_that_is_killed(tiny_repository: Any, tmp_path: Path) -> None:
    tiny_repository.publish()
    script = f"""
import asyncio
from pathlib import Path
from orchestrator.inference.launcher import TritonServer
from orchestrator.settings import LauncherSettings

async def main():
    settings = LauncherSettings(grpc_port=0, http_port=0, metrics_port=0, start_timeout_s=120)
    repository, data = Path({str(tiny_repository.path)!r}), Path({str(tmp_path)!r})
    async with TritonServer(settings, repository=repository, data=data) as it:
        print(it.pid, flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", script, stdout=asyncio.subprocess.PIPE)
    assert parent.stdout is not None
    pid = int(await parent.stdout.readline())
    assert alive(pid)
    os.kill(parent.pid, signal.SIGKILL)
    await parent.wait()
    end = time.monotonic() + PATIENCE_S
    while alive(pid) and time.monotonic() < end:
        await asyncio.sleep(0.1)
    assert not alive(pid)
