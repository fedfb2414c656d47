"""Which version of a model is to be called now, with the tokenizer, manifest and labels that belong to it."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.errors import (
    FingerprintMismatchError,
    ModelError,
    ModelNotFoundError,
    ModelUnavailableError,
    TriasError,
)
from orchestrator.inference.control import TritonControl
from orchestrator.inference.failures import BETWEEN_LOADS
from orchestrator.inference.manifest import TOKENIZER_FILE, Manifest, read_manifest
from orchestrator.inference.repository import LIVE_PARAMETER, fingerprint_parameter, parameter_of
from orchestrator.inference.tokenize import TextTokenizer, load_tokenizer

__all__ = ["LABELS_FILE", "ModelVersion", "VersionKeeper"]

log = logging.getLogger(__name__)

# A version that went away shows in the next answer anyway; this is for answers from the cache, for a promotion while
# the old version still answers, and for a version that was built anew under its old number. Two small calls a second.
CHECK_EVERY_S = 1.0
LABELS_FILE = "labels.json"


@dataclass(frozen=True, slots=True)
class ModelVersion:
    """A version of a model, ready to be called.

    Attributes:
        version: its number, as Triton reports it; every call names it.
        folder: where its files lie.
        manifest: what it expects and gives.
        inputs: names of its input tensors.
        outputs: what an output is (``dense``, ``score``, …) → its tensor's name.
        max_rows: in one request; 0 where the model has no batch dimension.
        labels: what the classes of its heads stand for, by head; empty for a model without ``labels.json``.
        wanted: the fingerprint by which it was asked for; empty for the live version.
    """

    version: str
    folder: Path
    manifest: Manifest
    inputs: frozenset[str]
    outputs: Mapping[str, str]
    max_rows: int
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    wanted: str = ""
    text_tokenizer: TextTokenizer | None = None

    @property
    def fingerprint(self) -> str:
        """Of model and tokenizer, as both the manifest and Triton say."""
        return self.manifest.fingerprint

    @property
    def tokenizer(self) -> TextTokenizer:
        """Makes its token ids.

        Raises:
            ModelNotFoundError: the version has no ``tokenizer.json``.
        """
        if self.text_tokenizer is None:
            raise ModelNotFoundError(
                f"{self.folder} holds no {TOKENIZER_FILE}.", hint="Build or export the model again."
            )
        return self.text_tokenizer

    def output(self, role: str) -> str:
        """The tensor that plays ``role``.

        Raises:
            ModelError: the model has no such output.
        """
        try:
            return self.outputs[role]
        except KeyError:
            raise ModelError(
                f"None of the outputs of {self.folder} is '{role}': the manifest names {dict(self.outputs)}.",
                hint="Build or export the model again.",
            ) from None


class VersionKeeper:
    """Follows a model through loads, promotions and rollbacks.

    Args:
        control: the Triton that serves it.
        repository: where the versions' tokenizers and manifests lie: the folder that Triton serves, or a copy of it.
        model: its name.
        wanted: a fingerprint: only the version that has it is called. Empty: the live version, as Triton tells it.
    """

    def __init__(self, control: TritonControl, repository: Path, model: str, *, wanted: str = "") -> None:
        self._control = control
        self._folder = repository / model
        self._model = model
        self._wanted = wanted
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
        """Ask Triton which version to call now; concurrent callers share one question.

        Raises:
            FingerprintMismatchError: the served version and the files beside its tokenizer do not belong together.
            ModelNotFoundError: the model, or the wanted version of it, is not served, or its files are not there.
            ModelUnavailableError: Triton does not answer, or is between two loads.
        """
        # Shielded: whoever gives up waiting must not take the answer from the others.
        return await asyncio.shield(self._begin_check())

    async def changed_from(self, version: ModelVersion) -> bool:
        """Whether another version is to be called now; False where Triton does not tell."""
        try:
            found = await self.refresh()
        except TriasError:
            return False
        return (found.version, found.fingerprint) != (version.version, version.fingerprint)

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
        ready = await self._control.model_versions(self._model)
        if not ready:
            # An unknown model gets its own error from this call; a known one is between unload and load.
            await self._control.model_config(self._model)
            raise ModelNotFoundError(
                f"Model '{self._model}' on {self._control.address} has no version that is ready.",
                hint="`trias triton status` tells why.",
            )
        version, config = await self._pick(ready)
        served = self._fingerprint(config, version)
        if self._current is not None and (self._current.version, self._current.fingerprint) == (version, served):
            return self._current
        self._current = await asyncio.to_thread(self._open, version, served, config)
        log.info("model %s: version %s, fingerprint %s", self._model, version, served)
        return self._current

    async def _pick(self, ready: Sequence[str]) -> tuple[str, Any]:
        """The version to call, and its configuration; during a load, versions can show different ones."""
        found = []
        for version in reversed(ready):
            config = await self._control.model_config(self._model, version)
            if self._wanted:
                found.append(self._fingerprint(config, version))
                if found[-1] == self._wanted:
                    return version, config
                continue
            # A model that was loaded by hand names none: there, the newest is what Triton itself takes for live.
            live = parameter_of(config, LIVE_PARAMETER) or ready[-1]
            if live in ready:
                return live, config if live == version else await self._control.model_config(self._model, live)
        if self._wanted:
            raise ModelNotFoundError(
                f"No version of model '{self._model}' on {self._control.address} has the fingerprint {self._wanted}; "
                f"{' and '.join(found)} are served.",
                hint=f"`trias models list` tells which version has it, `trias triton load {self._model}` serves what "
                "live.json names.",
            )
        raise ModelUnavailableError(
            f"The live version of model '{self._model}' on {self._control.address} is not ready.",
            hint="`trias triton status` tells why.",
            metadata={"cause": BETWEEN_LOADS},
        )

    def _fingerprint(self, config: Any, version: str) -> str:
        served = parameter_of(config, fingerprint_parameter(version))
        if not served:
            raise FingerprintMismatchError(
                f"Model '{self._model}' version {version} on {self._control.address} shows no parameter "
                f"'{fingerprint_parameter(version)}', so its tokenizer cannot be checked.",
                hint=f"Load it with `trias triton load {self._model}`, which adds what its manifest.json says.",
            )
        return served

    def _open(self, version: str, served: str, config: Any) -> ModelVersion:
        folder = self._folder / version
        manifest = read_manifest(folder)
        if manifest.fingerprint != served:
            raise FingerprintMismatchError(
                f"Model '{self._model}' version {version}: Triton on {self._control.address} serves {served}, but "
                f"{folder} holds {manifest.fingerprint}.",
                hint=f"Run `trias triton load {self._model}` if the files are newer; point paths.model_repository at "
                "the served files if they are others.",
                metadata={"served": served, "on_disk": manifest.fingerprint},
            )
        tokenizer = folder / TOKENIZER_FILE
        # Encoders need one; a model that takes text has its own inside.
        needed = tokenizer.exists() or "input_ids" in (item.name for item in config.input)
        return ModelVersion(
            version=version,
            folder=folder,
            manifest=manifest,
            inputs=frozenset(item.name for item in config.input),
            outputs=self._outputs(folder, manifest, [item.name for item in config.output]),
            max_rows=config.max_batch_size,
            labels=_labels(folder / LABELS_FILE),
            wanted=self._wanted,
            text_tokenizer=load_tokenizer(tokenizer, max_length=manifest.max_length) if needed else None,
        )

    def _outputs(self, folder: Path, manifest: Manifest, served: list[str]) -> dict[str, str]:
        """The manifest's outputs; a missing one is an error of the files, not of the caller who needs it."""
        missing = sorted(set(manifest.outputs.values()) - set(served))
        if missing:
            raise ModelError(
                f"The manifest in {folder} names the outputs {missing}, but model '{self._model}' on "
                f"{self._control.address} gives {served}.",
                hint="Build or export the model again.",
            )
        return dict(manifest.outputs)


def _labels(path: Path) -> dict[str, tuple[str, ...]]:
    try:
        tree = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ModelNotFoundError(f"{path} cannot be read: {error}.", hint="Export the model again.") from None
    if not isinstance(tree, dict) or not all(
        isinstance(names, list) and all(isinstance(name, str) for name in names) for names in tree.values()
    ):
        raise ModelNotFoundError(
            f"{path} is not a mapping of heads to lists of labels.", hint="Export the model again."
        )
    return {head: tuple(names) for head, names in tree.items()}
