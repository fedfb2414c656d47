"""The first gate: every file of a checkpoint is whole, before an hour is spent on it."""

from __future__ import annotations

import json
import struct
from pathlib import Path

from orchestrator.errors import BuildError, GateError

__all__ = ["GATE", "check_integrity"]

GATE = "integrity"
JSON_FILES = ("config.json", "tokenizer.json", "adapter_config.json", "labels.json")
LENGTH = struct.Struct("<Q")  # of the header of a safetensors file
# What the safetensors format itself allows for its header.
MAX_HEADER = 100_000_000


def check_integrity(checkpoint: Path) -> dict[str, float]:
    """Look at each file of a checkpoint folder: JSON parses, and weights are as long as their headers say.

    Returns:
        The gate's figure: how many files were looked at.

    Raises:
        GateError: a file is truncated or no such file; names it, and by how much it is too short.
        BuildError: there is no checkpoint in the folder.
    """
    if not checkpoint.is_dir():
        raise BuildError(f"There is no checkpoint folder {checkpoint}.")
    weights = sorted(checkpoint.glob("*.safetensors"))
    if not weights and not list(checkpoint.glob("*.gguf")):
        raise BuildError(
            f"{checkpoint} holds no weights.",
            hint="A checkpoint is a folder with config.json, model.safetensors and tokenizer.json; an adapter's has "
            "adapter_config.json and adapter_model.safetensors.",
        )
    texts = [checkpoint / name for name in JSON_FILES if (checkpoint / name).exists()]
    for path in texts:
        try:
            json.loads(path.read_bytes())
        except (OSError, ValueError) as error:
            raise _failed(path, 0, f"JSON ({error})") from None
    for path in weights:
        _check_weights(path)
    return {GATE: float(len(texts) + len(weights))}


def _check_weights(path: Path) -> None:
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(LENGTH.size)
        if len(start) < LENGTH.size:
            raise _failed(path, size, f">= {LENGTH.size} bytes")
        (length,) = LENGTH.unpack(start)
        if length > min(MAX_HEADER, size - LENGTH.size):
            raise _failed(path, size, f">= {LENGTH.size + length} bytes")
        try:
            header = json.loads(file.read(length))
            ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
            wanted = LENGTH.size + length + max(ends, default=0)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise _failed(path, size, f"a safetensors header ({error})") from None
    if size != wanted:
        raise _failed(path, size, f"= {wanted} bytes")


def _failed(path: Path, size: int, wanted: str) -> GateError:
    return GateError(
        f"{GATE} of {path.name}",
        size,
        wanted,
        hint=f"{path} ({path.stat().st_size} bytes) is damaged or was not copied to its end: copy it again.",
    )
