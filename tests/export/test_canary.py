"""What the canary sees: errors, slowness, collapse; and what it only reports."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from export.canary import CanaryLimits, CanaryReport, Request, Version, run_canary
from export.serving import Counts, Tensors
from export.spec import EncoderSpec, load_spec
from orchestrator.errors import GateError, ModelError, ModelUnavailableError

QUESTIONS = [f"{left} {right}" for left in "甲乙丙丁" for right in ("报销", "比例", "门诊")]


class FakeServing:
    """Answers in this process: a function a version."""

    address = "here"
    private = False

    def __init__(self, **versions: Any) -> None:
        self.versions = {name.removeprefix("v"): answer for name, answer in versions.items()}

    async def load(self, beside: Sequence[str] = ()) -> None:
        raise NotImplementedError

    async def unload(self) -> None:
        raise NotImplementedError

    async def ready(self) -> tuple[str, ...]:
        raise NotImplementedError

    async def counts(self, version: str) -> Counts:
        raise NotImplementedError

    async def infer(self, version: str, inputs: Tensors, outputs: Sequence[str]) -> Tensors:
        answer = self.versions[version](inputs["input_ids"])
        answer = await answer if asyncio.iscoroutine(answer) else answer
        return dict.fromkeys(outputs, answer)


def vectors(ids: np.ndarray[Any, Any], *, seed: int = 1) -> np.ndarray[Any, Any]:
    table = np.random.default_rng(seed).normal(size=(32, 8))
    mean = table[ids].mean(axis=1)
    return np.asarray(mean / np.linalg.norm(mean, axis=1, keepdims=True), np.float32)


@pytest.fixture
def folder(tiny_checkpoints: Any) -> Path:
    made: Path = tiny_checkpoints.make("any")
    return made


@pytest.fixture
def spec(tiny_checkpoints: Any) -> EncoderSpec:
    found = tiny_checkpoints.spec
    assert isinstance(found, EncoderSpec)
    return found


async def canary(
    spec: EncoderSpec, serving: FakeServing, folder: Path, requests: Sequence[Request] = QUESTIONS
) -> CanaryReport:
    live = Version("1", folder) if "1" in serving.versions else None
    limits = CanaryLimits(rounds=2, p95_ratio=1.5, p95_slack_ms=2)
    return await run_canary(spec, serving, Version("2", folder), live, requests, real=True, limits=limits)


async def test_equal_versions_agree(spec: EncoderSpec, folder: Path) -> None:
    report = await canary(spec, FakeServing(v1=vectors, v2=vectors), folder)
    assert report.agreement["cosine"] == pytest.approx(1)
    assert report.agreement["rank_correlation"] == pytest.approx(1)
    assert report.requests == len(QUESTIONS)
    assert report.live_p95_ms is not None
    assert report.gates["canary.errors"] == 0


async def test_other_vectors_are_reported_and_not_stopped(spec: EncoderSpec, folder: Path) -> None:
    report = await canary(spec, FakeServing(v1=vectors, v2=lambda ids: vectors(ids, seed=5)), folder)
    assert report.agreement["cosine"] < 0.9


async def test_a_first_version_has_nothing_to_be_compared_with(spec: EncoderSpec, folder: Path) -> None:
    report = await canary(spec, FakeServing(v2=vectors), folder)
    assert report.live_p95_ms is None
    assert set(report.agreement) == {"spread"}


async def test_a_collapsed_version_is_stopped(spec: EncoderSpec, folder: Path) -> None:
    serving = FakeServing(v1=vectors, v2=lambda ids: np.full((1, 8), 8**-0.5, np.float32))
    with pytest.raises(GateError, match=r"canary\.spread.*collapsed"):
        await canary(spec, serving, folder)


async def test_an_error_of_the_new_version_is_a_failed_gate(spec: EncoderSpec, folder: Path) -> None:
    def fail(ids: Any) -> Any:
        if 4 in ids:
            raise ModelError("the graph has no such operator.")
        return vectors(ids)

    with pytest.raises(GateError, match=r"canary\.errors.*no such operator"):
        await canary(spec, FakeServing(v1=vectors, v2=fail), folder)
    with pytest.raises(GateError, match=r"canary\.errors.*not finite"):
        await canary(spec, FakeServing(v1=vectors, v2=lambda ids: vectors(ids) * np.nan), folder)


async def test_an_error_of_the_live_version_is_no_verdict(spec: EncoderSpec, folder: Path) -> None:
    def gone(ids: Any) -> Any:
        raise ModelUnavailableError("Triton on here does not answer.")

    with pytest.raises(ModelUnavailableError):
        await canary(spec, FakeServing(v1=gone, v2=vectors), folder)


async def test_a_slow_version_is_stopped(spec: EncoderSpec, folder: Path) -> None:
    async def slow(ids: Any) -> Any:
        await asyncio.sleep(0.05)
        return vectors(ids)

    # A hundred times slower, so that no noise of the machine decides.
    with pytest.raises(GateError, match=r"canary\.p95_ratio failed.* ms against .* ms of the live version"):
        await canary(spec, FakeServing(v1=vectors, v2=slow), folder)


async def test_rerankers_and_routers_are_compared_by_what_they_give(folder: Path, tiny_checkpoints: Any) -> None:
    shapes = {"max_length": 24}
    reranker, router = (load_spec(name).model_copy(update=shapes) for name in ("reranker", "router"))
    assert isinstance(reranker, EncoderSpec)
    assert isinstance(router, EncoderSpec)

    def score(ids: np.ndarray[Any, Any]) -> Any:
        return vectors(ids)[:, :1]

    pairs: list[Request] = [(question, "住院 报销") for question in QUESTIONS]
    report = await canary(reranker, FakeServing(v1=score, v2=lambda ids: 2 * score(ids) + 1), folder, pairs)
    assert report.agreement["score_correlation"] == pytest.approx(1)
    with pytest.raises(GateError, match=r"canary\.spread"):
        await canary(reranker, FakeServing(v1=score, v2=lambda ids: np.zeros((1, 1), np.float32)), folder, pairs)
    report = await canary(router, FakeServing(v1=vectors, v2=vectors), folder)
    assert report.agreement["intent"] == 1
    with pytest.raises(GateError, match=r"canary\.spread"):
        await canary(router, FakeServing(v1=vectors, v2=lambda ids: np.ones((1, 8), np.float32)), folder)
