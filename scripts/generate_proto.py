"""Generate the Python of the contract from proto/trias/v1/*.proto, next to the sources."""

from __future__ import annotations

import argparse
import subprocess
import sys
import sysconfig
from pathlib import Path

from grpc_tools import protoc

ROOT = Path(__file__).resolve().parents[1]
PROTO = ROOT / "proto"


def generate(destination: Path) -> None:
    """Write ``*_pb2.py``, ``*_pb2.pyi``, ``*_pb2_grpc.py`` and ``*_pb2_grpc.pyi`` below ``destination``.

    Raises:
        RuntimeError: protoc refused a file; its own message went to stderr.
    """
    sources = sorted(str(path.relative_to(PROTO)) for path in PROTO.glob("trias/v1/*.proto"))
    services = [name for name in sources if name.endswith("_service.proto")]
    includes = [f"-I{PROTO}", f"-I{Path(protoc.__file__).parent / '_proto'}"]
    plugin = Path(sysconfig.get_path("scripts")) / "protoc-gen-mypy_grpc"
    runs = (
        [*includes, f"--python_out={destination}", f"--pyi_out={destination}", *sources],
        [
            *includes,
            f"--plugin=protoc-gen-mypy_grpc={plugin}",
            f"--grpc_python_out={destination}",
            f"--mypy_grpc_out={destination}",
            *services,
        ],
    )
    for arguments in runs:
        # A process of its own: protoc keeps descriptors for the life of the interpreter.
        finished = subprocess.run([sys.executable, "-m", "grpc_tools.protoc", *arguments], check=False)
        if finished.returncode:
            raise RuntimeError(f"protoc failed on {PROTO}/trias/v1 (exit {finished.returncode})")
    (destination / "trias" / "v1" / "__init__.py").touch()
    (destination / "trias" / "v1" / "py.typed").touch()


def main() -> None:
    """Generate in place, or below ``--out``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=PROTO, help="where to write (default: next to the .proto files)")
    generate(parser.parse_args().out)


if __name__ == "__main__":
    main()
