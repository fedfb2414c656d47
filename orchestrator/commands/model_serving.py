"""The Triton that a model goes live on: the one that callers use, or a private one where none runs."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from export.serving import Counts, Tensors
from orchestrator.errors import ModelError
from orchestrator.inference.control import TritonControl
from orchestrator.inference.failures import UNREACHABLE, cause_of
from orchestrator.inference.launcher import TritonServer
from orchestrator.inference.repository import served_config
from orchestrator.inference.served import endpoint_of
from orchestrator.inference.triton import TritonClient
from orchestrator.settings import Settings

__all__ = ["TritonServing", "callers_triton", "some_triton"]

PROBE_S = 2.0
# A canary's call: what is slower than this fails whatever the old version takes.
CALL_S = 10.0


class TritonServing:
    """Implements `export.serving.Serving` for one model.

    Args:
        control: of the Triton.
        client: of the same.
        repository: the model repository.
        model: its name.
        private: whether the Triton was started for this publication alone.
    """

    def __init__(
        self, control: TritonControl, client: TritonClient, repository: Path, model: str, *, private: bool
    ) -> None:
        self._control = control
        self._client = client
        self._repository = repository
        self._model = model
        self.private = private
        self.address = control.address

    async def load(self, beside: Sequence[str] = ()) -> None:
        """See `Serving.load`."""
        await self._control.load(self._model, config=served_config(self._repository, self._model, beside=beside))

    async def unload(self) -> None:
        """See `Serving.unload`."""
        await self._control.unload(self._model)

    async def ready(self) -> tuple[str, ...]:
        """See `Serving.ready`."""
        return await self._control.model_versions(self._model)

    async def infer(self, version: str, inputs: Tensors, outputs: Sequence[str]) -> Tensors:
        """See `Serving.infer`."""
        answer = await self._client.infer(self._model, inputs, outputs=outputs, timeout_s=CALL_S, version=version)
        return answer.outputs

    async def counts(self, version: str) -> Counts:
        """See `Serving.counts`."""
        try:
            found = await self._control.statistics(self._model, version)
        except ModelError as error:
            # A version that is not loaded has done nothing; Triton calls the question invalid.
            if cause_of(error) == UNREACHABLE:
                raise
            return Counts(0, 0)
        return Counts(found.succeeded, found.failed)


@asynccontextmanager
async def callers_triton(settings: Settings, model: str) -> AsyncIterator[TritonServing | None]:
    """The Triton that callers use; None where it does not answer."""
    address = endpoint_of(settings.inference, model)
    async with TritonControl(address, load_timeout_s=settings.launcher.start_timeout_s) as control:
        if not await control.server_live(timeout_s=PROBE_S):
            yield None
            return
        async with _serving(control, settings.paths.model_repository, model, private=False) as serving:
            yield serving


@asynccontextmanager
async def some_triton(settings: Settings, model: str) -> AsyncIterator[TritonServing]:
    """The Triton that callers use; where it does not answer, one on free ports that lasts as long as this.

    Raises:
        ConfigurationError: none answers, and tritonserver is not installed here.
    """
    async with callers_triton(settings, model) as serving:
        if serving is not None:
            yield serving
            return
    free = settings.launcher.model_copy(update={"grpc_port": 0, "http_port": 0, "metrics_port": 0})
    repository = settings.paths.model_repository
    with tempfile.TemporaryDirectory(prefix="trias-canary-") as data:
        async with (
            TritonServer(free, repository=repository, data=Path(data), models=[model]) as server,
            _serving(server.control, repository, model, private=True) as private,
        ):
            yield private


@asynccontextmanager
async def _serving(
    control: TritonControl, repository: Path, model: str, *, private: bool
) -> AsyncIterator[TritonServing]:
    client = TritonClient(control.address)
    try:
        yield TritonServing(control, client, repository, model, private=private)
    finally:
        await client.close()
