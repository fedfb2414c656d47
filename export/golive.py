"""A version that passed its gates on disk goes live: load it beside the old one, try it on requests, promote it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypedDict

from export.base import Progress, silent
from export.canary import CanaryReport, Request, Version, run_canary
from export.live import LivePointer, read_live, write_live
from export.publish import Prepared
from export.quality import check_quality
from export.serving import Serving
from export.spec import EmbedderSpec, EncoderSpec
from export.switching import LiveModel, LiveRules, Outcome
from export.text_canary import TextRequest, run_text_canary
from orchestrator.errors import BuildError, GateError, TriasError

__all__ = ["go_live"]

log = logging.getLogger(__name__)


class Figures(TypedDict):
    """What was measured on the way."""

    gates: Mapping[str, float]
    live_gates: Mapping[str, float]
    canary: CanaryReport


async def go_live(
    prepared: Prepared,
    serving: Serving,
    requests: Sequence[Request] | Sequence[TextRequest],
    *,
    real: bool,
    rules: LiveRules,
    indexed_by: str = "",
    dry_run: bool = False,
    progress: Progress = silent,
) -> Outcome:
    """Load a prepared version beside the live one, try it on requests, and promote it.

    Args:
        prepared: the version.
        serving: the Triton that callers use, or a private one where none runs.
        requests: for the canary; labelled prompts for a model that writes text, whose quality gate this is too.
        real: whether the service had been asked them.
        rules: limits and times.
        indexed_by: the fingerprint of the embedder whose vectors answer queries; empty where there are none. An
            embedder is not promoted before its own do: it becomes the candidate.
        dry_run: remove the version again after the canary.
        progress: told the name of each step as it begins.

    Raises:
        GateError: the canary failed, and the version is gone; or it failed its callers, and the old one is back.
        TriasError: the version could not be loaded or compared; it is gone, and the old one serves.
    """
    version, fingerprint = prepared.version, prepared.manifest.fingerprint
    model = LiveModel(prepared.model_folder, serving, rules, progress=progress)
    async with model.lock():
        pointer = read_live(model.folder)
        if pointer is not None and pointer.live == version:
            await model.serve()
            return model.outcome("unchanged", version, fingerprint, pointer, gates=prepared.gates)
        try:
            prepared, canary = await _try(prepared, pointer, serving, requests, real=real, model=model)
        except BaseException:
            await _withdraw(prepared, pointer, serving)
            raise
        gates = {**prepared.gates, **canary.gates}
        found: Figures = {"gates": gates, "live_gates": prepared.live_gates, "canary": canary}
        if dry_run:
            progress("Remove the version again")
            await _withdraw(prepared, pointer, serving)
            return model.outcome("tried", version, fingerprint, pointer, **found)
        if pointer is None:
            after = LivePointer.starting(version, fingerprint, gates)
        elif isinstance(prepared.spec, EmbedderSpec) and indexed_by not in ("", fingerprint):
            progress("Register as candidate")
            pointer = pointer.registering(version, fingerprint, gates)
            write_live(model.folder, pointer)
            await model.serve()
            return model.outcome("candidate", version, fingerprint, pointer, **found)
        else:
            after = pointer.promoting(version, fingerprint, gates=gates)
        progress(f"Promote version {version}")
        try:
            watched = await model.switch(pointer, after)
        except GateError:
            # It was live for a moment, and stays on disk for who wants to know why it failed.
            raise
        except TriasError:
            await _withdraw(prepared, pointer, serving)
            raise
        return model.outcome("promoted", version, fingerprint, after, watched=watched, **found)


async def _try(
    prepared: Prepared,
    pointer: LivePointer | None,
    serving: Serving,
    requests: Sequence[Request] | Sequence[TextRequest],
    *,
    real: bool,
    model: LiveModel,
) -> tuple[Prepared, CanaryReport]:
    """The canary; and the version with what was measured of it there."""
    spec, limits = prepared.spec, model.rules.canary
    where = "a Triton of its own" if serving.private else serving.address
    model.progress(f"Load beside the live version on {where}")
    await serving.load(beside=(prepared.version,))
    if prepared.version not in await serving.ready():
        raise BuildError(
            f"Triton on {serving.address} has loaded {spec.model} without version {prepared.version}.",
            hint="Does it serve another copy of the model repository?",
        )
    candidate = Version(prepared.version, prepared.folder)
    live = Version(pointer.live, prepared.model_folder / pointer.live) if pointer else None
    model.progress(f"Canary: {len(requests)} {'real' if real else 'golden'} requests{' to both versions' * bool(live)}")
    if isinstance(spec, EncoderSpec):
        plain = [request for request in requests if not isinstance(request, TextRequest)]
        return prepared, await run_canary(spec, serving, candidate, live, plain, real=real, limits=limits)
    prompts = [request for request in requests if isinstance(request, TextRequest)]
    report = await run_text_canary(serving, candidate, live, prompts, real=real, limits=limits)
    against = f"live version {live.number}" if live else ""
    gates = check_quality(spec, report.quality, report.live_quality, against=against)
    measured = replace(
        prepared,
        gates={**prepared.gates, **gates},
        quality=report.quality,
        live_quality=report.live_quality,
    )
    return measured, report.canary


async def _withdraw(prepared: Prepared, pointer: LivePointer | None, serving: Serving) -> None:
    """Have Triton forget the version, then remove it; whatever fails on the way, the live version is not touched."""
    try:
        await (serving.load() if pointer is not None else serving.unload())
    except TriasError as error:
        # Nobody is pinned to it, and it is gone at the next load.
        log.warning("version %s of %s stays loaded for now: %s", prepared.version, prepared.spec.model, error)
    await asyncio.to_thread(prepared.discard)
