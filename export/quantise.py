"""From the float32 graph to the one that is served.

``int8`` quantises the linear layers dynamically, weights per output channel: the fastest on CPU, and bit-identical
from batch to batch as long as a batch is run row by row. ``nbits4`` and ``nbits8`` keep blocks of 32 weights under a
scale of their own, which loses nothing of weights that were Q4_0 before; they don't depend on the batch at all, but
are slower. In all three the word table is kept in blocks of 4 bits, as the source has it. docs/models.md has the
figures.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import onnx
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.quantization.matmul_nbits_quantizer import DefaultWeightOnlyQuantConfig, MatMulNBitsQuantizer

from export.onnx import save_graph, strip_metadata
from export.parts import Precision
from orchestrator.errors import BuildError

__all__ = ["quantise"]

BLOCK = 32
# MatMulNBits then multiplies in int8 and sums in float32, as the source's own engine does.
ACCURACY_INT8 = 4


def quantise(
    source: Path, target: Path, precision: Precision, *, keep: Sequence[str] = (), external_data: bool = False
) -> None:
    """Write ``source`` (float32) to ``target`` in ``precision``.

    Args:
        source: a graph that `export_encoder` wrote.
        target: where the quantised graph goes.
        precision: how weights, and for ``int8`` activations, are stored.
        keep: linear layers, by their names in the checkpoint, that ``int8`` leaves in float32.
        external_data: put the weights into one file beside ``target``.

    Raises:
        BuildError: the graph lacks the word table or a layer to keep.
    """
    graph = onnx.load(source)
    kept = [_linear(graph, name) for name in keep]
    with _quiet():
        if precision != "fp32":
            graph = _in_blocks(graph, bits=4, operator="Gather", exclude=_other_lookups(graph))
        if precision == "int8":
            quantize_dynamic(
                graph,
                target,
                per_channel=True,
                weight_type=QuantType.QInt8,
                op_types_to_quantize=["MatMul"],
                nodes_to_exclude=kept,
                use_external_data_format=external_data,
            )
            graph = onnx.load(target)
        elif precision in ("nbits4", "nbits8"):
            graph = _in_blocks(graph, bits=int(precision[-1]), operator="MatMul", exclude=[])
    strip_metadata(graph)
    save_graph(graph, target, external_data=external_data)


def _in_blocks(graph: onnx.ModelProto, *, bits: int, operator: str, exclude: list[str]) -> onnx.ModelProto:
    config = DefaultWeightOnlyQuantConfig(
        block_size=BLOCK,
        is_symmetric=True,
        accuracy_level=ACCURACY_INT8,
        bits=bits,
        op_types_to_quantize=(operator,),
        quant_axes=(("MatMul", 0), ("Gather", 1)),
    )
    quantizer = MatMulNBitsQuantizer(graph, algo_config=config, nodes_to_exclude=exclude)
    # A block of zeros (the padding's row, say) has the scale zero: 0/0, and whatever it gives times zero is zero.
    with np.errstate(divide="ignore", invalid="ignore"):
        quantizer.process()
    quantised: onnx.ModelProto = quantizer.model.model
    return quantised


def _other_lookups(graph: onnx.ModelProto) -> list[str]:
    """The lookups that are not in the word table: positions and types are small, and not 4 bits in the source."""
    lookups = [node for node in graph.graph.node if node.op_type == "Gather"]
    others = [str(node.name) for node in lookups if node.input[1] != "input_ids"]
    if len(others) == len(lookups):
        raise BuildError("The exported graph has no lookup of input_ids in a table of words.")
    return others


def _linear(graph: onnx.ModelProto, name: str) -> str:
    """The MatMul of a linear layer: the one whose product the layer's bias, which keeps its name, is added to."""
    makers = {output: node for node in graph.graph.node for output in node.output}
    for node in graph.graph.node:
        if node.op_type == "Add" and any(given.endswith(f".{name}.bias") for given in node.input):
            products = [makers[given] for given in node.input if given in makers]
            if len(products) == 1 and products[0].op_type == "MatMul":
                return str(products[0].name)
    raise BuildError(
        f"The exported graph has no linear layer {name}.", hint="Check full_precision in the model's spec."
    )


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep the quantisers' line a node off the terminal."""
    disabled = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(disabled)
