"""`trias models …`: make the served models, and see which versions are there."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from export.build import BuildReport, build_model, missing_adapter
from export.repository import VersionState, list_versions
from export.spec import ModelSpec, known_models, load_spec
from orchestrator.settings import Settings

__all__ = ["app"]

app = typer.Typer(help="Make the models that Triton serves, and see which versions are there.", no_args_is_help=True)

SHOWN_OF_FINGERPRINT = 12  # enough to tell versions apart by eye
MEGABYTE = 1_000_000


@app.command()
def build(
    context: typer.Context,
    force: Annotated[bool, typer.Option("--force", help="Build even what is up to date.")] = False,
    model: Annotated[list[str] | None, typer.Option(help="Only this model (repeatable); default: all.")] = None,
) -> None:
    """Make the served models from their published weights, checking every step. Quick where all is up to date."""
    settings: Settings = context.obj
    console = Console()
    for spec in [load_spec(name) for name in model or known_models()]:
        if not model and (lacks := missing_adapter(spec)):
            console.print(lacks, highlight=False)
            continue
        report = _build(spec, settings, force=force, console=console)
        _tell(report, console)


def _build(spec: ModelSpec, settings: Settings, *, force: bool, console: Console) -> BuildReport:
    columns = (SpinnerColumn(finished_text="[green]✓[/green]"), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console) as bar:
        steps: list[int] = []

        def begin(step: str) -> None:
            if steps:
                bar.update(bar.task_ids[-1], total=1, completed=1)
            steps.append(bar.add_task(f"{spec.model}: {step}", total=None))

        report = build_model(
            spec,
            repository=settings.paths.model_repository,
            data=settings.paths.data,
            force=force,
            progress=begin,
        )
        bar.update(bar.task_ids[-1], total=1, completed=1)
    return report


def _tell(report: BuildReport, console: Console) -> None:
    short = report.manifest.fingerprint[:SHOWN_OF_FINGERPRINT]
    if not report.built:
        console.print(f"{report.model} version {report.version} is up to date (fingerprint {short}).", highlight=False)
        return
    table = Table("check", "measured", title=f"{report.model} version {report.version} ({short})", title_justify="left")
    for name, figure in report.manifest.checks.items():
        table.add_row(name, f"{figure:.6f}".rstrip("0").rstrip("."))
    console.print(table)
    console.print(f"Written to {report.folder}.", highlight=False, soft_wrap=True)


@app.command("list")
def list_(context: typer.Context) -> None:
    """Show the versions in the model repository: what they are, when they were made, whether they are complete."""
    settings: Settings = context.obj
    console = Console()
    table = Table("model", "version", "precision", "MB", "fingerprint", "built", "state")
    for name in known_models():
        states = list_versions(settings.paths.model_repository / name)
        if not states:
            table.add_row(name, "–", "–", "–", "–", "–", "[yellow]not built: trias models build[/yellow]")
        for state in states:
            table.add_row(name, *_cells(state))
    console.print(table)


def _cells(state: VersionState) -> list[str]:
    manifest = state.manifest
    return [
        str(state.version),
        manifest.precision if manifest else "?",
        f"{state.size / MEGABYTE:.1f}",
        manifest.fingerprint[:SHOWN_OF_FINGERPRINT] if manifest else "?",
        f"{state.built.astimezone():%Y-%m-%d %H:%M}" if state.built else "?",
        f"[red]damaged: {state.problem}[/red]" if state.problem else "[green]complete[/green]",
    ]
