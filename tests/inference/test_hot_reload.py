"""A new version with another tokenizer goes live under load; nobody gets a vector of mixed making."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytest_asyncio

from orchestrator.errors import FingerprintMismatchError
from orchestrator.inference.embedder import TritonEmbedder
from orchestrator.inference.launcher import TritonServer
from orchestrator.settings import InferenceSettings, LauncherSettings

pytestmark = pytest.mark.triton

PATIENCE_S = 60.0
# Fewer words in another order: ids of the first version's tokenizer mean something else here, or nothing at all.
OTHER_WORDS = ("乙", "passage:", "甲", "query:")


@pytest_asyncio.fixture
async def server(
    tiny_repository: Any, launcher_settings: LauncherSettings, tmp_path: Path
) -> AsyncIterator[TritonServer]:
    tiny_repository.publish(version="1")
    async with TritonServer(launcher_settings, repository=tiny_repository.path, data=tmp_path / "data") as running:
        yield running


def embedder_of(server: TritonServer, **values: object) -> TritonEmbedder:
    tree = {"endpoints": {"*": server.grpc_address}, "deadline_s": PATIENCE_S, **values}
    return TritonEmbedder(InferenceSettings.model_validate(tree), server.repository)


async def test_a_new_version_goes_live_under_load(server: TritonServer, tiny_repository: Any) -> None:
    texts = ["甲 乙", "丙 丁 报销 比例", "住院"]
    async with embedder_of(server, max_batch_rows=1) as embedder:
        first = await embedder.embed(texts, kind="passage")
        cached = await embedder.embed(["甲 乙"], kind="query")
        done = asyncio.Event()
        seen: list[tuple[str, bytes]] = []

        async def ask() -> None:
            while not done.is_set():
                found = await embedder.embed(texts, kind="passage")
                seen.append((found.fingerprint, found.vectors.tobytes()))

        callers = [asyncio.ensure_future(ask()) for _ in range(3)]
        await asyncio.sleep(0.2)
        new = tiny_repository.publish(version="2", words=OTHER_WORDS, seed=2)
        await server.load("embedder")
        while await embedder.fingerprint() != new:
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.2)
        done.set()
        await asyncio.gather(*callers)
        second = await embedder.embed(texts, kind="passage")
        fresh = await embedder.embed(["甲 乙"], kind="query")
    async with embedder_of(server) as other:
        again = await other.embed(texts, kind="passage")
    assert second.fingerprint == new != first.fingerprint
    assert np.array_equal(second.vectors, again.vectors)
    expected = {first.fingerprint: first.vectors.tobytes(), new: second.vectors.tobytes()}
    assert {fingerprint for fingerprint, _ in seen} == set(expected)
    assert all(expected[fingerprint] == vectors for fingerprint, vectors in seen)
    assert fresh.fingerprint == new
    assert not np.array_equal(fresh.vectors, cached.vectors)


async def test_a_version_built_anew_under_its_old_number_is_noticed(server: TritonServer, tiny_repository: Any) -> None:
    async with embedder_of(server) as embedder:
        before = await embedder.embed(["甲"], kind="query")
        new = tiny_repository.publish(version="1", seed=7)
        # Files newer than what is served: refused as soon as it is asked, not guessed at.
        async with embedder_of(server) as late:
            with pytest.raises(FingerprintMismatchError, match="trias triton load embedder"):
                await late.embed(["甲"], kind="query")
        await server.control.unload("embedder")
        await server.load("embedder")
        while (after := await embedder.embed(["甲"], kind="query")).fingerprint != new:
            await asyncio.sleep(0.05)
    assert not np.array_equal(before.vectors, after.vectors)


async def test_a_model_loaded_without_its_fingerprint_is_refused(server: TritonServer) -> None:
    await server.control.unload("embedder")
    await server.control.load("embedder")
    async with embedder_of(server) as embedder:
        with pytest.raises(FingerprintMismatchError, match=r"no parameter 'fingerprint\.1'"):
            await embedder.embed(["甲"], kind="query")
        await server.load("embedder")
        assert (await embedder.embed(["甲"], kind="query")).fingerprint == "tiny-embedder-1-1"
