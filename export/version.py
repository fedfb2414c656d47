"""What lies in a version's folder besides its graph: tokenizer and labels, for measuring it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.errors import BuildError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["LABELS", "TOKENIZER", "labels_of", "tokenizer_of"]

LABELS, TOKENIZER = "labels.json", "tokenizer.json"


def tokenizer_of(folder: Path) -> Tokenizer:
    """The version's tokenizer.

    Raises:
        BuildError: it is missing or malformed.
    """
    from tokenizers import Tokenizer  # noqa: PLC0415

    try:
        return Tokenizer.from_file(str(folder / TOKENIZER))
    except Exception as error:  # the library raises bare exceptions
        raise BuildError(f"{folder / TOKENIZER} cannot be read: {error}.", hint="Export the model again.") from None


def labels_of(folder: Path) -> dict[str, list[str]]:
    """What the classes of a router's heads stand for: ``intents`` and ``slots``.

    Raises:
        BuildError: the file is missing or malformed.
    """
    path = folder / LABELS
    try:
        tree = json.loads(path.read_bytes())
        return {"intents": [str(name) for name in tree["intents"]], "slots": [str(name) for name in tree["slots"]]}
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise BuildError(f"{path} cannot be read: {error}.", hint="Export the model again.") from None
