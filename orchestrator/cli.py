"""The command line: `trias …`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from rich.console import Console

from orchestrator.commands import (
    ask,
    configuration,
    data,
    deploy,
    doctor,
    evaluate,
    finetune,
    ingest,
    models,
    publish,
    serve,
    triton,
)
from orchestrator.errors import ConfigurationError, TriasError
from orchestrator.settings import load_settings

__all__ = ["app", "main"]

app = typer.Typer(
    name="trias",
    help="Answers about policy and regulation documents, with evidence for every sentence.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.command("serve")(serve.serve)
app.command("ask")(ask.ask)
app.add_typer(ingest.app, name="ingest")
app.add_typer(data.app, name="data")
app.add_typer(finetune.app, name="finetune")
app.command("publish")(publish.publish)
app.command("rollback")(publish.rollback)
app.add_typer(models.app, name="models")
app.add_typer(triton.app, name="triton")
app.add_typer(evaluate.app, name="eval")
app.add_typer(deploy.app, name="deploy")
app.command("doctor")(doctor.doctor)
app.command("config")(configuration.config)


@app.callback()
def root(
    context: typer.Context,
    config: Annotated[
        Path | None, typer.Option(help="YAML file of settings; default: ./trias.yaml if it is there")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="One setting: --set server.port=9000 (repeatable)"),
    ] = None,
) -> None:
    """Read the settings once; every command finds them in its context."""
    context.obj = load_settings(config, _overrides(set_ or []))


def _overrides(pairs: list[str]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise ConfigurationError(f"--set {pair}: KEY=VALUE is wanted.", hint="Example: --set server.port=9000.")
        branch = tree
        *parents, leaf = key.split(".")
        for parent in parents:
            branch = branch.setdefault(parent, {})
        branch[leaf] = yaml.safe_load(value) if value else ""
    return tree


def main() -> None:
    """Run `trias`; a user's mistake ends in one line and exit code 1, Ctrl-C in 130."""
    try:
        app(standalone_mode=True)
    except TriasError as error:
        Console(stderr=True, highlight=False).print(f"[red]error:[/red] {error}", soft_wrap=True)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
