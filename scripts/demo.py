"""`make demo`: start Trias, ingest the sample corpus while it serves, ask six questions, stop."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console

from loadtest.questions import read_questions
from loadtest.stack import StackError, running_stack

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
# Of `trias ask`: refused, or a clarification is wanted; one of the questions has no answer in the documents.
NOT_ANSWERED = 4


def main() -> int:
    """Run the demonstration; 0 where every step went well."""
    console = Console(highlight=False)
    started = time.monotonic()

    def step(text: str) -> None:
        console.rule(f"[bold]{text}[/bold]  ({time.monotonic() - started:.0f} s)", align="left")

    try:
        # A library of its own: the demonstration looks the same the second time, and touches nobody's data.
        with tempfile.TemporaryDirectory(prefix="trias-demo-") as data:
            step("trias serve  (with a Triton of its own)")
            with running_stack(Path(data)) as stack:
                console.print(f"serving at {stack.address}, process {stack.pid}")
                step("trias ingest examples/documents")
                stack.run("ingest", str(EXAMPLES / "documents"))
                for question in read_questions(EXAMPLES / "questions.txt"):
                    step(f"trias ask {question}")
                    stack.run("ask", question, "--server", stack.address, accept=(0, NOT_ANSWERED))
                step("stopping")
    except StackError as error:
        console.print(f"[red]error:[/red] {error}")
        return 1
    step("stopped cleanly")
    return 0


if __name__ == "__main__":
    sys.exit(main())
