"""The embedder, against a real tritonserver with tiny models."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import numpy as np
import pytest

from orchestrator.errors import (
    ConfigurationError,
    DeadlineExceededError,
    FingerprintMismatchError,
    ModelNotFoundError,
    ModelUnavailableError,
)
from orchestrator.inference.control import TritonControl
from orchestrator.inference.embedder import TritonEmbedder, endpoint_of
from orchestrator.inference.launcher import TritonServer
from orchestrator.inference.models import TextKind
from orchestrator.settings import InferenceSettings

pytestmark = pytest.mark.triton

GENEROUS_S = 60.0
KINDS: tuple[TextKind, ...] = ("query", "passage")


def settings_for(server: TritonServer, **values: object) -> InferenceSettings:
    tree = {"endpoints": {"*": server.grpc_address}, "deadline_s": GENEROUS_S, **values}
    return InferenceSettings.model_validate(tree)


async def test_vectors_are_unit_rows_in_the_order_of_the_texts(tiny_triton: TritonServer) -> None:
    texts = ["甲 乙 丙", "甲", "报销 比例", "", "住院 " * 200, "甲 乙"]
    async with TritonEmbedder(settings_for(tiny_triton, max_batch_rows=2), tiny_triton.repository) as embedder:
        together = await embedder.embed(texts, kind="passage")
        alone = [(await embedder.embed([text], kind="passage")).vectors[0] for text in texts]
        assert together.fingerprint == await embedder.fingerprint() == "tiny-embedder-1-1"
    assert together.vectors.shape == (6, 8)
    assert together.vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(together.vectors, axis=1), 1, rtol=1e-5)
    # Bit by bit: rows run alone, whatever they travel with.
    assert np.array_equal(together.vectors, np.stack(alone))
    assert len({row.tobytes() for row in together.vectors}) == 6


async def test_a_graph_that_mixes_rows_shows_why_rows_run_alone(tiny_triton: TritonServer) -> None:
    texts = ["甲", "乙", "报销 比例 门诊 住院"]
    async with TritonEmbedder(settings_for(tiny_triton), tiny_triton.repository, "coupled") as coupled:
        together = await coupled.embed(texts, kind="passage")
        alone = [(await coupled.embed([text], kind="passage")).vectors[0] for text in texts]
    assert not np.array_equal(together.vectors, np.stack(alone))


async def test_kinds_have_their_own_prefix(tiny_triton: TritonServer) -> None:
    async with TritonEmbedder(settings_for(tiny_triton), tiny_triton.repository) as embedder:
        query = await embedder.embed(["甲 乙"], kind="query")
        passage = await embedder.embed(["甲 乙"], kind="passage")
    assert not np.array_equal(query.vectors, passage.vectors)


async def test_no_texts_give_no_rows(tiny_triton: TritonServer) -> None:
    async with TritonEmbedder(settings_for(tiny_triton), tiny_triton.repository) as embedder:
        for kind in KINDS:
            assert (await embedder.embed([], kind=kind)).vectors.shape == (0, 8)
        with pytest.raises(TypeError, match="sequence of texts"):
            await embedder.embed("甲", kind="query")


async def test_hostile_texts_are_embedded_like_others(tiny_triton: TritonServer) -> None:
    texts = ["\ud800 甲", "\x00", "</s> <pad> 甲", "甲" * 1_000_000, "🤯" * 5000]
    async with TritonEmbedder(settings_for(tiny_triton), tiny_triton.repository) as embedder:
        found = await embedder.embed(texts, kind="passage")
    assert np.isfinite(found.vectors).all()


async def test_repeated_queries_come_from_memory(tiny_triton: TritonServer) -> None:
    async with (
        TritonEmbedder(settings_for(tiny_triton), tiny_triton.repository, "slow") as embedder,
        TritonControl(tiny_triton.grpc_address) as control,
    ):
        before = (await control.statistics("slow")).succeeded
        first, twin = await asyncio.gather(*(embedder.embed(["丙 丁"], kind="query") for _ in range(2)))
        again = await embedder.embed(["丙 丁", "丙 丁"], kind="query")
        # Triton counts a request a moment after it has answered it.
        while not (after := (await control.statistics("slow")).succeeded - before):
            await asyncio.sleep(0.02)
    assert after == 1
    assert np.array_equal(first.vectors, twin.vectors)
    assert np.array_equal(again.vectors, np.repeat(first.vectors, 2, axis=0))
    assert again.model_ms == 0
    assert first.model_ms > 0


async def test_a_waiter_that_gives_up_does_not_take_the_answer_from_another(tiny_triton: TritonServer) -> None:
    async with TritonEmbedder(settings_for(tiny_triton), tiny_triton.repository, "slow") as embedder:
        await embedder.fingerprint()
        hasty = asyncio.ensure_future(embedder.embed(["甲 丁"], kind="query"))
        await asyncio.sleep(0.05)
        patient = asyncio.ensure_future(embedder.embed(["甲 丁"], kind="query"))
        await asyncio.sleep(0)
        hasty.cancel()
        with pytest.raises(asyncio.CancelledError):
            await hasty
        assert (await patient).vectors.shape == (1, 8)


async def test_a_deadline_ends_the_call(tiny_triton: TritonServer) -> None:
    async with TritonEmbedder(settings_for(tiny_triton), tiny_triton.repository, "slow") as embedder:
        await embedder.fingerprint()
        for kind in KINDS:
            with pytest.raises(DeadlineExceededError):
                await embedder.embed(["乙 丁"], kind=kind, timeout_s=0.05)
        assert (await embedder.embed(["乙 丁"], kind="query")).vectors.shape == (1, 8)


async def test_cancelling_reaches_triton(tiny_triton: TritonServer) -> None:
    async with (
        TritonEmbedder(settings_for(tiny_triton), tiny_triton.repository, "slow") as embedder,
        TritonControl(tiny_triton.grpc_address) as control,
    ):
        await embedder.embed(["甲"], kind="passage")
        before = await control.statistics("slow")
        calls = [asyncio.ensure_future(embedder.embed(["甲"], kind="passage")) for _ in range(12)]
        await asyncio.sleep(0.1)
        for call in calls:
            call.cancel()
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        assert all(isinstance(outcome, asyncio.CancelledError) for outcome in outcomes)
        await embedder.embed(["乙"], kind="passage")
        after = await control.statistics("slow")
    # The one that ran when we cancelled may have been finished; the queued ones were dropped.
    assert after.succeeded - before.succeeded < 6


async def test_many_callers_at_once(tiny_triton: TritonServer) -> None:
    texts = [f"{left} {right}" for left in "甲乙丙丁" for right in ("报销", "比例", "门诊", "住院")]
    async with TritonEmbedder(settings_for(tiny_triton), tiny_triton.repository) as embedder:
        found = await asyncio.gather(*(embedder.embed([text], kind="query") for text in texts * 8))
        expected = await embedder.embed(texts * 8, kind="query")
    assert np.array_equal(np.concatenate([item.vectors for item in found]), expected.vectors)


async def test_more_rows_than_the_model_takes_are_split(tiny_triton: TritonServer) -> None:
    settings = settings_for(tiny_triton, max_batch_rows=1000, max_batch_tokens=1_000_000)
    async with TritonEmbedder(settings, tiny_triton.repository) as embedder:
        found = await embedder.embed(["甲 乙"] * 100, kind="passage")
    assert found.vectors.shape == (100, 8)
    assert np.array_equal(found.vectors, np.repeat(found.vectors[:1], 100, axis=0))


async def test_an_unknown_model_and_a_missing_triton(tiny_triton: TritonServer) -> None:
    async with TritonEmbedder(settings_for(tiny_triton), tiny_triton.repository, "nobody") as embedder:
        with pytest.raises(ModelNotFoundError, match="'nobody'"):
            await embedder.embed(["甲"], kind="query")
    nowhere = InferenceSettings(endpoints={"*": "127.0.0.1:1"}, attempts=2)
    async with TritonEmbedder(nowhere, tiny_triton.repository) as embedder:
        with pytest.raises(ModelUnavailableError, match="Is Triton running"):
            await embedder.embed(["甲"], kind="query")


async def test_other_files_than_the_served_ones_are_refused(tiny_triton: TritonServer, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(tiny_triton.repository, other)
    manifest = other / "embedder" / "1" / "manifest.json"
    manifest.write_text(manifest.read_text("utf-8").replace("tiny-embedder-1-1", "someone-elses"), "utf-8")
    async with TritonEmbedder(settings_for(tiny_triton), other) as embedder:
        with pytest.raises(FingerprintMismatchError, match=r"serves tiny-embedder-1-1.*holds someone-elses"):
            await embedder.embed(["甲"], kind="query")
        manifest.unlink()
        with pytest.raises(ModelNotFoundError, match=r"manifest\.json"):
            await embedder.embed(["甲"], kind="query")


def test_the_endpoint_of_a_model() -> None:
    settings = InferenceSettings(endpoints={"*": "a:1", "reranker": "b:2"})
    assert endpoint_of(settings, "embedder") == "a:1"
    assert endpoint_of(settings, "reranker") == "b:2"
    with pytest.raises(ConfigurationError, match=r"inference\.endpoints"):
        endpoint_of(InferenceSettings(endpoints={"reranker": "b:2"}), "embedder")
