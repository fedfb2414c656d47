"""Packages that only some commands need: a missing one becomes a sentence that says how to get it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from orchestrator.errors import ConfigurationError

__all__ = ["PARSERS", "TRAINERS", "extra_needed"]

PARSERS = "Install the parsers: pip install 'trias[ingest]'."
TRAINERS = "Install the CPU build of torch 2.13.0 first, then: pip install 'trias[export,ingest]'."

# A module of ours that is missing is a fault of ours, not of the installation.
OWN = ("deploy", "evaluation", "export", "finetune", "ingest", "loadtest", "orchestrator", "trias")


@contextlib.contextmanager
def extra_needed(hint: str) -> Iterator[None]:
    """Around imports that need an extra.

    Args:
        hint: how to install it.

    Raises:
        ConfigurationError: a package is missing; names it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in OWN:
            raise
        raise ConfigurationError(f"The package {error.name} is not installed.", hint=hint) from None
