"""From a checkpoint to a version beside the live one: integrity, export, parity and quality, each a gate.

Nothing that callers use is touched here: the last step is one rename that makes a version folder appear, and the live
version has been written down before it. `export.golive` does the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from export.base import Progress, silent
from export.config import CONFIG, render_config
from export.exporting import export_checkpoint
from export.golden import Golden
from export.integrity import check_integrity
from export.live import LivePointer, read_live, write_live
from export.manifest import Manifest
from export.quality import Run, check_quality, measure, run_graph
from export.recipe import checkpoint_files, recipe_of
from export.repository import VersionState, build_lock, list_versions, publish, retire, staging_folder
from export.spec import EncoderSpec, ModelSpec

__all__ = ["Exporter", "Prepared", "newest_complete", "prepare_version"]


class Exporter(Protocol):
    """Makes the files of a version, as `export.exporting.export_checkpoint` does."""

    def __call__(self, spec: ModelSpec, checkpoint: Path, target: Path, *, data: Path, progress: Progress) -> Manifest:
        """See there."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A version that passed its gates on disk.

    Attributes:
        number: of its folder.
        created: whether this publication made the folder; one that was there before is not its to remove.
        gates: what each gate measured.
        quality: its figures on the golden set.
        live_quality: those of the live version; None where there is none.
        pointer: what is live; None where the model was never served.
        golden: SHA-256 of the golden set.
    """

    spec: ModelSpec
    model_folder: Path
    number: int
    manifest: Manifest
    created: bool
    gates: Mapping[str, float]
    quality: Mapping[str, float]
    live_quality: Mapping[str, float] | None = None
    pointer: LivePointer | None = None
    golden: str = ""

    @property
    def version(self) -> str:
        """The number, as Triton has it."""
        return str(self.number)

    @property
    def folder(self) -> Path:
        """Where its files lie."""
        return self.model_folder / self.version

    @property
    def is_live(self) -> bool:
        """Whether it is live already."""
        return self.pointer is not None and self.pointer.live == self.version

    @property
    def live_gates(self) -> dict[str, float]:
        """What the live version measured at the quality gates."""
        return {f"quality.{metric}": figure for metric, figure in (self.live_quality or {}).items()}

    def discard(self) -> None:
        """Remove the version, if this publication made it."""
        if self.created:
            retire(self.folder)


def prepare_version(
    spec: ModelSpec,
    checkpoint: Path,
    *,
    repository: Path,
    data: Path,
    golden: Golden,
    export: Exporter = export_checkpoint,
    run: Run = run_graph,
    progress: Progress = silent,
) -> Prepared:
    """Make a version of ``checkpoint`` and have it pass the gates that need no server.

    A complete version that was made from the same checkpoint by the same recipe is used again, which is how a
    publication that was interrupted goes on.

    Args:
        spec: of the model.
        checkpoint: a folder, see `export.exporting.export_checkpoint`.
        repository: the model repository.
        data: Trias's data folder.
        golden: what the version is measured on.
        export: makes its files.
        run: gives its outputs.
        progress: told the name of each step as it begins.

    Raises:
        GateError: a gate failed; there is no new version, and the live one is untouched.
        BuildError: the checkpoint is of another kind or damaged; or another process builds or publishes this model.
        ConfigurationError: something needed is not installed, or ``live.json`` is damaged.
    """
    model_folder = repository / spec.model
    progress("Check the checkpoint's files")
    gates = check_integrity(checkpoint)
    with build_lock(model_folder), ExitStack() as stack:
        progress("Compare with what is there")
        versions = list_versions(model_folder)
        pointer = adopt_live(model_folder, versions)
        live = _by_number(versions, pointer.live) if pointer else None
        recipe = recipe_of(spec, files=checkpoint_files(checkpoint))
        known = next((state for state in reversed(versions) if _is_of(state, recipe)), None)
        if known is None:
            folder = stack.enter_context(staging_folder(model_folder))
            manifest = export(spec, checkpoint, folder, data=data, progress=progress)
            known = next((state for state in versions if _is_same(state, manifest)), None)
        if known is not None:
            assert known.manifest is not None
            folder, manifest = known.folder, known.manifest
        gates |= manifest.checks
        quality: dict[str, float] = {}
        live_quality = None
        # A model that writes text must be served to be measured: its canary does both.
        if isinstance(spec, EncoderSpec):
            progress(f"Measure on the golden set {golden.name}")
            quality = measure(spec, folder, golden, run=run)
            if live is not None:
                same = live.folder == folder
                live_quality = quality if same else measure(spec, live.folder, golden, run=run)
            gates |= check_quality(spec, quality, live_quality, against=f"live version {live.version}" if live else "")
        if known is None:
            number = max((state.version for state in versions), default=0) + 1
            progress(f"Write version {number}")
            _write_config(spec, model_folder)
            publish(folder, model_folder / str(number))
        else:
            number = known.version
    return Prepared(
        spec=spec,
        model_folder=model_folder,
        number=number,
        manifest=manifest,
        created=known is None,
        gates=gates,
        quality=quality,
        live_quality=live_quality,
        pointer=pointer,
        golden=golden.digest,
    )


def adopt_live(model_folder: Path, versions: list[VersionState]) -> LivePointer | None:
    """What is live, written down: without a pointer, a new version's folder alone would make it live.

    Returns:
        None where no version is complete.
    """
    pointer = read_live(model_folder)
    newest = newest_complete(versions)
    if pointer is None and newest is not None:
        assert newest.manifest is not None
        pointer = LivePointer.adopting(str(newest.version), newest.manifest.fingerprint)
        write_live(model_folder, pointer)
    return pointer


def newest_complete(versions: list[VersionState]) -> VersionState | None:
    """The last version whose files are all there and whole."""
    return next((state for state in reversed(versions) if not state.problem), None)


def _by_number(versions: list[VersionState], number: str) -> VersionState | None:
    return next((state for state in versions if str(state.version) == number and not state.problem), None)


def _is_of(state: VersionState, recipe: str) -> bool:
    return not state.problem and state.manifest is not None and state.manifest.source.recipe == recipe


def _is_same(state: VersionState, manifest: Manifest) -> bool:
    return not state.problem and state.manifest is not None and state.manifest.fingerprint == manifest.fingerprint


def _write_config(spec: ModelSpec, model_folder: Path) -> None:
    config = model_folder / CONFIG
    if not config.exists():
        config.write_text(render_config(spec), encoding="utf-8")
