"""Which version of a model answers now, with the tokenizer and manifest that belong to it."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import FingerprintMismatchError, ModelError, ModelNotFoundError, TriasError
from orchestrator.inference.control import TritonControl
from orchestrator.inference.manifest import TOKENIZER_FILE, Manifest, read_manifest
from orchestrator.inference.repository import fingerprint_parameter
from orchestrator.inference.tokenize import TextTokenizer, load_tokenizer

__all__ = ["ModelVersion", "VersionKeeper"]

log = logging.getLogger(__name__)

# A version that was replaced shows in the next answer anyway; this is for answers from the cache, and for a version
# that was built anew under its old number. Two small calls a second at most.
CHECK_EVERY_S = 1.0
DENSE = "dense"


@dataclass(frozen=True, slots=True)
class ModelVersion:
    """A version of a model, ready to be called.

    Attributes:
        version: its number, as Triton reports it.
        manifest: what it expects and gives.
        tokenizer: makes its token ids.
        inputs: names of its input tensors.
        output: name of the tensor that holds the vectors.
        max_rows: in one request.
    """

    version: str
    manifest: Manifest
    tokenizer: TextTokenizer
    inputs: frozenset[str]
    output: str
    max_rows: int

    @property
    def fingerprint(self) -> str:
        """Of model and tokenizer, as both the manifest and Triton say."""
        return self.manifest.fingerprint


class VersionKeeper:
    """Follows a model through loads, promotions and rollbacks.

    Args:
        control: the Triton that serves it.
        repository: where the versions' tokenizers and manifests lie: the folder that Triton serves, or a copy of it.
        model: its name.
    """

    def __init__(self, control: TritonControl, repository: Path, model: str) -> None:
        self._control = control
        self._folder = repository / model
        self._model = model
        self._current: ModelVersion | None = None
        self._checked = 0.0
        self._check: asyncio.Task[ModelVersion] | None = None

    @property
    def known(self) -> bool:
        """Whether the model has been seen served at all."""
        return self._current is not None

    async def current(self) -> ModelVersion:
        """The version last seen. Where that was a while ago, a check is begun but not waited for.

        Raises:
            FingerprintMismatchError, ModelUnavailableError, ModelNotFoundError: as `refresh`; only while none is known.
        """
        if self._current is None:
            return await self.refresh()
        if time.monotonic() - self._checked > CHECK_EVERY_S:
            self._begin_check()
        return self._current

    async def refresh(self) -> ModelVersion:
        """Ask Triton which version answers now; concurrent callers share one question.

        Raises:
            FingerprintMismatchError: the served version and the files beside its tokenizer do not belong together.
            ModelNotFoundError: the model is not served, or its files are not there.
            ModelUnavailableError: Triton does not answer.
        """
        # Shielded: whoever gives up waiting must not take the answer from the others.
        return await asyncio.shield(self._begin_check())

    async def changed_from(self, version: ModelVersion) -> bool:
        """Whether another version answers now; False where Triton does not tell."""
        try:
            return (await self.refresh()).fingerprint != version.fingerprint
        except TriasError:
            return False

    async def close(self) -> None:
        """Drop a check that is under way."""
        if self._check is not None:
            self._check.cancel()
            await asyncio.wait({self._check})

    def _begin_check(self) -> asyncio.Task[ModelVersion]:
        if self._check is None or self._check.done():
            self._checked = time.monotonic()
            self._check = asyncio.create_task(self._look(), name=f"version of {self._model}")
            self._check.add_done_callback(self._checked_now)
        return self._check

    def _checked_now(self, check: asyncio.Task[ModelVersion]) -> None:
        if check.cancelled():
            return
        error = check.exception()
        if isinstance(error, FingerprintMismatchError):
            # Never guess: until they match again nobody is served.
            self._current = None
            log.error("%s", error)
        elif error is not None:
            # Whoever waits for the check gets the error; where nobody does, the next call meets it.
            log.debug("the version of model %s cannot be checked: %s", self._model, error)

    async def _look(self) -> ModelVersion:
        versions = await self._control.model_versions(self._model)
        if not versions:
            # An unknown model gets its own error from this call; a known one is between unload and load.
            await self._control.model_config(self._model)
            raise ModelNotFoundError(
                f"Model '{self._model}' on {self._control.address} has no version that is ready.",
                hint="`trias triton status` tells why.",
            )
        version = versions[-1]
        config = await self._control.model_config(self._model, version)
        served = config.parameters[fingerprint_parameter(version)].string_value
        if not served:
            raise FingerprintMismatchError(
                f"Model '{self._model}' version {version} on {self._control.address} shows no parameter "
                f"'{fingerprint_parameter(version)}', so its tokenizer cannot be checked.",
                hint=f"Load it with `trias triton load {self._model}`, which adds what its manifest.json says.",
            )
        if self._current is not None and (self._current.version, self._current.fingerprint) == (version, served):
            return self._current
        manifest = await asyncio.to_thread(read_manifest, self._folder / version)
        if manifest.fingerprint != served:
            raise FingerprintMismatchError(
                f"Model '{self._model}' version {version}: Triton on {self._control.address} serves {served}, but "
                f"{self._folder / version} holds {manifest.fingerprint}.",
                hint=f"Run `trias triton load {self._model}` if the files are newer; point paths.model_repository at "
                "the served files if they are others.",
                metadata={"served": served, "on_disk": manifest.fingerprint},
            )
        tokenizer = await asyncio.to_thread(
            load_tokenizer,
            self._folder / version / TOKENIZER_FILE,
            max_length=manifest.max_length,
            known=self._current.tokenizer if self._current is not None else None,
        )
        output = _dense_output(manifest, [item.name for item in config.output])
        if config.max_batch_size < 1:
            raise ModelError(f"Model '{self._model}' takes no batches.", hint="Set max_batch_size in its config.pbtxt.")
        log.info("model %s: version %s, fingerprint %s", self._model, version, served)
        self._current = ModelVersion(
            version=version,
            manifest=manifest,
            tokenizer=tokenizer,
            inputs=frozenset(item.name for item in config.input),
            output=output,
            max_rows=config.max_batch_size,
        )
        return self._current


def _dense_output(manifest: Manifest, served: list[str]) -> str:
    """The tensor of one vector a text: the one that the manifest calls dense, or the only one there is."""
    name = manifest.outputs.get(DENSE) or (served[0] if len(served) == 1 else "")
    if name not in served:
        raise ModelError(
            f"None of the served outputs {served} is the '{DENSE}' one of the manifest ({manifest.outputs}).",
            hint="Build or export the model again.",
        )
    return name
