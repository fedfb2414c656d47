"""One served model as its clients see it: pinned calls that follow promotions and rollbacks without a failure."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy.typing as npt

from orchestrator.errors import ConfigurationError, ModelError, ModelNotFoundError, ModelUnavailableError, TriasError
from orchestrator.inference.control import TritonControl
from orchestrator.inference.deadline import Deadline
from orchestrator.inference.failures import BETWEEN_LOADS, cause_of
from orchestrator.inference.retry import retrying
from orchestrator.inference.triton import Inference, TritonClient
from orchestrator.inference.versions import ModelVersion, VersionKeeper
from orchestrator.settings import InferenceSettings

__all__ = ["ServedModel", "VersionChangedError", "endpoint_of"]

# Kept back from each call's time, so that Triton's answer "too late" still reaches us in time.
MARGIN_S = 0.01
# Versions that may replace each other within one call before we give up on it.
VERSION_CHANGES = 4
LIVE = ""

Result = TypeVar("Result")


class VersionChangedError(Exception):
    """The version that was called went away: what was made for it must be made for another one."""


def endpoint_of(settings: InferenceSettings, model: str) -> str:
    """The address of the Triton that serves ``model``.

    Raises:
        ConfigurationError: inference.endpoints names neither the model nor '*'.
    """
    address = settings.endpoints.get(model) or settings.endpoints.get("*")
    if not address:
        raise ConfigurationError(f"inference.endpoints has no address for model '{model}'.", hint="Add it, or '*'.")
    return address


class ServedModel:
    """Calls to one model. Every request names its version; nobody is ever answered by another one.

    A client does its work for a `ModelVersion` (token ids of its tokenizer, labels of its heads) inside `run`, which
    does it again where that version went away meanwhile. Connections belong to the running event loop, so they are
    opened by the first call.

    Args:
        settings: endpoints, deadlines, attempts.
        model_repository: where the versions' tokenizers and manifests lie.
        model: its name in Triton.
    """

    def __init__(self, settings: InferenceSettings, model_repository: Path, model: str) -> None:
        self.model = model
        self.address = endpoint_of(settings, model)
        self._settings = settings
        self._repository = model_repository
        self._followed = LIVE
        self._client: TritonClient | None = None
        self._control: TritonControl | None = None
        self._keepers: dict[str, VersionKeeper] = {}

    async def close(self) -> None:
        """Close the connections."""
        for keeper in self._keepers.values():
            await keeper.close()
        for connection in (self._client, self._control):
            if connection is not None:
                await connection.close()

    @property
    def client(self) -> TritonClient:
        """The connection for inference."""
        if self._client is None:
            self._client = TritonClient(self.address)
        return self._client

    @property
    def known(self) -> bool:
        """Whether the model has been seen served at all."""
        return any(keeper.known for keeper in self._keepers.values())

    def follow(self, fingerprint: str | None) -> None:
        """Call the version with this fingerprint from now on; None: the live one. Work under way is not touched."""
        self._followed = fingerprint or LIVE

    async def current(self, deadline: Deadline, *, fingerprint: str | None = None) -> ModelVersion:
        """The version to call: the one with ``fingerprint``, else the followed, else the live one.

        Raises:
            FingerprintMismatchError, ModelUnavailableError, ModelNotFoundError: see `VersionKeeper.refresh`.
        """
        return await self._retrying(self._keeper(fingerprint).current, deadline)

    async def refresh(self, deadline: Deadline, *, fingerprint: str | None = None) -> ModelVersion:
        """The same, after having asked Triton."""
        return await self._retrying(self._keeper(fingerprint).refresh, deadline)

    async def run(
        self,
        work: Callable[[ModelVersion], Awaitable[Result]],
        deadline: Deadline,
        *,
        fingerprint: str | None = None,
    ) -> Result:
        """Do ``work`` for the version to call; once more for its successor where `VersionChangedError` tells of one.

        Raises:
            ModelUnavailableError: versions replaced each other faster than the work could be done; or as `current`.
        """
        for _ in range(VERSION_CHANGES):
            version = await self.current(deadline, fingerprint=fingerprint)
            try:
                return await work(version)
            except VersionChangedError:
                await self.refresh(deadline, fingerprint=fingerprint)
        raise self.unsettled()

    async def infer(
        self,
        version: ModelVersion,
        inputs: Mapping[str, npt.NDArray[Any]],
        deadline: Deadline,
        *,
        roles: Sequence[str],
        priority: int = 0,
    ) -> dict[str, npt.NDArray[Any]]:
        """Call one version, again where that may help.

        Args:
            version: which one.
            inputs: tensors by name; those that the version does not take are left out.
            deadline: of all tries.
            roles: the outputs wanted, as the manifest calls them.
            priority: in the model's queue: 1 is the highest, 0 the model's default.

        Returns:
            The outputs, by role.

        Raises:
            VersionChangedError: another version is to be called now.
            ModelError, DeadlineExceededError: see `TritonClient.infer`.
        """
        names = {role: version.output(role) for role in roles}
        taken = {name: tensor for name, tensor in inputs.items() if name in version.inputs}

        async def call() -> Inference:
            try:
                return await self.client.infer(
                    self.model,
                    taken,
                    outputs=tuple(names.values()),
                    timeout_s=max(deadline.remaining_s - MARGIN_S, MARGIN_S),
                    priority=priority,
                    version=version.version,
                )
            except ModelError as error:
                if await self.changed(version, error):
                    raise VersionChangedError from None
                raise

        answer = await self._retrying(call, deadline)
        try:
            return {role: answer.outputs[name] for role, name in names.items()}
        except KeyError as error:
            raise ModelError(
                f"Model '{self.model}' version {version.version} on {self.address} answered without its output {error}."
            ) from None

    async def changed(self, version: ModelVersion, error: ModelError) -> bool:
        """Whether ``error`` came because another version is to be called now; asks Triton where that may be so."""
        # What is overloaded, crashed or unreachable is tried again. An input that is refused, too, may have been made
        # for a version that was since built anew under the same number.
        if error.retryable and cause_of(error) != BETWEEN_LOADS:
            return False
        return await self._keeper(version.wanted).changed_from(version)

    def unsettled(self) -> ModelUnavailableError:
        """The error for a call that was overtaken by too many versions."""
        return ModelUnavailableError(
            f"Model '{self.model}' on {self.address} changed its version {VERSION_CHANGES} times during one call.",
            hint="Try again.",
        )

    async def _retrying(self, call: Callable[[], Awaitable[Result]], deadline: Deadline) -> Result:
        return await retrying(call, attempts=self._settings.attempts, deadline=deadline, may_retry=self._may_retry)

    def _may_retry(self, error: TriasError) -> bool:
        # A model that was served a moment ago is not unknown: Triton restarts, or is between unload and load.
        gone = isinstance(error, ModelNotFoundError) and self.known
        return isinstance(error, ModelUnavailableError) or gone

    def _keeper(self, fingerprint: str | None) -> VersionKeeper:
        wanted = self._followed if fingerprint is None else fingerprint
        keeper = self._keepers.get(wanted)
        if keeper is None:
            if self._control is None:
                self._control = TritonControl(self.address, timeout_s=self._settings.deadline_s)
            keeper = VersionKeeper(self._control, self._repository, self.model, wanted=wanted)
            self._keepers[wanted] = keeper
        return keeper
