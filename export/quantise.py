"""From the float32 graph to the one that is served.

Measured choices, with figures, are in docs/models.md. In short: ``int8`` quantises the linear layers dynamically, weights
per output channel; it is the fastest on CPU, and exact from batch to batch as long as a batch runs row by row. ``nbits4``
and ``nbits8`` keep blocks of 32 weights with their own scale (lossless for weights that were Q4_0 already) and are
batch-invariant by themselves, but slower. In all three the word table is stored in 4-bit blocks, which is how the source
holds it.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from pathlib import Path

import onnx
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.quantization.matmul_nbits_quantizer import DefaultWeightOnlyQuantConfig, MatMulNBitsQuantizer

from export.onnx import strip_metadata
from export.spec import Precision
from orchestrator.errors import BuildError

__all__ = ["quantise"]

BLOCK = 32
# MatMulNBits computes in int8 with float32 accumulation; lower levels are slower and no closer to the source's engine.
ACCURACY_INT8 = 4


def quantise(source: Path, target: Path, precision: Precision) -> None:
    """Write ``source`` (float32) to ``target`` in ``precision``.

    Raises:
        BuildError: the graph has no word table where one is expected.
    """
    graph = onnx.load(source)
    with _quiet():
        if precision != "fp32":
            graph = _blocks(graph, bits=4, operators=("Gather",), but=_other_lookups(graph))
        if precision == "int8":
            quantize_dynamic(
                graph, target, per_channel=True, weight_type=QuantType.QInt8, op_types_to_quantize=["MatMul"]
            )
            graph = onnx.load(target)
        elif precision == "nbits8":
            graph = _blocks(graph, bits=8, operators=("MatMul",))
        elif precision == "nbits4":
            graph = _blocks(graph, bits=4, operators=("MatMul",))
    strip_metadata(graph)
    onnx.save(graph, target)


def _blocks(
    graph: onnx.ModelProto, *, bits: int, operators: tuple[str, ...], but: list[str] | None = None
) -> onnx.ModelProto:
    config = DefaultWeightOnlyQuantConfig(
        block_size=BLOCK,
        is_symmetric=True,
        accuracy_level=ACCURACY_INT8,
        bits=bits,
        op_types_to_quantize=operators,
        quant_axes=(("MatMul", 0), ("Gather", 1)),
    )
    quantizer = MatMulNBitsQuantizer(graph, algo_config=config, nodes_to_exclude=but)
    quantizer.process()
    return quantizer.model.model


def _other_lookups(graph: onnx.ModelProto) -> list[str]:
    """The lookups that are not in the word table: positions and types are small, and not 4 bits in the source."""
    lookups = [node for node in graph.graph.node if node.op_type == "Gather"]
    others = [str(node.name) for node in lookups if node.input[1] != "input_ids"]
    if len(others) == len(lookups):
        raise BuildError("The exported graph has no lookup of input_ids in a table of words.")
    return others


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep the quantisers' line a node off the terminal."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(before)
