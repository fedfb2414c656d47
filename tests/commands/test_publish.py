"""Publishing and rolling back on a real tritonserver under real callers, and killed at every step."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from export.canary import CanaryLimits
from export.golive import go_live
from export.live import read_live
from export.publish import prepare_version
from export.switching import LiveModel, LiveRules, Outcome
from orchestrator.commands.model_serving import callers_triton, some_triton
from orchestrator.errors import GateError, NotFoundError
from orchestrator.inference.embedder import TritonEmbedder
from orchestrator.inference.launcher import TritonServer
from orchestrator.settings import LauncherSettings, Settings

pytestmark = [pytest.mark.triton, pytest.mark.slow]

CALLERS = 8
PATIENCE_S = 90.0
# A noisy machine is no reason to stop.
RULES = LiveRules(CanaryLimits(rounds=1, p95_ratio=1000), watch_s=0.5, drain_s=1.5)
WORDS = ("query:", "passage:", "乙", "甲", "丁", "丙", "比例", "报销", "住院", "门诊")


class Bench:
    """A repository with one live version, the Triton that serves it, and a way to publish another."""

    def __init__(self, server: TritonServer, settings: Settings, checkpoints: Any, golden: Any) -> None:
        self.server, self.settings, self.checkpoints, self.golden = server, settings, checkpoints, golden
        self.repository = settings.paths.model_repository
        self.folder = self.repository / "embedder"

    async def publish(self, checkpoint: Path, *, indexed_by: str = "", dry_run: bool = False) -> Outcome:
        prepared = prepare_version(
            self.checkpoints.spec,
            checkpoint,
            repository=self.repository,
            data=self.settings.paths.data,
            golden=self.golden,
            export=self.checkpoints.export,
        )
        async with some_triton(self.settings, "embedder") as serving:
            return await go_live(
                prepared,
                serving,
                self.golden.texts,
                real=False,
                rules=RULES,
                indexed_by=indexed_by,
                dry_run=dry_run,
            )

    async def roll_back(self, to: str = "") -> Outcome:
        async with callers_triton(self.settings, "embedder") as serving:
            return await LiveModel(self.folder, serving, RULES).roll_back(to)

    def live(self) -> str:
        pointer = read_live(self.folder)
        return pointer.live if pointer else ""

    async def served(self) -> tuple[str, ...]:
        return await self.server.control.model_versions("embedder")

    @asynccontextmanager
    async def callers(self) -> AsyncIterator[list[list[str]]]:
        """Eight who call all the time; what each was answered by, in order. None of them is ever failed."""
        done = asyncio.Event()
        seen: list[list[str]] = [[] for _ in range(CALLERS)]
        inference = self.settings.inference.model_copy(update={"cache_entries": 0, "deadline_s": PATIENCE_S})
        async with TritonEmbedder(inference, self.repository) as embedder:

            async def call(mine: list[str]) -> None:
                while not done.is_set():
                    found = await embedder.embed(["甲 报销 门诊"], kind="query")
                    if not mine or mine[-1] != found.fingerprint:
                        mine.append(found.fingerprint)

            tasks = [asyncio.ensure_future(call(mine)) for mine in seen]
            while not all(seen):
                await asyncio.sleep(0.01)
            try:
                yield seen
            finally:
                done.set()
                await asyncio.gather(*tasks)


@pytest.fixture
def settings(tmp_path: Path, launcher_settings: LauncherSettings) -> Settings:
    return Settings.model_validate(
        {
            "paths": {"data": tmp_path / "data", "model_repository": tmp_path / "repository"},
            "launcher": launcher_settings.model_dump(),
            # Nobody listens there: a test with a server says where it is.
            "inference": {"endpoints": {"*": "127.0.0.1:1"}},
        }
    )


@pytest_asyncio.fixture
async def bench(
    settings: Settings, tiny_checkpoints: Any, tiny_golden: Any, tiny_repository: Any
) -> AsyncIterator[Bench]:
    repository = settings.paths.model_repository
    repository.mkdir(parents=True)
    tiny_repository.publish()
    (repository / "embedder").mkdir()
    (tiny_repository.path / "embedder" / "config.pbtxt").rename(repository / "embedder" / "config.pbtxt")
    prepare_version(
        tiny_checkpoints.spec,
        tiny_checkpoints.make("first"),
        repository=repository,
        data=settings.paths.data,
        golden=tiny_golden,
        export=tiny_checkpoints.export,
    )
    async with TritonServer(settings.launcher, repository=repository, data=settings.paths.data) as server:
        inference = settings.inference.model_copy(update={"endpoints": {"*": server.grpc_address}})
        yield Bench(server, settings.model_copy(update={"inference": inference}), tiny_checkpoints, tiny_golden)


async def test_publish_and_rollback_fail_no_caller(bench: Bench) -> None:
    async with bench.callers() as seen:
        first = seen[0][0]
        outcome = await bench.publish(bench.checkpoints.make("second", seed=2, words=WORDS))
        assert (outcome.change, outcome.live, outcome.previous, outcome.served) == ("promoted", "2", "1", True)
        assert outcome.canary is not None
        assert not outcome.canary.private
        assert await bench.served() == ("2",)
        assert {mine[-1] for mine in seen} == {outcome.fingerprint}
        back = await bench.roll_back()
        assert (back.change, back.live, back.previous) == ("rolled back", "1", "2")
        assert await bench.served() == ("1",)
        again = await bench.roll_back("2")
        assert (again.live, again.previous) == ("2", "1")
    # Each caller went over with the pointer and never fell back to an older answer.
    assert {tuple(mine) for mine in seen} == {(first, outcome.fingerprint, first, outcome.fingerprint)}
    pointer = read_live(bench.folder)
    assert pointer is not None
    assert [event.change for event in pointer.history] == ["adopted", "promoted", "rolled back", "rolled back"]
    assert pointer.history[1].gates == dict(outcome.gates)
    with pytest.raises(NotFoundError, match="has no version '7'"):
        await bench.roll_back("7")


async def test_a_refused_version_is_gone_and_was_met_by_nobody(bench: Bench) -> None:
    limits = CanaryLimits(rounds=1, p95_ratio=1e-9, p95_slack_ms=0)
    prepared = prepare_version(
        bench.checkpoints.spec,
        bench.checkpoints.make("second", seed=2),
        repository=bench.repository,
        data=bench.settings.paths.data,
        golden=bench.golden,
        export=bench.checkpoints.export,
    )
    async with bench.callers() as seen, some_triton(bench.settings, "embedder") as serving:
        with pytest.raises(GateError, match=r"canary\.p95_ratio"):
            await go_live(
                prepared, serving, bench.golden.texts, real=True, rules=LiveRules(limits), progress=lambda _: None
            )
        assert await bench.served() == ("1",)
        tried = await bench.publish(bench.checkpoints.make("third", seed=3), dry_run=True)
        assert (tried.change, tried.live) == ("tried", "1")
    assert all(len(mine) == 1 for mine in seen)
    assert not (bench.folder / "2").exists()
    assert (bench.live(), await bench.served()) == ("1", ("1",))


async def test_an_embedder_waits_for_its_vectors(bench: Bench) -> None:
    second = bench.checkpoints.make("second", seed=2)
    async with bench.callers() as seen:
        outcome = await bench.publish(second, indexed_by=seen[0][0])
        assert (outcome.change, outcome.live, outcome.version) == ("candidate", "1", "2")
        assert await bench.served() == ("1", "2")
        inference = bench.settings.inference
        async with TritonEmbedder(inference, bench.repository) as embedder:
            found = await embedder.embed(["甲"], kind="passage", fingerprint=outcome.fingerprint)
            assert found.fingerprint == outcome.fingerprint
        # Its vectors are there and answer: the same command now makes it live.
        outcome = await bench.publish(second, indexed_by=outcome.fingerprint)
        assert (outcome.change, outcome.live, outcome.previous) == ("promoted", "2", "1")

        switched: list[str] = []

        async def switch(fingerprint: str) -> None:
            # Both must be served while the index changes hands.
            assert await bench.served() == ("1", "2")
            switched.append(fingerprint)

        async with callers_triton(bench.settings, "embedder") as serving:
            back = await LiveModel(bench.folder, serving, RULES).roll_back(switch_index=switch)
        assert (back.live, switched) == ("1", [seen[0][0]])
    assert {tuple(mine) for mine in seen} == {(switched[0], outcome.fingerprint, switched[0])}


async def test_without_a_triton_the_canary_runs_on_one_of_its_own(bench: Bench) -> None:
    await bench.server.stop()
    outcome = await bench.publish(bench.checkpoints.make("second", seed=2))
    assert (outcome.change, outcome.live, outcome.served) == ("promoted", "2", False)
    assert outcome.canary is not None
    assert outcome.canary.private
    back = await bench.roll_back()
    assert (back.live, back.served) == ("1", False)


# A publication as a process, which waits at the beginning of each step until it is told to go on.
PUBLICATION = """
import asyncio, json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from tests_conftest import RetrievalSet, Question, TinyCheckpoints
from export.golive import go_live
from export.publish import prepare_version
from export.canary import CanaryLimits
from export.switching import LiveRules
from orchestrator.commands.model_serving import some_triton
from orchestrator.settings import Settings

