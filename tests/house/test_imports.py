"""Dependencies run downwards: the contracts in pyproject.toml hold."""

from __future__ import annotations

import subprocess
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINT_IMPORTS = Path(sysconfig.get_path("scripts")) / "lint-imports"


def test_import_contracts_hold() -> None:
    # A process of its own: the linter sets up logging anew, which silences every logger of this one.
    finished = subprocess.run([LINT_IMPORTS, "--no-cache"], cwd=ROOT, check=False, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stdout
