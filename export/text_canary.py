"""Quality gate and canary of a model that writes text: both need it served, so they are one run."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from export.canary import DECIMALS, CanaryLimits, CanaryReport, Version, check_speed, errors_judged
from export.serving import Serving, Tensors
from orchestrator.errors import BuildError, GateError

__all__ = ["TextReport", "TextRequest", "run_text_canary"]

TEXT = "text_output"


@dataclass(frozen=True, slots=True)
class TextRequest:
    """A labelled prompt.

    Attributes:
        inputs: the request's tensors.
        judge: what is right of a text, by metric.
    """

    inputs: Tensors
    judge: Callable[[str], Mapping[str, bool]]


@dataclass(frozen=True, slots=True)
class TextReport:
    """What was seen; ``quality`` and ``live_quality`` are shares of texts that are right, by metric."""

    canary: CanaryReport
    quality: dict[str, float]
    live_quality: dict[str, float] | None


async def run_text_canary(
    serving: Serving,
    candidate: Version,
    live: Version | None,
    requests: Sequence[TextRequest],
    *,
    real: bool,
    limits: CanaryLimits,
) -> TextReport:
    """Send all requests to both versions in turn, and judge the texts.

    Raises:
        GateError: the candidate failed on a request, is too slow, or writes the same whatever it is asked.
        TriasError: the live version does not answer either, so that nothing can be compared.
    """
    versions = [version for version in (live, candidate) if version is not None]
    texts: dict[str, list[str]] = {version.number: [] for version in versions}
    times: dict[str, list[float]] = {version.number: [] for version in versions}
    for version in versions:
        # The first use of a grammar, and of a version, takes seconds.
        await _call(serving, version, requests[0], is_candidate=version is candidate)
    for place, request in enumerate(requests):
        for version in versions if place % 2 else reversed(versions):
            started = time.perf_counter()
            texts[version.number].append(await _call(serving, version, request, is_candidate=version is candidate))
            times[version.number].append((time.perf_counter() - started) * 1000)
    mine = texts[candidate.number]
    p95 = float(np.percentile(times[candidate.number], 95))
    agreement = {"distinct": round(len(set(mine)) / len(mine), DECIMALS)}
    live_p95 = None
    if live is not None:
        live_p95 = float(np.percentile(times[live.number], 95))
        check_speed(p95, live_p95, limits)
        same = [left == right for left, right in zip(mine, texts[live.number], strict=True)]
        agreement["equal_texts"] = round(float(np.mean(same)), DECIMALS)
    if len(mine) > 1 and len(set(mine)) == 1:
        raise GateError(
            "canary.distinct",
            1,
            "> 1",
            hint="The new version writes the same whatever it is asked. Nothing was promoted.",
        )
    return TextReport(
        CanaryReport(serving.address, serving.private, len(requests), real, p95, live_p95, agreement),
        _shares(requests, mine),
        _shares(requests, texts[live.number]) if live is not None else None,
    )


async def _call(serving: Serving, version: Version, request: TextRequest, *, is_candidate: bool) -> str:
    with errors_judged(is_candidate=is_candidate):
        answer = await serving.infer(version.number, request.inputs, [TEXT])
        return _only(answer[TEXT])


def _only(texts: npt.NDArray[Any]) -> str:
    flat = texts.reshape(-1)
    if len(flat) != 1 or not isinstance(flat[0], bytes):
        raise BuildError(f"The model gave {len(flat)} texts where one is due.")
    return flat[0].decode("utf-8", errors="replace")


def _shares(requests: Sequence[TextRequest], texts: Sequence[str]) -> dict[str, float]:
    rights: dict[str, list[bool]] = {}
    for request, text in zip(requests, texts, strict=True):
        for metric, right in request.judge(text).items():
            rights.setdefault(metric, []).append(right)
    return {metric: round(math.fsum(found) / len(found), DECIMALS) for metric, found in rights.items()}
