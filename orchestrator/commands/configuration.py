"""`trias config`: every setting that is in force."""

from __future__ import annotations

import typer

from orchestrator.settings import Settings

__all__ = ["config"]


def config(context: typer.Context) -> None:
    """Print the settings in force, as a trias.yaml that could be saved (flag > environment > file > default)."""
    settings: Settings = context.obj
    typer.echo(settings.as_yaml(), nl=False)
