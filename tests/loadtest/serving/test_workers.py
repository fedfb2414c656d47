"""Real worker processes on a real Triton with tiny models."""

from __future__ import annotations

import importlib.util
import io
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import pytest_asyncio
from rich.console import Console

from loadtest.serving.loads import Load
from loadtest.serving.material import Material, Texts, own_texts, prepare
from loadtest.serving.systems import INSTALL, OURS, System
from loadtest.serving.workers import BenchError, Skipped, Worker, available_cores, on_cores
from loadtest.serving_bench import measure
from orchestrator.errors import ConfigurationError
from orchestrator.inference.launcher import TritonServer
from orchestrator.settings import PathSettings

TEXTS = Texts(("甲 报销 门诊", "乙 比例", "丙"), ("住院 报销 比例 甲", "门诊 乙", "丁 住院"))
LOADS = (Load("query", "query", batch=1, callers=2), Load("passages", "passage", batch=3, callers=1))
OPTIONS = {"prefixes": {"query": "query: ", "passage": "passage: "}, "max_length": 24, "output": "embedding"}
Start = Callable[[System], Any]


@pytest_asyncio.fixture
async def start(tmp_path: Path) -> AsyncIterator[Start]:
    async with AsyncExitStack() as stack:

        async def begin(system: System) -> Worker:
            worker = await Worker.start(system, TEXTS, threads=2, logs=tmp_path)
            stack.push_async_callback(worker.end)
            return worker

        yield begin


def graph_of(server: TritonServer, model: str, floor: float = 0.5) -> System:
    version = server.repository / model / "1"
    options = {**OPTIONS, "graph": str(version / "model.onnx"), "tokenizer": str(version / "tokenizer.json")}
    return System("graph", "graph", Path(sys.executable), options, floor)


def served(server: TritonServer) -> System:
    options = {"address": server.grpc_address, "repository": str(server.repository)}
    return System(OURS, "triton", Path(sys.executable), options, 0.5)


async def reference_of(worker: Worker) -> Material:
    """As if the checkpoint were what ``worker`` runs."""
    for load in LOADS:
        await worker.choose(load, 0)
    reference = {load.kind: await worker.embed(load, TEXTS.compared[load.kind]) for load in LOADS}
    nowhere = Path("/nonexistent")
    return Material(nowhere, cast("Any", None), nowhere, nowhere, reference)


@pytest.mark.triton
async def test_systems_are_timed_in_turn_after_a_look_at_their_vectors(tiny_triton: TritonServer, start: Start) -> None:
    ours, other = await start(served(tiny_triton)), await start(graph_of(tiny_triton, "embedder"))
    material = await reference_of(ours)
    console = Console(file=io.StringIO())
    found = await measure(
        [ours, other], TEXTS, material, rounds=2, seconds=0.05, loads=LOADS, choosing=0.05, console=console
    )
    assert found.agreements[OURS].worst == pytest.approx(1)
    assert found.agreements["graph"].worst > 0.9  # its padded batches lean on each other, and may be the quickest
    for load in LOADS:
        assert [list(one) for one in found.rounds[load.name]] == [[OURS, "graph"]] * 2
        assert found.ratios(load.name)["graph"].median > 0
    assert found.cores == 2
    assert found.libraries["graph"]["onnxruntime"]
    assert found.ways[OURS]["query"] == "as served"


@pytest.mark.triton
async def test_another_model_is_not_timed(tiny_triton: TritonServer, start: Start) -> None:
    worker = await start(graph_of(tiny_triton, "embedder", floor=0.9))
    material = await reference_of(worker)
    opposite = {kind: -vectors for kind, vectors in material.reference.items()}
    wrong = Material(material.version, material.manifest, material.checkpoint, material.graph, opposite)
    with pytest.raises(BenchError, match=r"graph computes something else.*-1\.0"):
        await measure(
            [worker], TEXTS, wrong, rounds=1, seconds=0, loads=LOADS, choosing=0, console=Console(file=io.StringIO())
        )


@pytest.mark.triton
async def test_rows_come_back_in_their_order(tiny_triton: TritonServer, start: Start) -> None:
    worker = await start(graph_of(tiny_triton, "embedder"))
    await worker.choose(LOADS[0], 0)
    await worker.choose(LOADS[1], 0)
    texts = list(TEXTS.passages)
    together = await worker.embed(LOADS[1], texts)
    alone = np.concatenate([await worker.embed(LOADS[1], [text]) for text in texts])
    assert (together @ alone.T).argmax(axis=1).tolist() == [0, 1, 2]


async def test_an_environment_that_is_not_there_is_left_out(start: Start) -> None:
    system = System("infinity", "infinity", Path("/nonexistent/python"), {}, 1.0)
    with pytest.raises(Skipped, match=f"^infinity: /nonexistent/python does not exist; install it: {INSTALL}$"):
        await start(system)


@pytest.mark.skipif(importlib.util.find_spec("sentence_transformers") is not None, reason="it is installed here")
async def test_a_library_that_is_not_there_is_left_out(start: Start) -> None:
    system = System("rival", "sentence-transformers", Path(sys.executable), {"checkpoint": "", "prefixes": {}}, 1.0)
    with pytest.raises(Skipped, match=f"^rival: sentence_transformers is not installed; install it: {INSTALL}$"):
        await start(system)


async def test_a_system_that_cannot_open_is_an_error_with_its_reason(tmp_path: Path, start: Start) -> None:
    options = {**OPTIONS, "graph": str(tmp_path / "none.onnx"), "tokenizer": str(tmp_path / "none.json")}
    with pytest.raises(BenchError, match=r"graph failed: .*graph\.log"):
        await start(System("graph", "graph", Path(sys.executable), options, 1.0))


def test_what_is_started_stays_on_the_cores() -> None:
    before = os.sched_getaffinity(0)
    asked = [sys.executable, "-c", "import os; print(len(os.sched_getaffinity(0)))"]
    with on_cores(1):
        assert available_cores() == 1
        assert subprocess.run(asked, capture_output=True, check=True).stdout.strip() == b"1"
    assert os.sched_getaffinity(0) == before


def test_the_repository_s_own_texts_fill_the_loads() -> None:
    texts = own_texts()
    assert len(texts.passages) >= 32
    assert len(texts.queries) == len(set(texts.queries)) >= 8  # callers never ask the same at the same time


def test_a_repository_without_the_embedder_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="trias models build"):
        prepare(tmp_path, tmp_path, tmp_path, TEXTS)


def test_another_checkpoint_than_the_live_version_s_is_refused(tmp_path: Path) -> None:
    paths = PathSettings()
    if not any((paths.model_repository / "embedder").glob("[0-9]*/model.onnx")):
        pytest.skip("the embedder is not built; run: trias models build")
    with pytest.raises(ConfigurationError, match="--checkpoint"):
        prepare(paths.model_repository, paths.data, tmp_path, TEXTS, checkpoint=tmp_path)
