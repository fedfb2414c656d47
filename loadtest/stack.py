"""A whole Trias on loopback, in processes of its own: started, found healthy, stopped by process id."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sysconfig
import time
from collections.abc import Container, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

__all__ = ["Stack", "StackError", "running_stack"]

START_TIMEOUT_S = 180.0
STOP_TIMEOUT_S = 30.0
PROBE_INTERVAL_S = 0.2
TRIAS = Path(sysconfig.get_path("scripts")) / "trias"


class StackError(RuntimeError):
    """The stack did not start, or a command on it failed."""


@dataclass(frozen=True, slots=True)
class Stack:
    """A running `trias serve` with its own Triton.

    Attributes:
        address: where the server listens.
        environment: what `trias …` needs to reach the same stack.
        log: what the server printed.
        pid: of the server.
    """

    address: str
    environment: Mapping[str, str]
    log: Path
    pid: int

    def run(self, *arguments: str, accept: Container[int] = (0,)) -> int:
        """Run `trias …` against the stack, its output shown; returns the exit code.

        Raises:
            StackError: the exit code is not one of ``accept``.
        """
        code = subprocess.run([TRIAS, *arguments], env=dict(self.environment), check=False).returncode  # noqa: S603
        if code not in accept:
            raise StackError(f"trias {' '.join(arguments)} ended with exit code {code}")
        return code


@contextmanager
def running_stack(data: Path) -> Iterator[Stack]:
    """Start `trias serve` on free loopback ports, wait until it is healthy, stop it at the end.

    Args:
        data: where the library, answers and logs lie; kept from run to run.

    Raises:
        StackError: it did not become healthy, or did not end cleanly; shows the end of its log.
    """
    data.mkdir(parents=True, exist_ok=True)
    port, *triton = _free_ports(4)
    environment = {
        **os.environ,
        "TRIAS_PATHS__DATA": str(data),
        "TRIAS_SERVER__PORT": str(port),
        "TRIAS_LAUNCHER__GRPC_PORT": str(triton[0]),
        "TRIAS_LAUNCHER__HTTP_PORT": str(triton[1]),
        "TRIAS_LAUNCHER__METRICS_PORT": str(triton[2]),
        "TRIAS_INFERENCE__ENDPOINTS": json.dumps({"*": f"127.0.0.1:{triton[0]}"}),
    }
    address, log = f"127.0.0.1:{port}", data / "serve.log"
    with log.open("w") as output:
        # A session of its own, so that Ctrl-C reaches this process alone and the stop stays orderly.
        server = subprocess.Popen(  # noqa: S603
            [TRIAS, "serve"], env=environment, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        _wait_until_serving(server, address, log)
        yield Stack(address, environment, log, server.pid)
    finally:
        code = _stop(server)
    if code:
        raise StackError(f"trias serve ended with exit code {code}:\n{_tail(log)}")


def _wait_until_serving(server: subprocess.Popen[bytes], address: str, log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    with grpc.insecure_channel(address) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        while time.monotonic() < deadline:
            if server.poll() is not None:
                raise StackError(f"trias serve ended with exit code {server.returncode}:\n{_tail(log)}")
            try:
                answer = stub.Check(health_pb2.HealthCheckRequest(), timeout=1.0)
            except grpc.RpcError:
                time.sleep(PROBE_INTERVAL_S)
                continue
            if answer.status == health_pb2.HealthCheckResponse.SERVING:
                return
            time.sleep(PROBE_INTERVAL_S)
    raise StackError(f"trias serve was not healthy within {START_TIMEOUT_S:g} s:\n{_tail(log)}")


def _stop(server: subprocess.Popen[bytes]) -> int:
    if server.poll() is None:
        server.send_signal(signal.SIGTERM)
    try:
        return server.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        server.kill()
        return server.wait()


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]


def _tail(log: Path, lines: int = 20) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
