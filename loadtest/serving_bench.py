"""`make bench-serving`: the served embedder beside other ways to run the same model, in one run on the same cores.

Every system embeds the repository's own questions and passages, in turn, round after round; what is printed is our
throughput over theirs, not a figure of this machine. What is not installed is left out, and said so.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from rich.console import Console

from export.spec import load_spec
from loadtest.serving.loads import LOADS, Load
from loadtest.serving.material import MODEL, Material, Texts, own_texts, prepare
from loadtest.serving.ratios import Agreement, agreement
from loadtest.serving.report import WIDTH, Comparison, as_json, print_comparison
from loadtest.serving.systems import RIVALS_PYTHON, System, systems
from loadtest.serving.workers import BenchError, Skipped, Worker, available_cores, on_cores
from orchestrator.errors import TriasError
from orchestrator.inference.launcher import TritonServer
from orchestrator.settings import LauncherSettings, PathSettings

__all__ = ["compare", "main", "measure"]

# What the quickest of a system's ways is found with.
CHOOSING_S = 1.0


def main() -> int:
    """Compare, print, write JSON; the exit code is 1 where there is nothing to compare."""
    options = _options()
    console = Console(width=WIDTH)
    try:
        comparisons = asyncio.run(_compare_all(options, console))
    except TriasError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201
        return 1
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        tree = [as_json(comparison) for comparison in comparisons]
        options.json.write_text(json.dumps(tree, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
        console.print(f"figures as JSON: {options.json}", highlight=False)
    return 0


async def _compare_all(options: argparse.Namespace, console: Console) -> list[Comparison]:
    paths = PathSettings()
    texts = own_texts()
    console.print("Preparing: the checkpoint of the live version, its float32 graph, its own vectors", highlight=False)
    material = prepare(paths.model_repository, paths.data, options.data, texts, checkpoint=options.checkpoint)
    logs = options.data / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    comparisons = []
    for cores in options.cores:
        with on_cores(cores):
            comparison = await compare(material, texts, options, cores=cores, console=console)
        print_comparison(comparison, LOADS, console)
        comparisons.append(comparison)
    return comparisons


async def compare(
    material: Material, texts: Texts, options: argparse.Namespace, *, cores: int, console: Console
) -> Comparison:
    """Start Triton and every system that is installed on this thread's cores; measure; end them.

    Raises:
        BenchError: a system failed, or computes something else than the checkpoint.
        TriasError: Triton did not start.
    """
    ports = LauncherSettings(grpc_port=0, http_port=0, metrics_port=0)
    repository = PathSettings().model_repository
    async with AsyncExitStack() as stack:
        server = TritonServer(ports, repository=repository, data=options.data, models=[MODEL])
        await stack.enter_async_context(server)
        known = systems(material, server.grpc_address, repository, rivals=options.rivals)
        workers, skipped = await _start(stack, known, texts, threads=cores, logs=options.data / "logs")
        return await measure(
            workers, texts, material, rounds=options.rounds, seconds=options.seconds, skipped=skipped, console=console
        )


async def _start(
    stack: AsyncExitStack, known: Sequence[System], texts: Texts, *, threads: int, logs: Path
) -> tuple[list[Worker], list[str]]:
    workers, skipped = [], []
    for system in known:
        try:
            worker = await Worker.start(system, texts, threads=threads, logs=logs)
        except Skipped as reason:
            skipped.append(str(reason))
            continue
        stack.push_async_callback(worker.end)
        workers.append(worker)
    return workers, skipped


async def measure(
    workers: Sequence[Worker],
    texts: Texts,
    material: Material,
    *,
    rounds: int,
    seconds: float,
    loads: Sequence[Load] = LOADS,
    choosing: float = CHOOSING_S,
    skipped: Sequence[str] = (),
    console: Console,
) -> Comparison:
    """Choose each system's way, see that all compute the same, then time them in turn.

    Args:
        workers: that are ready, ours first.
        texts: some are compared.
        material: with the checkpoint's vectors of these.
        rounds: how often each load is done by each system.
        seconds: for how long each time.
        loads: to do.
        choosing: seconds for each way that a system offers.
        skipped: for the report.
        console: told what happens.
    """
    ways: dict[str, dict[str, str]] = {}
    agreements: dict[str, Agreement] = {}
    for worker in workers:
        name = worker.system.name
        console.print(f"{name}: warming up, choosing its quickest way, comparing its vectors", highlight=False)
        ways[name] = {load.name: await worker.choose(load, choosing) for load in loads}
        agreements[name] = await _agreement(worker, texts, material, loads)
    figures: dict[str, list[dict[str, float]]] = {load.name: [] for load in loads}
    for number in range(1, rounds + 1):
        console.print(f"round {number} of {rounds}", highlight=False)
        for load in loads:
            figures[load.name].append(
                {worker.system.name: (await worker.run(load, seconds)).rate for worker in workers}
            )
    libraries = {worker.system.name: worker.libraries for worker in workers}
    return Comparison(workers[0].threads, agreements, libraries, ways, figures, tuple(skipped))


async def _agreement(worker: Worker, texts: Texts, material: Material, loads: Sequence[Load]) -> Agreement:
    found = [
        agreement(await worker.embed(load, texts.compared[load.kind]), material.reference[load.kind]) for load in loads
    ]
    whole = Agreement(min(one.worst for one in found), sum(one.mean for one in found) / len(found))
    if not whole.worst >= worker.system.floor:
        raise BenchError(
            f"{worker.system.name} computes something else than the checkpoint: worst cosine {whole.worst:.4f}, "
            f"at least {worker.system.floor:g} is wanted. Nothing was timed."
        )
    return whole


def _options() -> argparse.Namespace:
    serving = load_spec(MODEL).serving
    most = min(serving.instances * serving.threads, available_cores())
    parser = argparse.ArgumentParser(prog="make bench-serving", description=__doc__)
    parser.add_argument("--rounds", type=_count, default=3, help="how often each system has its turn at each load")
    parser.add_argument("--seconds", type=float, default=3.0, help="of a turn")
    parser.add_argument(
        "--cores",
        type=_count,
        nargs="+",
        default=sorted({1, most}),
        help="that everything, clients included, is kept to; one comparison each (default: one, and as many as the "
        f"served instances have threads: {most})",
    )
    parser.add_argument("--checkpoint", type=Path, help="what the live version was made of, where it was published")
    parser.add_argument("--json", type=Path, help="write every round's figures there")
    parser.add_argument("--data", type=Path, default=PathSettings().data / "bench-serving", help="graph and logs")
    parser.add_argument("--rivals", type=Path, default=RIVALS_PYTHON, help="Python of the other systems' environment")
    options = parser.parse_args()
    too_many = [cores for cores in options.cores if cores > available_cores()]
    if too_many:
        parser.error(f"--cores {too_many[0]}: this process may use {available_cores()}")
    return options


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


if __name__ == "__main__":
    sys.exit(main())
