"""`trias models …`: make the served models, and see which versions are there."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from export.build import BuildReport, build_model, why_left_out
from export.live import LivePointer, read_live
from export.parts import Device
from export.repository import VersionState, build_lock, list_versions, retire
from export.spec import ModelSpec, known_models, load_spec
from orchestrator.errors import ConfigurationError
from orchestrator.settings import Settings

__all__ = ["app"]

app = typer.Typer(help="Make the models that Triton serves, and see which versions are there.", no_args_is_help=True)

SHOWN_OF_FINGERPRINT = 12  # enough to tell versions apart by eye
MEGABYTE = 1_000_000
QUALITY = "quality."


@app.command()
def build(
    context: typer.Context,
    force: Annotated[bool, typer.Option("--force", help="Build even what is up to date.")] = False,
    model: Annotated[list[str] | None, typer.Option(help="Only this (repeatable); default: all for a CPU.")] = None,
    gpu: Annotated[bool, typer.Option("--gpu", help="For a GPU, in half precision: --model gpu/bge-m3.")] = False,
) -> None:
    """Make the served models from their published weights, checking every step. Quick where all is up to date."""
    settings: Settings = context.obj
    console = Console()
    for spec in [load_spec(name) for name in model or known_models()]:
        if not model and (lacks := why_left_out(spec)):
            console.print(lacks, highlight=False, soft_wrap=True)
            continue
        report = _build(spec, settings, device="gpu" if gpu else "cpu", force=force, console=console)
        _tell(report, console)


def _build(spec: ModelSpec, settings: Settings, *, device: Device, force: bool, console: Console) -> BuildReport:
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
            device=device,
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
    pointer = read_live(report.folder.parent)
    if pointer is not None and pointer.live != str(report.version):
        console.print(
            f"Version {pointer.live} stays live; this one goes live with: "
            f"trias rollback {report.model} --to {report.version}",
            highlight=False,
            soft_wrap=True,
        )


@app.command("list")
def list_(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, for machines")] = False,
) -> None:
    """Show the versions in the model repository: which is live and since when, what they are, which gates they passed.

    Exit code 1 where a `live.json` does not tell which version is live.
    """
    settings: Settings = context.obj
    listings = [_listing(settings.paths.model_repository / name) for name in known_models()]
    if as_json:
        typer.echo(json.dumps({one.model: one.as_tree() for one in listings}, ensure_ascii=False))
    else:
        console = Console()
        console.print(_table(listings))
        for listing in listings:
            if listing.fault:
                console.print(f"[red]{escape(listing.fault)}[/red]", highlight=False, soft_wrap=True)
            elif not listing.states:
                console.print(escape(_how_to_get(listing.model)), highlight=False, soft_wrap=True)
    raise typer.Exit(1 if any(listing.fault for listing in listings) else 0)


@app.command()
def prune(
    context: typer.Context,
    model: Annotated[list[str] | None, typer.Option(help="Only this model (repeatable); default: all.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be removed, and remove nothing.")] = False,
) -> None:
    """Remove the versions that are neither live, nor what a rollback returns to, nor a candidate."""
    settings: Settings = context.obj
    console = Console()
    freed = 0
    for name in model or known_models():
        folder = settings.paths.model_repository / load_spec(name).model
        if not folder.is_dir():
            continue
        with build_lock(folder):
            listing = _listing(folder)
            if listing.fault:
                raise ConfigurationError(listing.fault)
            for state in listing.states:
                if not listing.role_of(state):
                    freed += state.size
                    console.print(f"{name} version {state.version}", highlight=False)
                    if not dry_run:
                        retire(state.folder)
    console.print(f"{freed / MEGABYTE:.0f} MB {'would be ' if dry_run else ''}freed", highlight=False)


@dataclass(frozen=True, slots=True)
class _Listing:
    """A model's versions and its pointer; ``fault``: why there is none that can be relied on."""

    model: str
    states: list[VersionState]
    pointer: LivePointer | None
    fault: str = ""

    def role_of(self, state: VersionState) -> str:
        """``live``, ``candidate``, ``previous`` or empty."""
        number = str(state.version)
        if self.pointer is None:
            newest = max((one.version for one in self.states), default=0)
            return "live" if state.version == newest and not self.fault else ""
        named = {self.pointer.previous: "previous", self.pointer.candidate: "candidate", self.pointer.live: "live"}
        return named.get(number, "")

    def gates_of(self, state: VersionState) -> dict[str, float]:
        """What its gates measured: those of its publication, else of its build."""
        published = self.pointer.gates_of(str(state.version)) if self.pointer else {}
        return published or dict(state.manifest.checks if state.manifest else {})

    def as_tree(self) -> dict[str, Any]:
        """For machines."""
        versions = [
            {
                "version": state.version,
                "role": self.role_of(state),
                "fingerprint": state.manifest.fingerprint if state.manifest else "",
                "precision": state.manifest.precision if state.manifest else "",
                "bytes": state.size,
                "built": state.built.isoformat() if state.built else None,
                "problem": state.problem,
                "gates": self.gates_of(state),
            }
            for state in self.states
        ]
        since = self.pointer.since.isoformat() if self.pointer else None
        history = [event.model_dump(mode="json") for event in self.pointer.history] if self.pointer else []
        return {"since": since, "fault": self.fault, "versions": versions, "history": history}


def _listing(folder: Path) -> _Listing:
    states = list_versions(folder)
    try:
        return _Listing(folder.name, states, read_live(folder))
    except ConfigurationError as error:
        return _Listing(folder.name, states, None, str(error))


def _table(listings: list[_Listing]) -> Table:
    table = Table(show_edge=False)
    for column in ("model", "version", "live", "precision", "MB", "fingerprint", "built", "gates", "state"):
        table.add_column(column, overflow="fold", no_wrap=column == "model")
    for listing in listings:
        if not listing.states:
            table.add_row(listing.model, *"–––––––", "[yellow]not built[/yellow]")
        for state in listing.states:
            table.add_row(listing.model, *_cells(listing, state))
    return table


def _how_to_get(model: str) -> str:
    return why_left_out(load_spec(model)) or f"Model {model} is not built: `trias models build` makes it."


def _cells(listing: _Listing, state: VersionState) -> list[str]:
    manifest = state.manifest
    role = listing.role_of(state)
    if role == "live" and listing.pointer is not None:
        role = f"since {listing.pointer.since.astimezone():%Y-%m-%d %H:%M}"
    gates = listing.gates_of(state)
    shown = [f"{name.removeprefix(QUALITY)} {figure:.3f}" for name, figure in gates.items() if name.startswith(QUALITY)]
    return [
        str(state.version),
        f"[green]{role}[/green]" if role.startswith(("since", "live")) else role,
        manifest.precision if manifest else "?",
        f"{state.size / MEGABYTE:.1f}",
        manifest.fingerprint[:SHOWN_OF_FINGERPRINT] if manifest else "?",
        f"{state.built.astimezone():%Y-%m-%d %H:%M}" if state.built else "?",
        ", ".join(shown) or (f"{len(gates)} passed" if gates else "–"),
        f"[red]damaged: {escape(state.problem)}[/red]" if state.problem else "[green]complete[/green]",
    ]
