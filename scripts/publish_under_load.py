"""Publish a checkpoint and roll it back under load, on a Triton and a repository of its own; print what callers saw.

python scripts/publish_under_load.py router adapters/router-medical-insurance --callers 8
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from export.spec import EncoderSpec, load_spec
from orchestrator.errors import TriasError
from orchestrator.inference.batching import pad
from orchestrator.inference.deadline import Deadline
from orchestrator.inference.launcher import TritonServer
from orchestrator.inference.repository import live_version
from orchestrator.inference.served import ServedModel
from orchestrator.inference.versions import ModelVersion
from orchestrator.settings import LauncherSettings, Settings, load_settings

CALL_S = 30.0
TEXT = "第{}位参保人第{}次问：三级医院住院报销比例是多少？"


@dataclass
class Phase:
    """What callers saw between two commands."""

    name: str
    times: list[float] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    versions: Counter[str] = field(default_factory=Counter)


class Callers:
    """Calls one encoder all the time, from several tasks."""

    def __init__(self, settings: Settings, spec: EncoderSpec) -> None:
        self._served = ServedModel(settings.inference, settings.paths.model_repository, spec.model)
        self._spec = spec
        self._stopped = asyncio.Event()
        self.phases: list[Phase] = []

    def enter(self, name: str) -> None:
        """From now on, what is seen belongs to this phase."""
        self.phases.append(Phase(name))

    async def run(self, callers: int) -> None:
        """Call until `stop`."""
        try:
            await asyncio.gather(*(self._call(number) for number in range(callers)))
        finally:
            await self._served.close()

    def stop(self) -> None:
        """Let every call under way end, then stop."""
        self._stopped.set()

    async def _call(self, caller: int) -> None:
        turn = 0
        while not self._stopped.is_set():
            turn += 1
            text = self._spec.prefixes.get("query", "") + TEXT.format(caller, turn)
            phase, started = self.phases[-1], time.perf_counter()

            async def work(version: ModelVersion, text: str = text) -> str:
                ids = await version.tokenizer.encode([text])
                tokens, mask = pad(ids, length=len(ids[0]), pad_id=version.tokenizer.pad_id)
                inputs = {"input_ids": tokens, "attention_mask": mask}
                await self._served.infer(version, inputs, Deadline.after(CALL_S), roles=tuple(self._spec.outputs))
                return version.version

            try:
                phase.versions[await self._served.run(work, Deadline.after(CALL_S))] += 1
            except TriasError as error:
                phase.failed.append(str(error))
            phase.times.append((time.perf_counter() - started) * 1000)


async def trias(settings_file: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    """Run a command with --json; its exit code and what it printed."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", "from orchestrator.cli import main; main()", "--config", str(settings_file)),
        *arguments,
        "--json",
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await process.communicate()
    code = await process.wait()
    return code, json.loads(output) if output.strip() else {}


async def measure(model: str, checkpoint: Path, callers: int, rest_s: float, console: Console) -> int:
    """The whole run; the exit code."""
    spec = load_spec(model)
    if not isinstance(spec, EncoderSpec):
        console.print("Only encoders can be called by this script.")
        return 2
    own = load_settings()
    with tempfile.TemporaryDirectory(prefix="trias-publish-") as folder:
        repository, data = Path(folder) / "repository", Path(folder) / "data"
        live = live_version(own.paths.model_repository, spec.model)
        if not live:
            console.print(f"{spec.model} has no version to begin with: trias models build")
            return 2
        shutil.copytree(own.paths.model_repository / "backends", repository / "backends")
        for entry in (live, "config.pbtxt"):
            source, target = own.paths.model_repository / spec.model / entry, repository / spec.model / entry
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(source, target) if source.is_dir() else shutil.copyfile(source, target)
        (data / "checkpoints").mkdir(parents=True)
        (data / "checkpoints" / spec.checkpoint).symlink_to(
            (own.paths.data / "checkpoints" / spec.checkpoint).absolute()
        )
        launcher = LauncherSettings(grpc_port=0, http_port=0, metrics_port=0)
        async with TritonServer(launcher, repository=repository, data=data, models=[spec.model]) as server:
            tree = {
                "paths": {"data": str(data), "model_repository": str(repository)},
                "inference": {"endpoints": {"*": server.grpc_address}},
                # No server of anybody else's is asked for its library.
                "server": {"port": 1},
            }
            file = Path(folder) / "trias.yaml"
            file.write_text(json.dumps(tree))
            return await under_load(load_settings(file), file, spec, checkpoint, callers, rest_s, console)


async def under_load(  # noqa: PLR0917 (one caller)
    settings: Settings,
    file: Path,
    spec: EncoderSpec,
    checkpoint: Path,
    callers: int,
    rest_s: float,
    console: Console,
) -> int:
    """Publish and roll back while callers call."""
    load = Callers(settings, spec)
    load.enter("before")
    calling = asyncio.ensure_future(load.run(callers))
    await asyncio.sleep(rest_s)
    load.enter("publish")
    code, published = await trias(file, "publish", spec.model, str(checkpoint))
    load.enter("after it")
    await asyncio.sleep(rest_s)
    load.enter("rollback")
    back, _ = await trias(file, "rollback", spec.model) if not code else (0, {})
    load.enter("after that")
    await asyncio.sleep(rest_s)
    load.stop()
    await calling
    report(load.phases, console)
    console.print(f"publish: {published.get('change')} ({published.get('error', '')}) {published.get('seconds')}")
    return code or back or int(any(phase.failed for phase in load.phases))


def report(phases: list[Phase], console: Console) -> None:
    """A table of what callers saw."""
    table = Table("phase", "requests", "failed", "answered by version", "P50 ms", "P95 ms", "P99 ms", "longest ms")
    for phase in phases:
        figures = np.percentile(phase.times or [0.0], [50, 95, 99, 100])
        versions = ", ".join(f"{version}: {count}" for version, count in sorted(phase.versions.items()))
        shown = [f"{figure:.1f}" for figure in figures]
        table.add_row(phase.name, str(len(phase.times)), str(len(phase.failed)), versions, *shown)
        for message in phase.failed[:3]:
            console.print(f"[red]{message}[/red]", soft_wrap=True)
    console.print(table)


def main() -> int:
    """Parse the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("--callers", type=int, default=8)
    parser.add_argument("--rest", type=float, default=5.0, help="seconds between the commands")
    arguments = parser.parse_args()
    return asyncio.run(
        measure(arguments.model, arguments.checkpoint, arguments.callers, arguments.rest, Console(width=140))
    )


if __name__ == "__main__":
    sys.exit(main())
