"""Steps in the other environment: how they are found, and what is said where they fail."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from export.llm_env import environment
from export.llm_env.environment import PYTHON_VARIABLE, find_python, run_step
from orchestrator.errors import BuildError, ConfigurationError


def test_without_the_environment_the_user_is_told_to_make_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(PYTHON_VARIABLE, str(tmp_path / "python"))
    with pytest.raises(ConfigurationError, match="make llm"):
        run_step("to_genai")
    monkeypatch.delenv(PYTHON_VARIABLE)
    monkeypatch.setattr(environment, "DEFAULT_PYTHON", tmp_path / "none")
    with pytest.raises(ConfigurationError, match=PYTHON_VARIABLE):
        find_python()


def test_a_step_that_fails_tells_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PYTHON_VARIABLE, sys.executable)
    with pytest.raises(ConfigurationError, match="lacks a library"):
        run_step("from_gguf", package="no_such_package_at_all", sha256="", target="/nowhere", probe="")
    with pytest.raises(BuildError, match="failed"):
        run_step("result_of_nothing")


def test_the_result_is_the_last_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho noise\necho 'RESULT {\"figure\": 0.5}'\n")
    python.chmod(0o755)
    monkeypatch.setenv(PYTHON_VARIABLE, str(python))
    assert run_step("anything", path="x") == {"figure": 0.5}
