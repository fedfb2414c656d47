"""Opens a checkpoint for export: merges its adapter, puts its heads on, and has its tokenizer and labels checked."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer

from export import heads
from export.adapter import check_base, is_adapter, merge_adapter
from export.base import TOKENIZER, WEIGHTS, Base
from export.checkpoint import check_architecture, check_sizes, load_checkpoint, load_classifier, read_tensors
from export.gates import check_same_tokenizer
from export.spec import EmbedderSpec, EncoderSpec, RerankerSpec, RouterSpec
from orchestrator.errors import BuildError

__all__ = ["HEADS", "LABELS", "Opened", "open_checkpoint", "read_tokenizer"]

HEADS, LABELS = "heads.safetensors", "labels.json"
# The heads of BGE-M3 as its authors published them: a linear layer a file.
PUBLISHED_HEADS = {"sparse": "sparse_linear.pt", "colbert": "colbert_linear.pt"}


@dataclass(frozen=True, slots=True)
class Opened:
    """A checkpoint in memory.

    Attributes:
        module: float32, takes token ids and mask, gives what the spec's outputs name, in their order.
        tokenizer: the file that belongs beside the graph.
        labels: likewise; None where the model has none.
        checks: figures of the checks so far.
    """

    module: heads.OnEncoder
    tokenizer: Path
    labels: Path | None
    checks: dict[str, float]


def open_checkpoint(spec: EncoderSpec, checkpoint: Path, base: Base) -> Opened:
    """Open ``checkpoint``, which may be the base itself, a whole checkpoint or an adapter for the base.

    Raises:
        GateError: its tokenizer is another than the base's.
        BuildError: it is damaged, or of another kind or architecture; names the file.
    """
    adapter = is_adapter(checkpoint)
    whole = base.folder if adapter else checkpoint
    if adapter:
        check_base(checkpoint, base.folder / WEIGHTS)
    own_head = isinstance(spec, RerankerSpec) and spec.head == "classifier"
    if spec.sizes is not None:
        check_architecture(whole, spec.architecture)
        check_sizes(whole, spec.sizes)
    model: Any = load_classifier(whole) if own_head else load_checkpoint(whole, spec.architecture)
    if adapter:
        model = merge_adapter(model, checkpoint)
    tokenizer, checks = _tokenizer(spec, checkpoint, base, optional=adapter)
    words = tokenizer_size(tokenizer)
    if words > model.config.vocab_size:
        raise BuildError(f"{tokenizer} has {words} words, and the checkpoint {whole} knows {model.config.vocab_size}.")
    module = _module(spec, model, checkpoint)
    labels = _labels(checkpoint, module) if isinstance(spec, RouterSpec) else None
    return Opened(module.eval(), tokenizer, labels, {**base.checks, **checks})


def read_tokenizer(path: Path) -> Tokenizer:
    """The tokenizer in a ``tokenizer.json``.

    Raises:
        BuildError: it is missing or malformed.
    """
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises nothing narrower
        raise BuildError(f"{path} cannot be read: {error}.") from None


def tokenizer_size(path: Path) -> int:
    """The number of ids that a tokenizer may give."""
    return max(read_tokenizer(path).get_vocab().values(), default=-1) + 1


def _tokenizer(spec: EncoderSpec, checkpoint: Path, base: Base, *, optional: bool) -> tuple[Path, dict[str, float]]:
    """Which ``tokenizer.json`` belongs to the version, and how far it agrees with the base's."""
    own, known = checkpoint / TOKENIZER, base.folder / TOKENIZER
    if checkpoint == base.folder or (optional and not own.is_file()):
        return known, {}
    return own, check_same_tokenizer(spec, read_tokenizer(own), read_tokenizer(known))


def _module(spec: EncoderSpec, model: Any, checkpoint: Path) -> heads.OnEncoder:
    if isinstance(spec, EmbedderSpec):
        if model.config.hidden_size != spec.dimension:
            raise BuildError(f"The checkpoint's vectors have {model.config.hidden_size} values, not {spec.dimension}.")
        if "sparse" not in spec.outputs:
            return heads.DenseEncoder(model, spec.pooling)
        return heads.MultiVectorEncoder(model, _multi_vector_heads(checkpoint), spec.pooling)
    if isinstance(spec, RerankerSpec):
        if spec.head == "classifier":
            return heads.OwnHeadScorer(model)
        return heads.PairScorer(model, read_tensors(checkpoint / HEADS))
    return heads.QuestionClassifier(model, read_tensors(checkpoint / HEADS))


def _multi_vector_heads(checkpoint: Path) -> dict[str, torch.Tensor]:
    """From ``heads.safetensors``, or from the files that BGE-M3 was published with."""
    if (checkpoint / HEADS).is_file():
        return read_tensors(checkpoint / HEADS)
    found: dict[str, torch.Tensor] = {}
    for name, file in PUBLISHED_HEADS.items():
        try:
            tensors = torch.load(checkpoint / file, map_location="cpu", weights_only=True)
            found |= {f"{name}.{part}": tensors[part].to(torch.float32) for part in ("weight", "bias")}
        except Exception as error:  # torch raises what its unpickler meets
            raise BuildError(f"The head {checkpoint / file} cannot be read: {error}.") from None
    return found


def _labels(checkpoint: Path, module: torch.nn.Module) -> Path:
    """``labels.json``, after a look at whether it names as many labels as the heads have outputs."""
    path = checkpoint / LABELS
    try:
        tree = json.loads(path.read_text(encoding="utf-8"))
        found = {"intent": [str(name) for name in tree["intents"]], "slots": [str(name) for name in tree["slots"]]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BuildError(
            f"{path} cannot be read: {error!r}.", hint='Wanted: {"intents": […], "slots": ["O", "B-…", …]}.'
        ) from None
    for head, names in found.items():
        outputs = len(module.get_buffer(f"{head}_bias"))
        if not len(names) == len(set(names)) == outputs:
            raise BuildError(f"{path} names {len(set(names))} labels for head '{head}', which has {outputs} outputs.")
    if found["slots"][0] != "O":
        raise BuildError(f"{path}: the first slot label must be O, not {found['slots'][0]!r}.")
    return path
