"""A tritonserver of our own: started, loaded, probed, restarted and stopped."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from orchestrator.errors import ConfigurationError, ModelError, ModelUnavailableError, TriasError
from orchestrator.inference import guard
from orchestrator.inference.control import TritonControl
from orchestrator.inference.installation import TritonInstallation, build_backend_directory, find_triton
from orchestrator.inference.ports import choose_ports
from orchestrator.inference.repository import renewed_config, servable_models, served_config
from orchestrator.inference.serverlog import ServerLog
from orchestrator.inference.shared_memory import remove_leftover_regions
from orchestrator.inference.stubs import StubTable
from orchestrator.settings import LauncherSettings

__all__ = ["TritonServer"]

log = logging.getLogger(__name__)

POLL_S = 0.05
# A free port that we picked may be taken by another process before Triton binds it; then we pick again.
PORT_ATTEMPTS = 3
# Triton itself ends in-flight requests at its exit timeout; beyond that it gets this long to leave.
EXIT_MARGIN_S = 5.0
# What an instance that was replaced gets to finish its requests; callers wait less for theirs.
STALE_STUB_S = 5.0


class TritonServer:
    """One tritonserver process with the models of a repository.

    It runs in a process group of its own (a Ctrl-C in the terminal reaches `trias` alone, which then stops it in
    order) and gets SIGTERM from the kernel should this process die.

    Args:
        settings: host, ports, timeouts.
        repository: the model repository.
        data: where the backend directory and the log are kept.
        models: what to load; every servable model of the repository where None.

    Raises (on entering or `start`):
        ConfigurationError: tritonserver is not installed, a port is taken, the repository is not there, or the
            server ended at once; with the reason and what to do.
        ModelError: a model cannot be loaded; with Triton's own words.
    """

    def __init__(
        self, settings: LauncherSettings, *, repository: Path, data: Path, models: Sequence[str] | None = None
    ) -> None:
        self.repository = repository.absolute()
        self._settings = settings
        self._data = data.absolute()
        self._wanted = None if models is None else tuple(models)
        self._ports: dict[str, int] = {}
        self._process: asyncio.subprocess.Process | None = None
        self._control: TritonControl | None = None
        self._stubs: StubTable | None = None
        self._log = ServerLog(self._data / "logs" / "triton.log")
        self._reapers: set[asyncio.Task[None]] = set()
        self._lock = asyncio.Lock()

    async def __aenter__(self) -> TritonServer:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    @property
    def models(self) -> tuple[str, ...]:
        """The models that are to be served."""
        return servable_models(self.repository) if self._wanted is None else self._wanted

    @property
    def grpc_address(self) -> str:
        """host:port of the gRPC endpoint."""
        return self._address("grpc_port")

    @property
    def http_address(self) -> str:
        """host:port of the HTTP endpoint."""
        return self._address("http_port")

    @property
    def metrics_address(self) -> str:
        """host:port of the Prometheus metrics."""
        return self._address("metrics_port")

    @property
    def log_file(self) -> Path:
        """Where the server's output is kept."""
        return self._log.path

    @property
    def pid(self) -> int | None:
        """The server's process, None while none runs."""
        return self._process.pid if self._process is not None and self.running else None

    @property
    def running(self) -> bool:
        """Whether the process is alive (it may still hang: only a call tells)."""
        return self._process is not None and self._process.returncode is None

    @property
    def control(self) -> TritonControl:
        """The control API of this server; valid from start to stop, across restarts."""
        if self._control is None:
            raise ModelUnavailableError("This tritonserver is not started.")
        return self._control

    async def start(self) -> None:
        """Start the server and load its models; nothing is left behind where that fails."""
        async with self._lock:
            models = self.models
            if not models:
                raise ConfigurationError(
                    f"{self.repository} holds no model that can be served.", hint="Run `trias models build`."
                )
            try:
                await self._launch()
                for model in models:
                    await self.load(model)
            except BaseException:
                await self._end()
                raise

    async def stop(self) -> None:
        """SIGTERM, and SIGKILL for whatever is left after the exit timeout."""
        async with self._lock:
            await self._end()

    async def restart(self) -> None:
        """Start anew on the same ports after a crash or a hang; callers reconnect by themselves."""
        async with self._lock:
            await self._kill(grace_s=0)
            await self._launch()
            for model in self.models:
                try:
                    await self.load(model)
                except TriasError as error:
                    # The others shall serve; the watchdog comes back to this one.
                    log.error("%s", error)  # noqa: TRY400

    async def exited(self) -> int:
        """Wait until the process ends; its exit code."""
        if self._process is None:
            raise ModelUnavailableError("This tritonserver is not started.")
        return await self._process.wait()

    async def load(self, model: str) -> None:
        """Load a model, or what is new in its folder, with the fingerprints of its versions as parameters."""
        await self.control.load(model, config=served_config(self.repository, model))

    async def renew(self, model: str) -> None:
        """Replace all instances of a model that Triton takes for ready; see `renewed_config`.

        Triton waits for ever for what the dead one among the old instances was doing, and keeps them all until then:
        those that are left after a while are killed.
        """
        stale = await asyncio.to_thread(self._stubs.pids_of, model) if self._stubs is not None else frozenset()
        await self.control.load(model, config=renewed_config(self.repository, model))
        if stale:
            reaper = asyncio.create_task(self._reap(model, stale), name=f"reaper of {model}")
            self._reapers.add(reaper)
            reaper.add_done_callback(self._reapers.discard)

    async def crashed_models(self) -> frozenset[str]:
        """The models whose Python stub has died since the last call; see `StubTable.crashed`."""
        if self._stubs is None:
            return frozenset()
        return await asyncio.to_thread(self._stubs.crashed)

    async def _reap(self, model: str, stale: frozenset[int]) -> None:
        await asyncio.sleep(STALE_STUB_S)
        stubs = self._stubs
        if stubs is None:
            return
        left = await asyncio.to_thread(stubs.pids_of, model)
        # Never the last ones: the new ones may have been replaced in their turn.
        if left & stale and left - stale:
            log.warning("model %s: %d old instances are left and are killed", model, len(left & stale))
            await asyncio.to_thread(stubs.end, left & stale)

    async def _launch(self) -> None:
        installation = find_triton()
        backends = build_backend_directory(
            installation, repository=self.repository, target=self._data / "triton" / "backends"
        )
        remove_leftover_regions()
        restarting = bool(self._ports)
        settings = self._settings
        wanted = {f"launcher.{name}": getattr(settings, name) for name in ("grpc_port", "http_port", "metrics_port")}
        for attempt in range(1, PORT_ATTEMPTS + 1):
            if not restarting:
                chosen = choose_ports(settings.host, wanted)
                self._ports = {name.removeprefix("launcher."): port for name, port in chosen.items()}
            self._process = await self._spawn(installation, backends)
            if self._control is None:
                self._control = TritonControl(self.grpc_address, load_timeout_s=settings.start_timeout_s)
            if await self._becomes_live():
                self._stubs = StubTable(self._process.pid, self.repository)
                log.info("tritonserver %d answers on %s", self._process.pid, self.grpc_address)
                return
            code = self._process.returncode
            await self._kill(grace_s=0)
            if 0 in wanted.values() and not restarting and self._log.says_port_taken() and attempt < PORT_ATTEMPTS:
                await self._close_control()
                continue
            raise self._not_started(code)

    async def _spawn(self, installation: TritonInstallation, backends: Path) -> asyncio.subprocess.Process:
        host = self._settings.host
        command = [
            *(sys.executable, "-I", "-S", guard.__file__, str(os.getpid()), str(installation.binary)),
            f"--model-repository={self.repository}",
            f"--backend-directory={backends}",
            f"--cache-directory={installation.caches}",
            "--model-control-mode=explicit",
            # Strict readiness would turn the whole server unready for good once one load fails.
            "--strict-readiness=false",
            "--disable-auto-complete-config",
            "--allow-gpu-metrics=false",
            f"--exit-timeout-secs={self._settings.exit_timeout_s}",
            *(f"--grpc-address={host}", f"--grpc-port={self._ports['grpc_port']}"),
            *(f"--http-address={host}", f"--http-port={self._ports['http_port']}"),
            *(f"--metrics-address={host}", f"--metrics-port={self._ports['metrics_port']}"),
        ]
        with self._log.open() as output:
            return await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=installation.environment(),
                start_new_session=True,
            )

    async def _becomes_live(self) -> bool:
        end = asyncio.get_running_loop().time() + self._settings.start_timeout_s
        while self.running and asyncio.get_running_loop().time() < end:
            if await self.control.server_live(timeout_s=1):
                return True
            await asyncio.sleep(POLL_S)
        return False

    def _not_started(self, code: int | None) -> ConfigurationError:
        outcome = (
            f"did not answer within {self._settings.start_timeout_s:g} s (launcher.start_timeout_s)"
            if code is None
            else f"ended with exit code {code}"
        )
        return ConfigurationError(
            f"tritonserver {outcome}. The end of {self._log.path}:\n{self._log.tail()}",
        )

    async def _end(self) -> None:
        for reaper in tuple(self._reapers):
            reaper.cancel()
        await self._kill(grace_s=self._settings.exit_timeout_s + EXIT_MARGIN_S)
        await self._close_control()
        self._process = self._stubs = None
        self._ports = {}
        remove_leftover_regions()

    async def _close_control(self) -> None:
        if self._control is not None:
            control, self._control = self._control, None
            await control.close()

    async def _kill(self, *, grace_s: float) -> None:
        process = self._process
        if process is None:
            return
        if grace_s and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(process.wait(), grace_s)
        # The group holds the stubs too: they must not outlive their server.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()

    def _address(self, port: str) -> str:
        if not self._ports:
            raise ModelError("This tritonserver is not started, so it has no ports yet.")
        host = f"[{self._settings.host}]" if ":" in self._settings.host else self._settings.host
        return f"{host}:{self._ports[port]}"
