"""Inference calls to one Triton over grpc.aio: tensors in, tensors out, our errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import grpc
import grpc.aio
import numpy as np
import numpy.typing as npt
from tritonclient.grpc import service_pb2, service_pb2_grpc

from orchestrator.errors import ModelError
from orchestrator.inference.control import open_channel
from orchestrator.inference.failures import as_trias_error

__all__ = ["Inference", "TritonClient"]

# Triton's names for the numeric types; strings (BYTES) have a framing of their own.
TYPES: dict[str, np.dtype[Any]] = {
    "BOOL": np.dtype(np.bool_),
    "UINT8": np.dtype(np.uint8),
    "INT8": np.dtype(np.int8),
    "INT32": np.dtype(np.int32),
    "INT64": np.dtype(np.int64),
    "UINT64": np.dtype(np.uint64),
    "FP16": np.dtype(np.float16),
    "FP32": np.dtype(np.float32),
    "FP64": np.dtype(np.float64),
}
NAMES = {dtype: name for name, dtype in TYPES.items()}
BYTES = "BYTES"
# Before each string of a BYTES tensor stands its length: four bytes, little-endian.
LENGTH_BYTES = 4


@dataclass(frozen=True, slots=True)
class Inference:
    """What a model answered.

    Attributes:
        version: of the model that answered.
        outputs: its tensors by name, read-only.
    """

    version: str
    outputs: dict[str, npt.NDArray[Any]]


class TritonClient:
    """The inference side of one Triton.

    Args:
        address: host:port of its gRPC endpoint.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self._channel = open_channel(address)
        self._stub: Any = service_pb2_grpc.GRPCInferenceServiceStub(self._channel)

    async def close(self) -> None:
        """Close the connection; calls in flight are cancelled."""
        await self._channel.close(None)

    async def infer(
        self,
        model: str,
        inputs: Mapping[str, npt.NDArray[Any]],
        *,
        outputs: Sequence[str] = (),
        timeout_s: float,
        priority: int = 0,
        version: str = "",
    ) -> Inference:
        """Call a model. Cancelling the caller cancels the call, also inside Triton.

        Args:
            model: its name.
            inputs: tensors by name, of numeric types, or of dtype object with ``bytes`` in them (strings, in UTF-8).
            outputs: the tensors wanted; all where empty.
            timeout_s: of the call.
            priority: of the request in the model's queue: 1 is the highest, 0 the model's default.
            version: a certain version; the latest one loaded where empty.

        Raises:
            ModelUnavailableError, ModelNotFoundError, ModelError, DeadlineExceededError: see `as_trias_error`.
        """
        request = service_pb2.ModelInferRequest(model_name=model, model_version=version)
        for name, tensor in inputs.items():
            strings = tensor.dtype == np.object_
            request.inputs.add(name=name, datatype=BYTES if strings else NAMES[tensor.dtype], shape=tensor.shape)
            request.raw_input_contents.append(_framed(tensor) if strings else tensor.tobytes())
        for name in outputs:
            request.outputs.add(name=name)
        if priority:
            request.parameters["priority"].uint64_param = priority
        try:
            reply = await self._stub.ModelInfer(request, timeout=timeout_s)
        except grpc.aio.AioRpcError as error:
            raise as_trias_error(error, model=model, address=self.address) from None
        return Inference(version=reply.model_version, outputs=self._tensors(reply))

    def _tensors(self, reply: Any) -> dict[str, npt.NDArray[Any]]:
        try:
            return {
                output.name: _tensor(content, output.datatype).reshape(tuple(output.shape))
                for output, content in zip(reply.outputs, reply.raw_output_contents, strict=True)
            }
        except (ValueError, KeyError) as error:
            raise ModelError(
                f"Model '{reply.model_name}' on {self.address} answered with tensors that cannot be read: {error}."
            ) from None


def _tensor(content: bytes, datatype: str) -> npt.NDArray[Any]:
    return _strings(content) if datatype == BYTES else np.frombuffer(content, TYPES[datatype])


def _framed(strings: npt.NDArray[Any]) -> bytes:
    return b"".join(len(one).to_bytes(LENGTH_BYTES, "little") + one for one in strings.reshape(-1))


def _strings(content: bytes) -> npt.NDArray[Any]:
    """The strings of a BYTES tensor, as ``bytes``, in one dimension."""
    found: list[bytes] = []
    place = 0
    while place < len(content):
        end = place + LENGTH_BYTES + int.from_bytes(content[place : place + LENGTH_BYTES], "little")
        if end > len(content):
            raise ValueError("a string ends before its length")
        found.append(content[place + LENGTH_BYTES : end])
        place = end
    strings = np.empty(len(found), dtype=np.object_)
    strings[:] = found
    return strings
