"""From a checkpoint to an ONNX graph that yields sentence vectors: pooling and normalisation are inside the graph."""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import onnx
import torch

if TYPE_CHECKING:
    from transformers import BertModel

__all__ = ["DenseEncoder", "export_encoder", "strip_metadata"]

# Export samples: any sizes above 1, all different, so that the tracer does not take two dimensions for one.
SAMPLE_BATCH, SAMPLE_LENGTH = 2, 7
# Below this a sum of squares counts as zero: keeps an all-zero vector from becoming NaN.
SMALLEST_NORM = 1e-12


class DenseEncoder(torch.nn.Module):
    """Token ids to one L2-normalised vector a text: the mean over the tokens that the mask keeps."""

    def __init__(self, encoder: BertModel) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Encode.

        Args:
            input_ids: int64, shape [b, L].
            attention_mask: int64, shape [b, L]; 1 for a token, 0 for padding.

        Returns:
            float32, shape [b, hidden], rows of length 1.
        """
        states = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        kept = attention_mask.unsqueeze(-1).to(states.dtype)
        mean = (states * kept).sum(dim=1) / kept.sum(dim=1).clamp(min=1.0)
        return torch.nn.functional.normalize(mean, p=2.0, dim=1, eps=SMALLEST_NORM)


def export_encoder(encoder: BertModel, path: Path, *, opset: int) -> None:
    """Write the float32 graph: ``input_ids``, ``attention_mask`` int64 [b, L] → ``dense`` float32 [b, hidden]."""
    model = DenseEncoder(encoder).eval()
    positions = encoder.config.max_position_embeddings
    sample = torch.randint(4, encoder.config.vocab_size, (SAMPLE_BATCH, SAMPLE_LENGTH))
    batch = torch.export.Dim("batch", min=1, max=4096)
    length = torch.export.Dim("length", min=2, max=positions)
    with _quiet(), torch.no_grad():
        program = torch.onnx.export(
            model,
            (sample, torch.ones_like(sample)),
            input_names=["input_ids", "attention_mask"],
            output_names=["dense"],
            dynamic_shapes=({0: batch, 1: length}, {0: batch, 1: length}),
            opset_version=opset,
            dynamo=True,
            verbose=False,
        )
    assert program is not None  # only the legacy exporter returns nothing
    graph = program.model_proto
    strip_metadata(graph)
    onnx.save(graph, path)


def strip_metadata(graph: onnx.ModelProto) -> None:
    """Take out, in place, what names this machine or run: stack traces, source paths, producer, comments."""
    graph.producer_name = graph.producer_version = graph.doc_string = ""
    del graph.metadata_props[:]
    _strip(graph.graph)
    for function in graph.functions:
        function.doc_string = ""
        del function.metadata_props[:]
        for node in function.node:
            node.doc_string = ""
            del node.metadata_props[:]


def _strip(graph: onnx.GraphProto) -> None:
    graph.doc_string = ""
    del graph.metadata_props[:]
    elements: tuple[Any, ...] = (*graph.node, *graph.initializer, *graph.input, *graph.output, *graph.value_info)
    for element in elements:
        element.doc_string = ""
        del element.metadata_props[:]
    for node in graph.node:
        for attribute in node.attribute:
            attribute.doc_string = ""
            for inner in (attribute.g, *attribute.graphs) if attribute.HasField("g") else attribute.graphs:
                _strip(inner)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep the exporter's chatter (prints, log lines, deprecations inside torch) off the terminal."""
    disabled = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)
