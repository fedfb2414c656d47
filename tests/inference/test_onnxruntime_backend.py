"""The Python-based `onnxruntime` backend inside a real tritonserver, called with raw tensors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import pytest_asyncio

from orchestrator.errors import ModelError, ModelNotFoundError
from orchestrator.inference.control import TritonControl
from orchestrator.inference.failures import REJECTED, cause_of
from orchestrator.inference.launcher import TritonServer
from orchestrator.inference.triton import TritonClient

pytestmark = pytest.mark.triton

PATIENCE_S = 60.0
TENSOR = npt.NDArray[Any]


@pytest_asyncio.fixture
async def client(tiny_triton: TritonServer) -> AsyncIterator[TritonClient]:
    connection = TritonClient(tiny_triton.grpc_address)
    yield connection
    await connection.close()


def tensors(ids: list[list[int]], mask: list[list[int]] | None = None) -> dict[str, TENSOR]:
    tokens = np.array(ids, dtype=np.int64)
    return {
        "input_ids": tokens,
        "attention_mask": np.ones_like(tokens) if mask is None else np.array(mask, dtype=np.int64),
    }


async def vectors(client: TritonClient, inputs: dict[str, TENSOR], model: str = "embedder") -> TENSOR:
    return (await client.infer(model, inputs, timeout_s=PATIENCE_S)).outputs["embedding"]


async def test_padding_and_neighbours_change_no_bit(client: TritonClient) -> None:
    alone = await vectors(client, tensors([[0, 6, 7, 2]]))
    padded = await vectors(client, tensors([[0, 6, 7, 2, 1, 1, 1]], [[1, 1, 1, 1, 0, 0, 0]]))
    mixed = await vectors(client, tensors([[0, 9, 9, 9, 2], [0, 6, 7, 2, 13]], [[1] * 5, [1, 1, 1, 1, 0]]))
    assert np.array_equal(alone[0], padded[0])
    assert np.array_equal(alone[0], mixed[1])
    empty = await vectors(client, tensors([[0, 0]], [[0, 0]]))
    assert empty.shape == (1, 8)


@pytest.mark.parametrize("model", ["embedder", "coupled"])
async def test_a_bad_request_does_not_harm_its_neighbours(client: TritonClient, model: str) -> None:
    bad, good = tensors([[0, 999, 2]]), tensors([[0, 6, 2]])
    # The slow first request lets the others gather in the queue and meet in one batch.
    requests = [good, *([good, bad] * 8)]
    outcomes = await asyncio.gather(*(vectors(client, request, model) for request in requests), return_exceptions=True)
    for request, outcome in zip(requests, outcomes, strict=True):
        if request is bad:
            assert isinstance(outcome, ModelError)
            assert cause_of(outcome) == REJECTED
            assert "out of data bounds" in str(outcome)
            assert "Traceback" not in str(outcome)
        else:
            assert isinstance(outcome, np.ndarray)
            assert outcome.shape == (1, 8)


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        (tensors([[0, 6, 2]]) | {"attention_mask": np.ones((1, 3), np.int32)}, "attention_mask"),
        ({"input_ids": np.ones((1, 3), np.int64)}, "attention_mask"),
        (tensors([[0, 6, 2]]) | {"extra": np.ones((1, 3), np.int64)}, "extra"),
        ({"input_ids": np.ones(3, np.int64), "attention_mask": np.ones(3, np.int64)}, "shape"),
        ({"input_ids": np.ones((64, 3), np.int64), "attention_mask": np.ones((64, 3), np.int64)}, "batch-size"),
        ({"input_ids": np.ones((1, 3), np.int64), "attention_mask": np.ones((1, 2), np.int64)}, "attention_mask"),
    ],
)
async def test_tensors_that_do_not_fit_are_named(client: TritonClient, inputs: dict[str, TENSOR], words: str) -> None:
    with pytest.raises(ModelError, match=words) as caught:
        await vectors(client, inputs)
    assert "Traceback" not in str(caught.value)
    assert (await vectors(client, tensors([[0, 6, 2]]))).shape == (1, 8)


async def test_unknown_models_versions_and_outputs(client: TritonClient) -> None:
    inputs = tensors([[0, 6, 2]])
    with pytest.raises(ModelNotFoundError):
        await client.infer("nobody", inputs, timeout_s=PATIENCE_S)
    with pytest.raises(ModelNotFoundError):
        await client.infer("embedder", inputs, version="9", timeout_s=PATIENCE_S)
    with pytest.raises(ModelError, match="no_such_output"):
        await client.infer("embedder", inputs, outputs=("no_such_output",), timeout_s=PATIENCE_S)


async def test_a_config_that_does_not_fit_its_graph_is_refused_at_load(
    tiny_repository: Any, launcher_settings: Any, tmp_path: Path
) -> None:
    tiny_repository.publish("good")
    for model, change in {
        "renamed": ('name: "input_ids"', 'name: "tokens"'),
        "unknown": ('name: "embedding"', 'name: "vector"'),
        "threads": ('string_value: "1"', 'string_value: "many"'),
    }.items():
        tiny_repository.publish(model)
        path = tiny_repository.path / model / "config.pbtxt"
        path.write_text(path.read_text("utf-8").replace(*change), "utf-8")
    server = TritonServer(launcher_settings, repository=tiny_repository.path, data=tmp_path / "data", models=["good"])
    async with server, TritonControl(server.grpc_address) as control:
        for model, words in {
            "renamed": r"lacks inputs \['input_ids'\]",
            "unknown": r"graph lacks outputs \['vector'\]",
            "threads": "intra_op_thread_count must be a whole number",
        }.items():
            with pytest.raises(ModelError, match=words):
                await server.load(model)
        assert await control.model_versions("good") == ("1",)
