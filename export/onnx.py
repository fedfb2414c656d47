"""From a torch module to an ONNX graph: pooling, normalisation and heads are inside, paths of this machine are not."""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import onnx
import torch

from export.heads import DenseEncoder, OnEncoder

if TYPE_CHECKING:
    from transformers import BertModel

__all__ = ["export_encoder", "export_graph", "save_graph", "strip_metadata"]

# Export samples: any sizes above 1, all different, so that the tracer does not take two dimensions for one.
SAMPLE_BATCH, SAMPLE_LENGTH = 2, 7
# Model types whose position table begins with rows that no token has.
OFFSET = ("xlm-roberta",)


def export_graph(
    module: OnEncoder, path: Path, *, outputs: Sequence[str], opset: int, external_data: bool = False
) -> None:
    """Write a module of `export.heads`: ``input_ids``, ``attention_mask`` int64 [b, L] → the named outputs.

    Args:
        module: in the precision that the graph shall have.
        path: of the graph; with ``external_data`` its weights go to one file beside it, ``<name>.data``.
        outputs: names, in the order in which the module returns them.
        opset: of ONNX.
        external_data: needed from 2 GB on.
    """
    config = module.encoder.config
    # XLM-R counts positions from the one after its padding's.
    reserved = (config.pad_token_id or 0) + 1 if config.model_type in OFFSET else 0
    longest = config.max_position_embeddings - reserved
    sample = torch.randint(4, config.vocab_size, (SAMPLE_BATCH, SAMPLE_LENGTH))
    batch = torch.export.Dim("batch", min=1, max=4096)
    length = torch.export.Dim("length", min=2, max=longest)
    with _quiet(), torch.no_grad():
        program = torch.onnx.export(
            module,
            (sample, torch.ones_like(sample)),
            input_names=["input_ids", "attention_mask"],
            output_names=list(outputs),
            dynamic_shapes=({0: batch, 1: length}, {0: batch, 1: length}),
            opset_version=opset,
            dynamo=True,
            verbose=False,
        )
    assert program is not None  # only the legacy exporter returns nothing
    if external_data:
        # Written by the exporter, for as one message it may be too large to handle at all.
        program.save(path, external_data=True)
        graph = onnx.load(path, load_external_data=False)
    else:
        graph = program.model_proto
    strip_metadata(graph)
    onnx.save(graph, path)


def export_encoder(encoder: BertModel, path: Path, *, opset: int) -> None:
    """Write the float32 graph of sentence vectors (the mean, normalised): → ``dense`` float32 [b, hidden]."""
    export_graph(DenseEncoder(encoder).eval(), path, outputs=["dense"], opset=opset)


def save_graph(graph: onnx.ModelProto, path: Path, *, external_data: bool = False) -> None:
    """Write a graph that is wholly in memory; with ``external_data`` its weights go to ``<name>.data`` beside it."""
    data = path.with_name(f"{path.name}.data")
    data.unlink(missing_ok=True)  # onnx appends to what is there
    if external_data:
        onnx.save(graph, path, save_as_external_data=True, all_tensors_to_one_file=True, location=data.name)
    else:
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
