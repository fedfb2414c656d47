"""Adapter folders: low-rank weights in half precision, task heads, labels and the run card beside them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors.torch import load_file, save_file

from finetune.recipe import Recipe

if TYPE_CHECKING:
    from peft import PeftModel
    from transformers import BertModel

__all__ = ["HEADS", "LABELS", "save_adapter", "with_lora"]

HEADS, LABELS, WEIGHTS, CONFIG = "heads.safetensors", "labels.json", "adapter_model.safetensors", "adapter_config.json"
# Every linear layer of a BERT block.
TARGETS = ("query", "key", "value", "attention.output.dense", "intermediate.dense", "output.dense")


def with_lora(encoder: BertModel, recipe: Recipe) -> PeftModel:
    """The encoder with adapters on all linear layers above the frozen ones; nothing else of it is trained."""
    from peft import LoraConfig, get_peft_model  # noqa: PLC0415 (seconds to import)

    lora, frozen_layers = recipe.lora, recipe.frozen_layers
    for module in encoder.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = recipe.dropout
    layers = range(frozen_layers, encoder.config.num_hidden_layers)
    config = LoraConfig(
        r=lora.rank,
        lora_alpha=int(lora.alpha),
        lora_dropout=lora.dropout,
        target_modules=list(TARGETS),
        layers_to_transform=list(layers),
        layers_pattern="layer",
    )
    model: PeftModel = get_peft_model(encoder, config)
    return model


def save_adapter(
    folder: Path,
    model: PeftModel,
    heads: Mapping[str, torch.Tensor] | None = None,
    labels: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Write an adapter folder: adapters and heads in half precision, and no path of this machine.

    Args:
        folder: made where it is missing.
        model: trained; its adapters are saved, not its base.
        heads: further tensors by name, such as ``score.weight``.
        labels: what the heads' outputs stand for.
    """
    folder.mkdir(parents=True, exist_ok=True)
    # A shortened word table looks to peft like a trained one, and would be saved whole.
    model.save_pretrained(str(folder), save_embedding_layers=False)
    (folder / "README.md").unlink(missing_ok=True)  # a template of peft's, with nothing filled in
    save_file(_halved(load_file(folder / WEIGHTS)), folder / WEIGHTS)
    config: dict[str, Any] = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    config["base_model_name_or_path"] = ""
    (folder / CONFIG).write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    if heads is not None:
        save_file(_halved(heads), folder / HEADS)
    if labels is not None:
        (folder / LABELS).write_text(json.dumps(labels, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def _halved(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: tensor.detach().to(torch.float16).contiguous() for name, tensor in tensors.items()}
