"""How a step is called and answers: JSON in its first argument, JSON on its last line."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["answer"]


def answer(run: Callable[..., dict[str, Any]]) -> None:
    """Call ``run`` with the arguments of the command line and print its result."""
    result = run(**json.loads(sys.argv[1]))
    sys.stdout.flush()
    print(f"\nRESULT {json.dumps(result)}", flush=True)  # noqa: T201 (the answer to run_step)
