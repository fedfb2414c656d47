"""`trias ingest`: source files into the library, through the server that owns it or directly."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from orchestrator.commands.extras import PARSERS, extra_needed
from orchestrator.commands.reindex import reindex
from orchestrator.settings import Settings

__all__ = ["app"]

FILES = "files"


class _FilesByDefault(TyperGroup):
    """`trias ingest PATH…` without the name of a command means its `files`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [FILES, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_FilesByDefault,
    help="Read documents into the library (trias ingest PATH…), or embed the library anew (trias ingest reindex).",
    no_args_is_help=True,
)
app.command()(reindex)


@app.command(FILES)
def ingest(
    context: typer.Context,
    paths: Annotated[list[Path], typer.Argument(help="Files and folders: .docx, .pdf, .html, .md, .txt")],
    to: Annotated[
        str, typer.Option("--to", metavar="HOST:PORT", help="Only through the Trias server at this address")
    ] = "",
    base: Annotated[
        Path | None,
        typer.Option(help="Store sources under their path relative to this folder: the same ids on every machine"),
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write what happened to each file, as JSON")] = None,
    dry: Annotated[bool, typer.Option("--dry-run", help="Parse and report the clauses, write nothing")] = False,
    again: Annotated[bool, typer.Option("--again", help="Also what is in the library with the same content")] = False,
) -> None:
    """Read documents, cut them into clauses, and put them into the library.

    While a Trias server runs at server.host:server.port, documents go through it and answer at once; else the library
    is opened here. Without a Triton at inference.endpoints, one is started for the time of the run. What is in the
    library already is left as it is, so an ingest that was interrupted is simply started again.

    Fields that a document does not tell may be set in a file beside it: notice.docx.meta.yaml.

    Exit codes: 0 all went in; 3 some files were skipped (the report says why); 130 interrupted by Ctrl-C, and what was
    under way is finished; 1 nothing could be done.
    """
    # The parsers are an extra; without them every other command works.
    with extra_needed(PARSERS):
        from orchestrator.commands.ingesting import run_ingest  # noqa: PLC0415
    settings: Settings = context.obj
    code = run_ingest(settings, paths, to=to, base=base, report_file=report, dry=dry, again=again)
    raise typer.Exit(code)
