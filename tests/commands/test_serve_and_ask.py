"""`trias serve` and `trias ask` as a user runs them: processes, signals, exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from trias.v1 import knowledge_service_pb2, knowledge_service_pb2_grpc

pytestmark = [pytest.mark.triton, pytest.mark.slow]

TRIAS = Path(sysconfig.get_path("scripts")) / "trias"
START_S = 120


class Serving:
    """A `trias serve` process; what it prints goes to a file."""

    def __init__(self, folder: Path, environment: dict[str, str], *arguments: str) -> None:
        self._output = folder / "output"
        self.environment = environment
        with self._output.open("w") as output:
            self.process = subprocess.Popen(
                [TRIAS, "serve", "--port", "0", *arguments],
                env=environment,
                cwd=folder,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def output(self) -> str:
        return self._output.read_text("utf-8")

    def said(self, name: str) -> str:
        """What the line of the announcement says; waits for it."""
        end = time.monotonic() + START_S
        while time.monotonic() < end and self.process.poll() is None:
            for line in self.output.splitlines():
                if line.startswith(f"  {name}"):
                    return line.split(maxsplit=1)[1].strip()
            time.sleep(0.1)
        raise AssertionError(self.output)

    def ask(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [TRIAS, "ask", "--server", self.said("address"), *arguments],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def stop(self, number: int = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise


@pytest.fixture
def environment(tmp_path: Path, tiny_repository: Any) -> dict[str, str]:
    tiny_repository.publish("embedder")
    ports = {f"TRIAS_LAUNCHER__{name}_PORT": "0" for name in ("GRPC", "HTTP", "METRICS")}
    slow_machine = {
        f"TRIAS_BUDGET__{stage}_S": "60" for stage in ("ROUTE", "RETRIEVE", "FAST", "DEEP", "TOTAL", "FALLBACK")
    }
    return {
        **os.environ,
        **ports,
        **slow_machine,
        "TRIAS_RETRIEVER__VECTOR_DEADLINE_S": "30",
        "TRIAS_ROUTER__EMBED_TIMEOUT_S": "30",
        "TRIAS_PATHS__DATA": str(tmp_path / "data"),
        "TRIAS_PATHS__MODEL_REPOSITORY": str(tiny_repository.path),
        "TRIAS_INFERENCE__ENDPOINTS": json.dumps({"*": "127.0.0.1:1"}),
        "NO_COLOR": "1",
    }


@pytest.fixture
def serving(tmp_path: Path, environment: dict[str, str]) -> Iterator[Serving]:
    server = Serving(tmp_path, environment)
    try:
        yield server
    finally:
        server.stop()


def test_a_server_with_its_own_triton_answers_and_stops_in_order(serving: Serving) -> None:
    assert "started here" in serving.said("Triton")
    triton_log = Path(serving.said("logs").split(", ")[1])
    assert triton_log.is_file()

    asked = serving.ask("职工在三级医院住院的医保支付比例是多少？", "--json")
    assert asked.returncode == 4, asked.stdout + asked.stderr  # the library is empty: an honest no
    document = json.loads(asked.stdout)
    assert document["plan"]["question"] == document["question"]
    assert document["answers"][-1]["answer"]["status"] == "ANSWER_STATUS_REFUSED"
    assert document["answers"][-1]["timing"]["total_ms"] > 0

    with grpc.insecure_channel(serving.said("address")) as channel:
        held = knowledge_service_pb2_grpc.KnowledgeServiceStub(channel).GetStatistics(
            knowledge_service_pb2.GetStatisticsRequest(), timeout=60
        )
    assert held.documents == 0

    refused = serving.ask("q", "--as-of", "yesterday")
    assert refused.returncode == 1
    assert "options.as_of_date" in refused.stderr

    assert serving.stop() == 0
    assert "stopped" in serving.output
    assert not _tritons_of(serving.process.pid)


def test_ctrl_c_while_starting_ends_cleanly(serving: Serving) -> None:
    end = time.monotonic() + START_S
    while not _tritons_of(serving.process.pid) and time.monotonic() < end:
        time.sleep(0.05)
    assert serving.stop(signal.SIGINT) == 0
    assert not _tritons_of(serving.process.pid)


def test_without_any_model_it_serves_and_says_so_and_nobody_else_may_open_its_library(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    first = Serving(tmp_path, environment, "--no-triton")
    try:
        assert "not ours" in first.said("Triton")
        (tmp_path / "second").mkdir()
        second = Serving(tmp_path / "second", environment, "--no-triton")
        asked = first.ask("职工在三级医院住院的医保支付比例是多少？")
        assert "DEGRADED" in asked.stdout
        assert "embedder" in asked.stdout
        assert second.process.wait(START_S) == 1
        assert f"in use by process {first.process.pid}" in second.output
    finally:
        assert first.stop() == 0


def _tritons_of(pid: int) -> list[int]:
    """Processes that `trias serve` with this id started and that still live: their guard names it."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                status = (process / "status").read_text()
                command = (process / "cmdline").read_bytes()
            except OSError:
                continue
            if f"PPid:\t{pid}\n" in status and b"triton" in command:
                found.append(int(process.name))
    return found