def begin(step):
    print(step, flush=True)
    sys.stdin.readline()

task = json.loads(sys.argv[2])
settings = Settings.model_validate(task["settings"])
texts = task["texts"]
golden = RetrievalSet("tiny", "0" * 64, tuple(texts), tuple(Question(t, frozenset({i})) for i, t in enumerate(texts)))
checkpoints = TinyCheckpoints(Path(task["checkpoint"]).parent)
prepared = prepare_version(
    checkpoints.spec, Path(task["checkpoint"]), repository=settings.paths.model_repository, data=settings.paths.data,
    golden=golden, export=checkpoints.export, progress=begin,
)

async def main():
    rules = LiveRules(CanaryLimits(rounds=1, p95_ratio=1000), watch_s=0.2, drain_s=0.5)
    async with some_triton(settings, "embedder") as serving:
        await go_live(prepared, serving, golden.texts, real=False, rules=rules, progress=begin)

asyncio.run(main())
begin("done")
"""


async def start(bench: Bench, checkpoint: Path, tests: Path) -> asyncio.subprocess.Process:
    task = {
        "settings": bench.settings.model_dump(mode="json"),
        "texts": bench.golden.texts,
        "checkpoint": str(checkpoint),
    }
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", PUBLICATION, str(tests), json.dumps(task)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )


async def advance(process: asyncio.subprocess.Process, wanted: str) -> str:
    """Let it come to a step, and into it; empty where it ended without having come to it."""
    assert process.stdin is not None
    assert process.stdout is not None
    while line := (await process.stdout.readline()).decode().strip():
        process.stdin.write(b"\n")
        await process.stdin.drain()
        if line.startswith(wanted):
            return line
    return ""


# Before the pointer changes, while it may change, and after it has.
BEFORE = ("Export", "Write version", "Load beside", "Canary")
AFTER = ("Watch",)


async def test_killed_at_any_step_it_leaves_what_was_live(bench: Bench, tmp_path: Path) -> None:
    # The process finds this suite's helpers as a module of its own.
    tests = tmp_path / "modules"
    tests.mkdir()
    (tests / "tests_conftest.py").write_text((Path(__file__).parents[1] / "conftest.py").read_text("utf-8"), "utf-8")
    checkpoint = bench.checkpoints.make("second", seed=2, words=WORDS)
    async with bench.callers() as seen:
        first = seen[0][0]
        for step in (*BEFORE, "Promote", *AFTER):
            process = await start(bench, checkpoint, tests)
            assert await advance(process, step), f"it never came to {step!r}"
            await asyncio.sleep(0.05)
            process.kill()
            await process.wait()
            if step in BEFORE:
                assert bench.live() in ("", "1")
                assert all(mine == [first] for mine in seen), f"killed at {step!r}"
            elif step in AFTER:
                assert bench.live() == "2"
            # Whoever loads the model next serves what the pointer names.
            await bench.server.load("embedder")
            assert await bench.served() == (bench.live() or "1",)
            if bench.live() == "2":
                await bench.roll_back("1")
        outcome = await bench.publish(checkpoint)
        assert (outcome.change, outcome.live) == ("promoted", "2")
    assert all(mine[-1] == outcome.fingerprint for mine in seen)
    assert {path.name for path in bench.folder.iterdir() if not path.name.endswith(".lock")} == {
        *("1", "2", "config.pbtxt", "live.json")
    }
