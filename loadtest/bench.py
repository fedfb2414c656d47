"""`make bench`: start a stack, fill it, load it, hold it against the P95 gates, stop it.

Asks real questions about real regulations where the shared data lies beside the repository (or `--documents` and
`--questions` say otherwise), else the sample corpus. What was ingested is kept for the next run.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from loadtest.gates import DEFAULT_GATES
from loadtest.stack import Stack, StackError, running_stack

__all__ = ["main"]

ROOT = Path(__file__).resolve().parents[1]
# Of `trias ingest`: some files were skipped, and its report says why.
SOME_SKIPPED = 3
SHARED = Path(os.environ.get("TRIAS_SHARED_DATA", ROOT.parent / "shared" / "data"))


def main() -> int:
    """Run the bench; the exit code is Locust's: 1 where a gate is broken."""
    options = _options()
    print(f"documents: {options.documents}\nquestions: {options.questions}", flush=True)  # noqa: T201
    try:
        with running_stack(options.data) as stack:
            stack.run("ingest", str(options.documents), accept=(0, SOME_SKIPPED))
            return _locust(stack, options)
    except StackError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201
        return 1


def _options() -> argparse.Namespace:
    real = SHARED / "legal_dc"
    has_real = (real / "docx").is_dir()
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument(
        "--documents", type=Path, default=real / "docx" if has_real else ROOT / "examples" / "documents"
    )
    parser.add_argument(
        "--questions", type=Path, default=real / "queries.jsonl" if has_real else ROOT / "examples" / "questions.txt"
    )
    parser.add_argument("--domain", default="general" if has_real else "medical_insurance")
    parser.add_argument("--data", type=Path, default=ROOT / ".trias" / "bench", help="kept from run to run")
    parser.add_argument("--callers", type=int, default=4, help="concurrent callers")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--gates", type=Path, default=DEFAULT_GATES)
    parser.add_argument("--json", type=Path, default=ROOT / ".trias" / "bench.json", help="the figures as JSON")
    return parser.parse_args()


def _locust(stack: Stack, options: argparse.Namespace) -> int:
    command = [
        *(sys.executable, "-m", "locust", "-f", str(ROOT / "loadtest" / "locustfile.py")),
        *("--headless", "--only-summary", "--loglevel", "WARNING"),
        *("--host", stack.address, "--users", str(options.callers), "--spawn-rate", str(options.callers)),
        *("--run-time", f"{options.seconds}s", "--questions", str(options.questions), "--domain", options.domain),
        *("--gates", str(options.gates), "--json-out", str(options.json)),
    ]
    code = subprocess.run(command, check=False).returncode  # noqa: S603
    print(f"figures as JSON: {options.json}")  # noqa: T201
    return code


if __name__ == "__main__":
    sys.exit(main())
