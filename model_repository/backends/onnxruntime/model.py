"""The `onnxruntime` backend for machines without NVIDIA's native one: a Python-based backend of the same name.

It runs inside Triton's Python stub on `<model>/<version>/model.onnx` with the CPU execution provider, so one
`config.pbtxt` serves both worlds. Parameters that it reads (the first two are the native backend's own):

* `intra_op_thread_count`, `inter_op_thread_count`: threads of one run; 0 leaves the choice to onnxruntime.
* `row_wise`: "true" runs each row alone, cut to the length that its attention mask says. Padding and neighbours
  then cannot touch a row's result, not by one bit; dynamically quantised graphs need that, since their scales are
  taken over all that is in the batch. What an output holds for padding is then zero.

An error concerns one request only and says in one line what is wrong; the other requests of the batch are served.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
import triton_python_backend_utils as pb_utils

__all__ = ["TritonPythonModel"]

MODEL_FILE = "model.onnx"
MASK = "attention_mask"
# Inputs that hold something for each token that the mask covers.
TOKENS = ("input_ids", "token_type_ids")
# onnxruntime appends its source location and operator dumps to messages; a client needs the first line.
MAX_ERROR_CHARS = 400

Tensors = dict[str, np.ndarray]


class _CancelledError(Exception):
    """The client no longer waits for the answer."""


class TritonPythonModel:
    """One instance of one version of a model. Triton calls the three methods."""

    def initialize(self, args: Mapping[str, str]) -> None:
        """Open the graph; what Triton tells about the model is in ``args``."""
        config = json.loads(args["model_config"])
        parameters = {key: value["string_value"] for key, value in config.get("parameters", {}).items()}
        path = Path(args["model_repository"]) / args["model_version"] / MODEL_FILE
        if not path.is_file():
            raise pb_utils.TritonModelException(f"{path} does not exist; build or export the model first")
        options = ort.SessionOptions()
        options.intra_op_num_threads = _count(parameters, "intra_op_thread_count")
        options.inter_op_num_threads = _count(parameters, "inter_op_thread_count")
        # Idle threads that spin would take the cores from the other models and from the orchestrator.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            self._session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise pb_utils.TritonModelException(f"{path} cannot be opened: {_one_line(error)}") from None
        self._inputs = [node.name for node in self._session.get_inputs()]
        self._outputs = [output["name"] for output in config["output"]]
        # A size that the graph leaves open, other than the number of rows, is that of the text.
        self._per_token = {
            node.name for node in self._session.get_outputs() if any(isinstance(size, str) for size in node.shape[1:2])
        }
        self._batched = config.get("max_batch_size", 0) > 0
        self._row_wise = parameters.get("row_wise", "false").lower() == "true"
        self._check_names(path, {item["name"] for item in config["input"]})

    def execute(self, requests: Sequence[Any]) -> list[Any]:
        """Answer each request: with its output tensors or with its own error."""
        responses: list[Any] = [None] * len(requests)
        groups: dict[Any, list[tuple[int, Tensors]]] = defaultdict(list)
        for place, request in enumerate(requests):
            try:
                tensors = self._tensors_of(request)
            except Exception as error:
                responses[place] = _failure(error)
                continue
            # Only requests of equal row shape can share a run; by row, each request is a group of its own.
            alone = self._row_wise or not self._batched
            groups[place if alone else self._row_shape(tensors)].append((place, tensors))
        for members in groups.values():
            self._answer(members, requests, responses)
        return responses

    def finalize(self) -> None:
        """Release the graph."""
        del self._session

    def _answer(self, members: list[tuple[int, Tensors]], requests: Sequence[Any], responses: list[Any]) -> None:
        if len(members) > 1:
            try:
                rows = [len(tensors[self._inputs[0]]) for _, tensors in members]
                joined = {name: np.concatenate([tensors[name] for _, tensors in members]) for name in self._inputs}
                parts = [np.split(output, np.cumsum(rows)[:-1]) for output in self._run(joined)]
            except Exception:
                # One of them spoils the run: each alone finds out which, and the rest are served.
                pb_utils.Logger.log_warn(f"a batch of {len(members)} requests failed; running them one by one")
            else:
                for index, (place, _) in enumerate(members):
                    responses[place] = self._response([part[index] for part in parts])
                return
        for place, tensors in members:
            try:
                outputs = self._run_rows(tensors, requests[place]) if self._row_wise else self._run(tensors)
                responses[place] = self._response(outputs)
            except Exception as error:
                responses[place] = _failure(error)

    def _run(self, tensors: Tensors) -> list[np.ndarray]:
        return self._session.run(self._outputs, tensors)

    def _run_rows(self, tensors: Tensors, request: Any) -> list[np.ndarray]:
        mask = tensors[MASK]
        results = []
        for row in range(len(mask)):
            if row and request.is_cancelled():
                raise _CancelledError
            tokens = np.flatnonzero(mask[row])
            length = int(tokens[-1]) + 1 if len(tokens) else 1
            alone = {
                name: tensor[row : row + 1, :length] if tensor.shape == mask.shape else tensor[row : row + 1]
                for name, tensor in tensors.items()
            }
            results.append(self._padded(self._run(alone), mask.shape[1] - length))
        return [np.concatenate(column) for column in zip(*results, strict=True)]

    def _padded(self, outputs: list[np.ndarray], missing: int) -> list[np.ndarray]:
        """Give outputs that hold something for each token as many places as the request has; the rest are zero."""
        if not missing:
            return outputs
        return [
            np.pad(output, [(0, 0), (0, missing), *[(0, 0)] * (output.ndim - 2)]) if name in self._per_token else output
            for name, output in zip(self._outputs, outputs, strict=True)
        ]

    def _tensors_of(self, request: Any) -> Tensors:
        if request.is_cancelled():
            raise _CancelledError
        tensors = {}
        for name in self._inputs:
            tensor = pb_utils.get_input_tensor_by_name(request, name)
            if tensor is None:
                raise ValueError(f"input '{name}' is missing")
            tensors[name] = tensor.as_numpy()
        rows = {name: len(tensor) for name, tensor in tensors.items()}
        if self._batched and len(set(rows.values())) > 1:
            raise ValueError(f"inputs disagree on the number of rows: {rows}")
        if self._row_wise:
            shape = tensors[MASK].shape
            unlike = [name for name in TOKENS if name in tensors and tensors[name].shape != shape]
            if len(shape) != 2 or unlike:
                raise ValueError(f"'{MASK}' has the shape {list(shape)}; {unlike or 'it'} must have [rows, length] too")
        return tensors

    def _row_shape(self, tensors: Tensors) -> tuple[tuple[int, ...], ...]:
        return tuple(tensors[name].shape[1:] for name in self._inputs)

    def _response(self, outputs: Sequence[np.ndarray]) -> Any:
        return pb_utils.InferenceResponse(
            output_tensors=[
                pb_utils.Tensor(name, np.ascontiguousarray(output))
                for name, output in zip(self._outputs, outputs, strict=True)
            ]
        )

    def _check_names(self, path: Path, configured: set[str]) -> None:
        """Say at load what would otherwise fail at each call."""
        graph_outputs = {node.name for node in self._session.get_outputs()}
        missing = [name for name in self._inputs if name not in configured]
        unknown = [name for name in self._outputs if name not in graph_outputs]
        if missing or unknown:
            raise pb_utils.TritonModelException(
                f"config.pbtxt does not fit {path}: it lacks inputs {missing}, the graph lacks outputs {unknown}"
            )
        if self._row_wise and (MASK not in self._inputs or not self._batched):
            raise pb_utils.TritonModelException(f"row_wise needs an input '{MASK}' and max_batch_size above 0")


def _count(parameters: Mapping[str, str], name: str) -> int:
    value = parameters.get(name, "0")
    if not value.isdigit():
        raise pb_utils.TritonModelException(f"parameter {name} must be a whole number, not '{value}'")
    return int(value)


def _one_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:MAX_ERROR_CHARS]


def _failure(error: Exception) -> Any:
    if isinstance(error, _CancelledError):
        detail = pb_utils.TritonError("the request was cancelled", pb_utils.TritonError.CANCELLED)
    else:
        # The shapes and types fit the config (Triton has checked), so it is the content that the graph rejects.
        detail = pb_utils.TritonError(_one_line(error), pb_utils.TritonError.INVALID_ARG)
    return pb_utils.InferenceResponse(output_tensors=[], error=detail)
