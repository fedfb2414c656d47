"""Runs torch modules and ONNX graphs on the same token ids, one row at a time, for the gates to compare."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from export.probes import AWKWARD, PASSAGES, QUERIES
from export.spec import EncoderSpec, RerankerSpec, RouterSpec

if TYPE_CHECKING:
    import torch
    from tokenizers import Tokenizer

__all__ = [
    "Outputs",
    "Rows",
    "Vectors",
    "encode",
    "onnx_outputs",
    "onnx_vectors",
    "probe_rows",
    "prompts",
    "torch_outputs",
]

Vectors = npt.NDArray[np.float32]
Rows = Sequence[npt.NDArray[np.int64]]  # each of shape [1, L]
Outputs = dict[str, list[Vectors]]  # by role, one array a row, without the axis of rows
# Which passages each question is paired with: its own and three others, so that a build stays quick.
STEPS = (0, 1, 3, 7)


def prompts(spec: EncoderSpec) -> list[str] | list[tuple[str, str]]:
    """The probes as the model is given them: texts under the spec's prefixes, or pairs of every question and passage.

    For an embedder: the questions, then the passages, then awkward texts as passages.
    """
    query, passage = spec.prefixes.get("query", ""), spec.prefixes.get("passage", "")
    if isinstance(spec, RerankerSpec):
        return [
            (query + left, passage + PASSAGES[(place + step) % len(PASSAGES)])
            for place, left in enumerate(QUERIES)
            for step in STEPS
        ]
    if isinstance(spec, RouterSpec):
        return [query + text for text in (*QUERIES, *AWKWARD)]
    return [query + text for text in QUERIES] + [passage + text for text in (*PASSAGES, *AWKWARD)]


def probe_rows(spec: EncoderSpec, tokenizer: Tokenizer) -> Rows:
    """Token ids of `prompts`, cut to the model's length."""
    return encode(tokenizer, prompts(spec), spec.max_length)


def encode(tokenizer: Tokenizer, texts: Sequence[str] | Sequence[tuple[str, str]], max_length: int) -> Rows:
    """Token ids of texts or pairs; int64, each of shape [1, L]."""
    tokenizer.enable_truncation(max_length)
    try:
        given: list[Any] = [(text,) if isinstance(text, str) else text for text in texts]
        return [np.asarray([tokenizer.encode(*text).ids], np.int64) for text in given]
    finally:
        tokenizer.no_truncation()


def torch_outputs(module: torch.nn.Module, rows: Rows, roles: Sequence[str]) -> Outputs:
    """The outputs of a module of `export.heads`; ``roles`` in the order in which it returns them."""
    import torch  # noqa: PLC0415

    threads = torch.get_num_threads()

    def run(ids: npt.NDArray[np.int64]) -> Sequence[Any]:
        with torch.inference_mode():
            row = torch.from_numpy(ids)
            found = module(row, torch.ones_like(row))
            return [output.numpy() for output in (found if isinstance(found, tuple) else (found,))]

    torch.set_num_threads(1)  # two collapse beside another busy process, and one is fast enough
    try:
        return _by_role(run, rows, roles)
    finally:
        torch.set_num_threads(threads)


def onnx_outputs(path: Path, rows: Rows, outputs: Mapping[str, str]) -> Outputs:
    """The outputs (role → tensor) of a graph, by onnxruntime on CPU."""
    import onnxruntime  # noqa: PLC0415

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def run(ids: npt.NDArray[np.int64]) -> Sequence[Any]:
        feed: Mapping[str, Any] = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        found: Sequence[Any] = session.run(list(outputs.values()), feed)
        return found

    return _by_role(run, rows, list(outputs))


def onnx_vectors(path: Path, tokenizer: Tokenizer, texts: Sequence[str], max_length: int) -> Vectors:
    """An embedder's dense vectors of texts, one at a time; float32, shape [len(texts), hidden]."""
    rows = encode(tokenizer, texts, max_length)
    return np.stack(onnx_outputs(path, rows, {"dense": "dense"})["dense"])


def _by_role(run: Callable[[npt.NDArray[np.int64]], Sequence[Any]], rows: Rows, roles: Sequence[str]) -> Outputs:
    found: Outputs = {role: [] for role in roles}
    for row in rows:
        for role, output in zip(roles, run(row), strict=True):
            found[role].append(np.asarray(output, np.float32)[0])
    return found
