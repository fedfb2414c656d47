"""Shared memory that a tritonserver left behind when it did not exit cleanly."""

from __future__ import annotations

import logging
import os
from pathlib import Path

__all__ = ["SHM_FOLDER", "SHM_REGIONS", "remove_leftover_regions"]

log = logging.getLogger(__name__)

SHM_FOLDER = Path("/dev/shm")  # noqa: S108 (where Triton's python backend puts its regions)
# One name a backend: python, and each Python-based backend under its own name.
SHM_REGIONS = "triton_*_backend_shm_region_*"


def remove_leftover_regions(folder: Path = SHM_FOLDER, *, processes: Path = Path("/proc")) -> tuple[str, ...]:
    """Remove this user's regions that no living process has open or mapped.

    The regions are listed before the processes are: one that is in the list was made by a process that is either
    seen to use it or is dead, so a server that starts meanwhile loses nothing.

    Returns:
        The names removed.
    """
    if not folder.is_dir():
        return ()
    regions = {str(path): path for path in folder.glob(SHM_REGIONS) if _owner(path) == os.getuid() and path.is_file()}
    if not regions:
        return ()
    for process in processes.iterdir():
        if process.name.isdigit():
            for used in _used_by(process, f"{folder}/triton_"):
                regions.pop(used, None)
    for path in regions.values():
        path.unlink(missing_ok=True)
    removed = tuple(sorted(path.name for path in regions.values()))
    if removed:
        log.info("removed %d shared-memory regions of a tritonserver that is gone", len(removed))
    return removed


def _owner(path: Path) -> int:
    try:
        return path.stat().st_uid
    except OSError:
        return -1


def _used_by(process: Path, prefix: str) -> set[str]:
    used = set()
    # A process may end while it is read, and other users' are closed to us: neither can hold a region of ours.
    try:
        for line in (process / "maps").read_text(errors="replace").splitlines():
            start = line.find(prefix)
            if start >= 0:
                used.add(line[start:])
        for descriptor in (process / "fd").iterdir():
            target = _target(descriptor)
            if target.startswith(prefix):
                used.add(target)
    except OSError:
        pass
    return used


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return ""
