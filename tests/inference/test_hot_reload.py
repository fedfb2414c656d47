"""A new version with another tokenizer goes live under load; nobody gets a vector of mixed making."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytest_asyncio

from orchestrator.errors import FingerprintMismatchError, ModelNotFoundError
from orchestrator.inference.embedder import TritonEmbedder
from orchestrator.inference.launcher import TritonServer
from orchestrator.inference.repository import served_config
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


async def test_promotion_and_rollback_fail_nobody(server: TritonServer, tiny_repository: Any) -> None:
    first = tiny_repository.fingerprints["embedder", "1"]
    second = tiny_repository.publish(version="2", words=OTHER_WORDS, seed=2)
    pointer = tiny_repository.path / "embedder" / "live.json"
    texts = ["甲 乙", "丙 丁 报销 比例"]
    async with embedder_of(server, max_batch_rows=1) as embedder:
        done = asyncio.Event()
        seen: list[list[str]] = []

        async def ask() -> None:
            mine: list[str] = []
            seen.append(mine)
            while not done.is_set():
                mine.append((await embedder.embed(texts, kind="passage")).fingerprint)

        async def switch(live: str, *, beside: str) -> None:
            pointer.write_text(f'{{"live": "{live}"}}')
            await server.control.load("embedder", config=served_config(server.repository, "embedder", beside=[beside]))
            await server.load("embedder")  # without the old one, while callers still use it

        pointer.write_text('{"live": "1"}')
        callers = [asyncio.ensure_future(ask()) for _ in range(8)]
        await asyncio.sleep(0.2)
        # Loaded beside, the new one is met by nobody who does not ask for it.
        await server.control.load("embedder", config=served_config(server.repository, "embedder", beside=["2"]))
        assert await server.control.model_versions("embedder") == ("1", "2")
        for _ in range(20):
            assert (await embedder.embed(texts, kind="passage")).fingerprint == first
        assert (await embedder.embed(texts, kind="passage", fingerprint=second)).fingerprint == second
        for live, beside, fingerprint in (("2", "1", second), ("1", "2", first)):
            await switch(live, beside=beside)
            while await embedder.fingerprint() != fingerprint:
                await asyncio.sleep(0.02)
            await asyncio.sleep(0.2)
            assert await server.control.model_versions("embedder") == (live,)
        done.set()
        await asyncio.gather(*callers)
    for mine in seen:
        assert mine[0] == mine[-1] == first
        # Each caller went there and back once: no request of one embedder falls back to an older answer.
        changes = [pair for pair in itertools.pairwise(mine) if pair[0] != pair[1]]
        assert changes == [(first, second), (second, first)]


async def test_an_index_decides_which_version_answers(server: TritonServer, tiny_repository: Any) -> None:
    first = tiny_repository.fingerprints["embedder", "1"]
    second = tiny_repository.publish(version="2", words=OTHER_WORDS, seed=2)
    (tiny_repository.path / "embedder" / "live.json").write_text('{"live": "1", "candidate": "2"}')
    await server.load("embedder")
    async with embedder_of(server) as embedder:
        assert await embedder.fingerprint() == first
        live = await embedder.embed(["甲 乙"], kind="query")
        candidate = await embedder.embed(["甲 乙"], kind="query", fingerprint=second)
        embedder.follow(second)
        assert await embedder.fingerprint() == second
        followed = await embedder.embed(["甲 乙"], kind="query")
        assert (followed.fingerprint, followed.model_ms) == (second, 0)
        assert np.array_equal(followed.vectors, candidate.vectors)
        again = await embedder.embed(["甲 乙"], kind="query", fingerprint=first)
        assert np.array_equal(again.vectors, live.vectors)
        embedder.follow(None)
        assert (await embedder.embed(["甲 乙"], kind="query")).fingerprint == first
        with pytest.raises(ModelNotFoundError, match=r"No version of model 'embedder'.*has the fingerprint somebody-s"):
            await embedder.embed(["甲 乙"], kind="query", fingerprint="somebody-s", timeout_s=1)


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
