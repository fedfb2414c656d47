"""Vectors of a whole corpus, quickly: the encoder as a quantised graph, batches of like length, in this process."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from finetune.layers import grouped_by_length

if TYPE_CHECKING:
    from transformers import BertModel

__all__ = ["QuantisedEncoder", "Vectors", "nearest"]

Vectors = npt.NDArray[np.float32]
ROWS = 32
OPSET = 18
QUERY_ROWS = 256


class QuantisedEncoder:
    """An encoder as a graph that is quantised as the served one is, but run in padded batches.

    Good enough to rank by, not to store. Making one takes seconds.

    Args:
        encoder: with its adapters merged.
        tokenizer: the checkpoint's.
        full_precision: linear layers that are not quantised.
    """

    def __init__(self, encoder: BertModel, tokenizer: Tokenizer, full_precision: Sequence[str]) -> None:
        import onnxruntime  # noqa: PLC0415

        from export.onnx import export_encoder  # noqa: PLC0415 (torch's exporter takes seconds to import)
        from export.quantise import quantise  # noqa: PLC0415

        self._tokenizer = tokenizer
        self._hidden = int(encoder.config.hidden_size)
        with tempfile.TemporaryDirectory() as scratch:
            full, small = Path(scratch) / "full.onnx", Path(scratch) / "model.onnx"
            export_encoder(encoder, full, opset=OPSET)
            quantise(full, small, "int8", keep=full_precision)
            options = onnxruntime.SessionOptions()
            options.add_session_config_entry("session.intra_op.allow_spinning", "0")
            self._session = onnxruntime.InferenceSession(str(small), options, providers=["CPUExecutionProvider"])

    def encode(
        self, texts: Sequence[str], max_tokens: int, on_progress: Callable[[int], None] = lambda _rows: None
    ) -> Vectors:
        """Sentence vectors; float32, shape [len(texts), hidden], rows of length 1.

        Args:
            texts: with the model's prefix.
            max_tokens: longer texts are cut.
            on_progress: called with the number of texts after each batch.
        """
        ids = _token_ids(self._tokenizer, texts, max_tokens)
        vectors: Vectors = np.empty((len(texts), self._hidden), np.float32)
        for group in grouped_by_length([len(row) for row in ids], ROWS):
            width = max(len(ids[place]) for place in group)
            batch = np.ones((len(group), width), np.int64)
            mask = np.zeros((len(group), width), np.int64)
            for row, place in enumerate(group):
                batch[row, : len(ids[place])] = ids[place]
                mask[row, : len(ids[place])] = 1
            (vectors[group],) = self._session.run(["dense"], {"input_ids": batch, "attention_mask": mask})
            on_progress(len(group))
        return vectors


def nearest(queries: Vectors, passages: Vectors, depth: int) -> npt.NDArray[np.int64]:
    """The ``depth`` best passages of each query by cosine, best first; places, shape [queries, depth]."""
    depth = min(depth, len(passages))
    found = np.empty((len(queries), depth), np.int64)
    for start in range(0, len(queries), QUERY_ROWS):
        scores = queries[start : start + QUERY_ROWS] @ passages.T
        part = np.argpartition(-scores, depth - 1, axis=1)[:, :depth]
        order = np.argsort(-np.take_along_axis(scores, part, axis=1), axis=1, kind="stable")
        found[start : start + QUERY_ROWS] = np.take_along_axis(part, order, axis=1)
    return found


def _token_ids(tokenizer: Tokenizer, texts: Sequence[str], max_tokens: int) -> list[list[int]]:
    tokenizer.enable_truncation(max_tokens)
    try:
        return [encoding.ids for encoding in tokenizer.encode_batch(list(texts))]
    finally:
        tokenizer.no_truncation()
