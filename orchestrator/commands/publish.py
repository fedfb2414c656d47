"""`trias publish` and `trias rollback`: a fine-tuned checkpoint goes live, or the version before it comes back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["publish", "rollback"]

Model = Annotated[str, typer.Argument(help="The model: embedder, reranker, router, reasoner")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output, for machines")]


def publish(
    context: typer.Context,
    model: Model,
    checkpoint: Annotated[
        Path, typer.Argument(help="Folder of a Hugging Face checkpoint, or of an adapter", file_okay=False)
    ],
    golden: Annotated[
        Path | None, typer.Option(help="Golden set to measure on instead of Trias's own; see docs/publishing.md")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Pass all gates, the canary included, and publish nothing")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Export a checkpoint, have it pass every gate, and make it live without a restart; or say which gate stopped it.

    Gates: the files are whole; the tokenizer is the base's; the exported graph answers as the checkpoint does; the
    golden set is answered no worse than by the live version; and, loaded beside the live version, the last real
    questions are answered without an error and in time. Then callers go over to it. The old version stays loaded until
    they have, and comes back by itself where requests to the new one fail.

    An embedder becomes a candidate until `trias ingest reindex` has built its vectors.
    """
    from orchestrator.commands.publishing import run_publish  # noqa: PLC0415 (every other command starts without it)

    raise typer.Exit(run_publish(context.obj, model, checkpoint, golden=golden, dry_run=dry_run, as_json=as_json))


def rollback(
    context: typer.Context,
    model: Model,
    to: Annotated[str, typer.Option(metavar="N", help="This version; by default the one that was live before")] = "",
    as_json: AsJson = False,
) -> None:
    """Make the version before live again, at once and without a restart; for an embedder its vectors with it."""
    from orchestrator.commands.publishing import run_rollback  # noqa: PLC0415 (every other command starts without it)

    raise typer.Exit(run_rollback(context.obj, model, to=to, as_json=as_json))
