"""The smallest request that a model can answer, made from its configuration."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt
from tritonclient.grpc import model_config_pb2

from orchestrator.errors import ModelUnavailableError
from orchestrator.inference.control import TritonControl
from orchestrator.inference.failures import BETWEEN_LOADS
from orchestrator.inference.repository import LIVE_PARAMETER, parameter_of
from orchestrator.inference.triton import TYPES, TritonClient

__all__ = ["send_canary"]

HIGHEST_PRIORITY = 1


async def send_canary(
    control: TritonControl, client: TritonClient, model: str, *, timeout_s: float, version: str = ""
) -> float:
    """Have the model answer one small request: all ones, one row, every open dimension of size 1.

    A model that takes strings or streams its answers cannot be asked so; there Triton's own word is all there is.

    Args:
        control: of the Triton.
        client: of the same.
        model: its name.
        timeout_s: of the request.
        version: which one; the live one where empty.

    Returns:
        Milliseconds that the answer took.

    Raises:
        ModelUnavailableError, ModelNotFoundError, ModelError, DeadlineExceededError: it did not answer.
    """
    config = await control.model_config(model, version)
    wanted = version or parameter_of(config, LIVE_PARAMETER)
    started = time.perf_counter()
    inputs = _inputs(config)
    if inputs is None:
        if not await control.model_ready(model, wanted):
            raise ModelUnavailableError(
                f"Model '{model}' on {control.address} is not ready.", metadata={"cause": BETWEEN_LOADS}
            )
    else:
        await client.infer(model, inputs, timeout_s=timeout_s, priority=HIGHEST_PRIORITY, version=wanted)
    return (time.perf_counter() - started) * 1000


def _inputs(config: Any) -> dict[str, npt.NDArray[Any]] | None:
    if config.model_transaction_policy.decoupled:
        return None
    batch = (1,) if config.max_batch_size > 0 else ()
    inputs: dict[str, npt.NDArray[Any]] = {}
    for item in config.input:
        dtype = TYPES.get(model_config_pb2.DataType.Name(item.data_type).removeprefix("TYPE_"))
        if dtype is None:
            return None
        inputs[item.name] = np.ones((*batch, *(max(size, 1) for size in item.dims)), dtype=dtype)
    return inputs
