"""From paths to source files: folders are walked, what is no document is left out and named."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ingest.sidecar import SUFFIX

__all__ = ["Ignored", "Source", "find_sources"]

_LEFTOVERS = (".tmp", ".temp", ".bak", ".swp", ".part", ".crdownload")
_SYSTEM_FILES = frozenset({"thumbs.db", "desktop.ini"})


@dataclass(frozen=True, slots=True)
class Source:
    """A file to ingest.

    Attributes:
        path: where it lies, without symbolic links.
        name: how the user can recognise it.
        doc_source: the name under which it is stored. The document's id comes from it, so it is the same for every
            spelling of the path: the absolute real path, or the path below ``base`` where one is given.
    """

    path: Path
    name: str
    doc_source: str


@dataclass(frozen=True, slots=True)
class Ignored:
    """A file that is no source."""

    name: str
    kind: str
    message: str


def find_sources(paths: Iterable[Path], base: Path | None = None) -> Iterator[Source | Ignored]:
    """Every file below the paths, in order of its name, each once.

    Args:
        paths: files and folders. A file that is named is taken whatever its name; one that does not exist too, so that
            the report says so.
        base: sources below it are stored under their path relative to it, which makes ids portable across machines.
    """
    seen: set[str] = set()
    root = os.path.realpath(base) if base is not None else None
    for path in paths:
        for file in [path] if not path.is_dir() else _walk(path):
            ignored = _ignored(file) if file is not path else None
            if ignored:
                yield ignored
                continue
            if file is not path and file.name.endswith(SUFFIX):
                continue
            real = os.path.realpath(file)
            if real in seen:
                continue
            seen.add(real)
            yield Source(Path(real), _printable(str(file)), _printable(_stored_name(real, root)))


def _walk(folder: Path) -> Iterator[Path]:
    """Files of a folder and its sub-folders; symbolic links to folders are not followed, hidden folders not entered."""
    for where, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            yield Path(where, name)


def _ignored(file: Path) -> Ignored | None:
    name = file.name
    shown = _printable(str(file))
    if name.startswith(("~$", ".~lock")) or name.endswith("~") or name.lower().endswith(_LEFTOVERS):
        return Ignored(shown, "TEMPORARY_FILE", "a program's temporary file.")
    if name.startswith(".") or name.lower() in _SYSTEM_FILES:
        return Ignored(shown, "HIDDEN_FILE", "a hidden or system file.")
    return None


def _stored_name(real: str, root: str | None) -> str:
    if root is not None and os.path.commonpath([real, root]) == root:
        real = os.path.relpath(real, root)
    return Path(real).as_posix()


def _printable(name: str) -> str:
    """A name without the half characters that Python puts for bytes that are not UTF-8."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
