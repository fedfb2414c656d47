"""Runs a step of a language model's build in the environment that has the libraries for it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from orchestrator.errors import BuildError, ConfigurationError
from orchestrator.settings import PROJECT

__all__ = ["PYTHON_VARIABLE", "find_python", "run_step"]

PYTHON_VARIABLE = "TRIAS_LLM_PYTHON"
DEFAULT_PYTHON = PROJECT / ".venv-llm" / "bin" / "python"
# A step prints its result as the last line, after this mark; what libraries print before it is theirs.
RESULT = "RESULT "
# The slowest step (quantising by k-quants) took four minutes on two busy cores.
STEP_TIMEOUT_S = 3600
SHOWN_OF_ERROR = 2000


def find_python() -> Path:
    """The interpreter of `.venv-llm`, or the one that TRIAS_LLM_PYTHON names.

    Raises:
        ConfigurationError: there is none.
    """
    named = os.environ.get(PYTHON_VARIABLE)
    python = Path(named) if named else DEFAULT_PYTHON
    if not python.is_file():
        raise ConfigurationError(
            f"Language models are built in an environment of their own, and {python} does not exist.",
            hint=f"Make it with `make llm`, or name another one's interpreter in {PYTHON_VARIABLE}.",
        )
    return python


def run_step(step: str, **arguments: Any) -> dict[str, Any]:
    """Run ``export.llm_env.<step>`` and wait for it.

    Args:
        step: the module's name.
        arguments: passed to its ``run`` as JSON.

    Returns:
        What the step returned.

    Raises:
        ConfigurationError: the environment, or a library in it, is missing.
        BuildError: the step failed; with the end of what it said.
    """
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONHOME"}
    # No hub is asked: everything lies on this disk.
    environment |= {"PYTHONPATH": str(PROJECT), "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
    command = [str(find_python()), "-m", f"export.llm_env.{step}", json.dumps(arguments)]
    try:
        ended = subprocess.run(  # noqa: S603 (our own module, by a path that the user chose)
            command,
            env=environment,
            cwd=PROJECT,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=STEP_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise BuildError(f"The step {step} did not finish within {STEP_TIMEOUT_S} s.") from None
    last = ended.stdout.strip().rpartition("\n")[2]
    if ended.returncode == 0 and last.startswith(RESULT):
        result: dict[str, Any] = json.loads(last.removeprefix(RESULT))
        return result
    if "ModuleNotFoundError" in ended.stderr:
        missing = ended.stderr.strip().rpartition("\n")[2]
        raise ConfigurationError(f"{command[0]} lacks a library: {missing}.", hint="Make it anew: make llm.")
    raise BuildError(f"The step {step} failed:\n{ended.stderr.strip()[-SHOWN_OF_ERROR:]}")
