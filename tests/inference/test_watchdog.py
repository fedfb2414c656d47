"""Killed, hung and vanished models and servers come back by themselves; busy ones are left alone."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytest_asyncio

from orchestrator.errors import ModelUnavailableError
from orchestrator.inference.embedder import TritonEmbedder
from orchestrator.inference.hosts import RemoteTriton
from orchestrator.inference.launcher import TritonServer
from orchestrator.inference.stubs import StubTable
from orchestrator.inference.watchdog import Watchdog
from orchestrator.settings import CanarySettings, InferenceSettings, LauncherSettings

pytestmark = pytest.mark.triton

PATIENCE_S = 90.0
CANARY = CanarySettings(interval_s=0.2, timeout_s=2, failures=2, hang_s=60)


@pytest_asyncio.fixture
async def server(
    tiny_repository: Any, launcher_settings: LauncherSettings, tmp_path: Path
) -> AsyncIterator[TritonServer]:
    tiny_repository.publish()
    async with TritonServer(launcher_settings, repository=tiny_repository.path, data=tmp_path / "data") as running:
        yield running


def patient_embedder(server: TritonServer) -> TritonEmbedder:
    settings = InferenceSettings(
        endpoints={"*": server.grpc_address}, deadline_s=PATIENCE_S, attempts=1000, cache_entries=0
    )
    return TritonEmbedder(settings, server.repository)


def stub_of(server: TritonServer, model: str) -> int:
    """The process that runs the model's Python."""
    children = [
        int(child)
        for task in Path(f"/proc/{server.pid}/task").iterdir()
        for child in (task / "children").read_text().split()
    ]
    instance = f"{model}_0_0".encode()
    found = [pid for pid in children if instance in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")]
    assert len(found) == 1
    return found[0]


async def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, "the condition did not come about in time"
        await asyncio.sleep(0.05)


async def test_a_stub_killed_under_load_is_healed(server: TritonServer) -> None:
    async with patient_embedder(server) as embedder, Watchdog(server, CANARY) as watchdog:
        expected = (await embedder.embed(["甲 乙"], kind="query")).vectors
        healed = asyncio.Event()

        async def ask() -> int:
            count = 0
            while not healed.is_set():
                found = await embedder.embed(["甲 乙"], kind="query")
                assert np.array_equal(found.vectors, expected)
                count += 1
            return count

        callers = [asyncio.ensure_future(ask()) for _ in range(4)]
        await asyncio.sleep(0.2)
        os.kill(stub_of(server, "embedder"), signal.SIGKILL)
        await until(lambda: watchdog.counters.heals == 1)
        healed.set()
        # No caller saw an error: their retries waited for the new stub.
        assert all(await asyncio.gather(*callers))
        await embedder.embed(["丙"], kind="query")
        assert watchdog.counters.restarts == 0


async def test_what_a_heal_replaced_does_not_linger(
    tiny_repository: Any, launcher_settings: LauncherSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.inference.launcher.STALE_STUB_S", 0.5)
    tiny_repository.publish()
    config = tiny_repository.path / "embedder" / "config.pbtxt"
    config.write_text(config.read_text().replace("count: 1", "count: 2"))
    async with TritonServer(launcher_settings, repository=tiny_repository.path, data=tmp_path / "data") as server:
        assert server.pid is not None
        stubs = StubTable(server.pid, server.repository)
        async with patient_embedder(server) as embedder, Watchdog(server, CANARY) as watchdog:
            await embedder.embed(["甲"], kind="query")
            old = stubs.pids_of("embedder")
            assert len(old) == 2
            done = asyncio.Event()

            async def ask() -> None:
                while not done.is_set():
                    await embedder.embed(["甲 乙"], kind="query")

            callers = [asyncio.ensure_future(ask()) for _ in range(4)]
            await asyncio.sleep(0.2)
            # Killed at work, it leaves a request that Triton waits for, and keeps the healthy one with it.
            os.kill(min(old), signal.SIGKILL)
            await until(lambda: watchdog.counters.heals == 1)
            await until(lambda: not old & stubs.pids_of("embedder"))
            assert len(stubs.pids_of("embedder")) == 2
            new = tiny_repository.publish(version="2", seed=2)
            await server.load("embedder")
            while await embedder.fingerprint() != new:
                await asyncio.sleep(0.02)
            done.set()
            await asyncio.gather(*callers)
        # Killing what was left is no crash.
        assert watchdog.counters.heals == 1


async def test_without_a_watchdog_the_error_is_clear(server: TritonServer) -> None:
    settings = InferenceSettings(endpoints={"*": server.grpc_address}, deadline_s=PATIENCE_S, attempts=1)
    async with TritonEmbedder(settings, server.repository) as embedder:
        await embedder.embed(["甲"], kind="query")
        os.kill(stub_of(server, "embedder"), signal.SIGKILL)
        with pytest.raises(ModelUnavailableError, match="has crashed"):
            await embedder.embed(["乙"], kind="query")


async def test_a_killed_server_is_started_again(server: TritonServer) -> None:
    address = server.grpc_address
    async with patient_embedder(server) as embedder, Watchdog(server, CANARY) as watchdog:
        before = await embedder.embed(["甲"], kind="query")
        first = server.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        after = await embedder.embed(["甲"], kind="query")
        assert np.array_equal(before.vectors, after.vectors)
        await until(lambda: watchdog.counters.restarts == 1)
        assert server.grpc_address == address
        assert server.pid != first


async def test_a_hung_stub_is_replaced(server: TritonServer) -> None:
    impatient = CANARY.model_copy(update={"timeout_s": 0.5, "hang_s": 0.5})
    async with patient_embedder(server) as embedder:
        await embedder.embed(["甲"], kind="query")
        os.kill(stub_of(server, "embedder"), signal.SIGSTOP)
        async with Watchdog(server, impatient) as watchdog:
            await until(lambda: watchdog.counters.heals >= 1)
        assert (await embedder.embed(["乙"], kind="query")).vectors.shape == (1, 8)


async def test_a_model_that_somebody_unloaded_is_loaded_again(server: TritonServer) -> None:
    await server.control.unload("embedder")
    remote = RemoteTriton(server.grpc_address, repository=server.repository, models=("embedder",))
    async with Watchdog(remote, CANARY) as watchdog, patient_embedder(server) as embedder:
        await until(lambda: watchdog.counters.heals == 1)
        assert (await embedder.embed(["甲"], kind="query")).vectors.shape == (1, 8)
    await remote.close()


async def test_a_busy_model_is_left_alone(tiny_triton: TritonServer) -> None:
    remote = RemoteTriton(tiny_triton.grpc_address, repository=tiny_triton.repository, models=("slow",))
    # Canaries give up long before the queue in front of them is done.
    hasty = CanarySettings(interval_s=0.1, timeout_s=0.05, failures=1, hang_s=60)
    async with patient_embedder(tiny_triton):
        settings = InferenceSettings(
            endpoints={"*": tiny_triton.grpc_address}, deadline_s=PATIENCE_S, cache_entries=0, max_batch_rows=1
        )
        async with TritonEmbedder(settings, tiny_triton.repository, "slow") as embedder, Watchdog(remote, hasty) as dog:
            await embedder.embed(["甲", "乙", "丙", "丁"] * 2, kind="passage")
            assert dog.counters.canaries > 2
            assert dog.counters.heals == 0
            assert dog.counters.restarts == 0
    await remote.close()
