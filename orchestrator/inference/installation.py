"""The tritonserver of the nvidia-pytriton wheel: where its parts lie and how they are put together to run."""

from __future__ import annotations

import ctypes.util
import filecmp
import importlib.util
import os
import shutil
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import ConfigurationError
from orchestrator.settings import PROJECT

__all__ = ["TritonInstallation", "build_backend_directory", "find_triton"]

STUB = "triton_python_backend_stub"
BACKENDS, BACKEND_FILE = "backends", "model.py"
# Our Python-based backends; a model repository may bring its own version of each.
OWN_BACKENDS = ("genai", "onnxruntime")
INSTALL_HINT = "Install it: pip install 'trias[local]'."


@dataclass(frozen=True, slots=True)
class TritonInstallation:
    """Where the parts of a tritonserver lie.

    Attributes:
        binary: the server.
        python_backend: folder of its python backend.
        stub: the program that runs a model's Python, for this interpreter's version.
        caches: folder of its response caches.
        libraries: folders that the loader must search.
    """

    binary: Path
    python_backend: Path
    stub: Path
    caches: Path
    libraries: tuple[Path, ...]

    def environment(self) -> dict[str, str]:
        """The environment that server and stubs need; the rest is inherited."""
        environment = dict(os.environ)
        # The stub finds the virtual environment by looking for `python` on PATH; VIRTUAL_ENV and PYTHONPATH it ignores.
        environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment.get("PATH", os.defpath)])
        libraries = [str(folder) for folder in self.libraries]
        inherited = environment.get("LD_LIBRARY_PATH")
        environment["LD_LIBRARY_PATH"] = os.pathsep.join(libraries + ([inherited] if inherited else []))
        # Threads that wait by spinning would starve the other processes on a small machine.
        environment["OMP_WAIT_POLICY"] = "PASSIVE"
        return environment


def find_triton() -> TritonInstallation:
    """Locate the wheel's parts.

    Raises:
        ConfigurationError: it is not installed, or not for this version of Python; says what to install.
    """
    spec = importlib.util.find_spec("pytriton")
    if spec is None or not spec.submodule_search_locations:
        raise ConfigurationError("tritonserver is not installed (package nvidia-pytriton).", hint=INSTALL_HINT)
    package = Path(spec.submodule_search_locations[0])
    server = package / "tritonserver"
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    found = TritonInstallation(
        binary=server / "bin" / "tritonserver",
        python_backend=server / "backends" / "python",
        stub=server / "python_backend_stubs" / python / STUB,
        caches=server / "caches",
        libraries=(_libpython_folder(python), package.parent / "nvidia_pytriton.libs"),
    )
    if not found.binary.is_file():
        raise ConfigurationError(f"tritonserver is missing at {found.binary}.", hint=INSTALL_HINT)
    if not found.stub.is_file():
        raise ConfigurationError(
            f"nvidia-pytriton has no stub for Python {python}.", hint="Use Python 3.10, 3.11 or 3.12."
        )
    return found


def build_backend_directory(installation: TritonInstallation, *, repository: Path, target: Path) -> Path:
    """Put together the folder that ``--backend-directory`` names: the python backend with its stub, and our own.

    Several servers may share ``target``: every file is put in place by one rename and is the same for all of them.

    Args:
        installation: where the wheel's parts lie.
        repository: the model repository; its ``backends/<name>/model.py`` is used, or else the project's own.
        target: the folder to fill.

    Raises:
        ConfigurationError: a backend is found in neither place, or the folder cannot be written.
    """
    backends = {name: _own_backend(repository, name) for name in OWN_BACKENDS}
    try:
        _copy(installation.stub, target / "python" / STUB)
        for part in installation.python_backend.iterdir():
            if part.is_file():
                _copy(part, target / "python" / part.name)
        for name, path in backends.items():
            _copy(path, target / name / BACKEND_FILE)
    except OSError as error:
        raise ConfigurationError(
            f"The backend directory {target} cannot be written: {error}.", hint="Check paths.data."
        ) from None
    return target


def _own_backend(repository: Path, name: str) -> Path:
    folders = (repository / BACKENDS, PROJECT / "model_repository" / BACKENDS)
    for folder in folders:
        if (folder / name / BACKEND_FILE).is_file():
            return folder / name / BACKEND_FILE
    raise ConfigurationError(
        f"The {name} backend is missing: {folders[0] / name / BACKEND_FILE}.", hint="Check paths.model_repository."
    )


def _libpython_folder(python: str) -> Path:
    folder = Path(sysconfig.get_config_var("LIBDIR") or "/usr/lib")
    library = sysconfig.get_config_var("INSTSONAME") or f"libpython{python}.so.1.0"
    if not (folder / library).exists() and ctypes.util.find_library(f"python{python}") is None:
        raise ConfigurationError(
            f"Triton's Python stub needs {library}, which this Python ({sys.executable}) comes without.",
            hint=f"Install it (Debian: apt install libpython{python}), or use a Python built with --enable-shared.",
        )
    return folder


def _copy(source: Path, target: Path) -> None:
    # Copies, not links: Triton refuses a library whose real path lies outside the backend directory.
    if target.is_file() and filecmp.cmp(source, target, shallow=False):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.with_name(f".{target.name}.{os.getpid()}")
    shutil.copy(source, fresh)
    fresh.replace(target)
