"""The canary: the same requests to the live version and to the new one, side by side, before anybody else meets it."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from export.serving import Serving, Tensors
from export.spec import EmbedderSpec, EncoderSpec, RerankerSpec, RouterSpec
from export.version import tokenizer_of
from orchestrator.errors import BuildError, GateError, TriasError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["CanaryLimits", "CanaryReport", "Request", "Version", "check_speed", "errors_judged", "run_canary"]

Request: TypeAlias = str | tuple[str, str]  # a question, or a question and a passage
Answers: TypeAlias = list[dict[str, npt.NDArray[Any]]]
# The first calls of a version pay for its warm-up.
WARM_UP = 3
# A version whose answers differ this much less than the live one's has stopped to tell requests apart.
COLLAPSE = 0.1
DECIMALS = 4


@dataclass(frozen=True, slots=True)
class CanaryLimits:
    """What the new version must keep.

    Attributes:
        rounds: how often all requests are sent; of each, the quickest answer counts, for machines are noisy.
        p95_ratio: the new version's P95 over the live one's, at most.
        p95_slack_ms: on top of that; a millisecond more is no reason to stop.
    """

    rounds: int = 3
    p95_ratio: float = 1.5
    p95_slack_ms: float = 5.0


@dataclass(frozen=True, slots=True)
class Version:
    """A version that is served: its number in Triton, and its folder."""

    number: str
    folder: Path


@dataclass(frozen=True, slots=True)
class CanaryReport:
    """What was seen.

    Attributes:
        requests: how many different ones were sent.
        real: whether the service had been asked them; else they are the golden set's.
        p95_ms: of the new version.
        live_p95_ms: of the live one; None where there is none.
        agreement: how alike the answers are, by what was compared.
    """

    address: str
    private: bool
    requests: int
    real: bool
    p95_ms: float
    live_p95_ms: float | None
    agreement: dict[str, float] = field(default_factory=dict)

    @property
    def gates(self) -> dict[str, float]:
        """As gates, for the record."""
        ratio = {"canary.p95_ratio": round(self.p95_ms / self.live_p95_ms, DECIMALS)} if self.live_p95_ms else {}
        return {"canary.errors": 0.0, **ratio, **{f"canary.{name}": value for name, value in self.agreement.items()}}


async def run_canary(
    spec: EncoderSpec,
    serving: Serving,
    candidate: Version,
    live: Version | None,
    requests: Sequence[Request],
    *,
    real: bool,
    limits: CanaryLimits,
) -> CanaryReport:
    """Send all requests to both versions in turn and compare what comes back.

    Raises:
        GateError: the candidate failed on a request, is too slow, or answers everything alike; says which.
        TriasError: the live version does not answer either, so that nothing can be compared.
    """
    outputs = list(spec.outputs.values())
    prepared = [(version, _prepare(spec, version.folder, requests)) for version in (live, candidate) if version]
    answers: dict[str, Answers] = {}
    times = {version.number: [math.inf] * len(requests) for version, _ in prepared}
    for version, tensors in prepared:
        for inputs in tensors[:WARM_UP]:
            await _call(serving, version, inputs, outputs, is_candidate=version is candidate)
    for turn in range(limits.rounds):
        answers = {version.number: [] for version, _ in prepared}
        for place in range(len(requests)):
            # Whoever comes second may find the caches warm: they take turns.
            for version, tensors in prepared if (place + turn) % 2 else reversed(prepared):
                started = time.perf_counter()
                answer = await _call(serving, version, tensors[place], outputs, is_candidate=version is candidate)
                elapsed = (time.perf_counter() - started) * 1000
                times[version.number][place] = min(times[version.number][place], elapsed)
                answers[version.number].append(answer)
    mine = _p95(times[candidate.number])
    theirs = _p95(times[live.number]) if live else None
    if theirs is not None:
        check_speed(mine, theirs, limits)
    agreement = _compare(spec, answers[candidate.number], answers[live.number] if live else None)
    return CanaryReport(serving.address, serving.private, len(requests), real, mine, theirs, agreement)


async def _call(
    serving: Serving, version: Version, inputs: Tensors, outputs: Sequence[str], *, is_candidate: bool
) -> dict[str, npt.NDArray[Any]]:
    with errors_judged(is_candidate=is_candidate):
        answer = dict(await serving.infer(version.number, inputs, outputs))
        if not all(np.isfinite(tensor).all() for tensor in answer.values()):
            raise BuildError(f"version {version.number} answered with numbers that are not finite")
    return answer


@contextlib.contextmanager
def errors_judged(*, is_candidate: bool) -> Iterator[None]:
    """Around one call: an error of the candidate is a gate that it failed; one of the live version is passed on.

    Raises:
        GateError: the candidate failed.
    """
    try:
        yield
    except TriasError as error:
        if not is_candidate:
            raise
        raise GateError(
            "canary.errors", 1, "= 0", hint=f"{error} Nothing was promoted; the version in place stays."
        ) from error


def _prepare(spec: EncoderSpec, folder: Path, requests: Sequence[Request]) -> list[dict[str, npt.NDArray[np.int64]]]:
    """The tensors of each request, with the version's own tokenizer; one row each."""
    tokenizer = tokenizer_of(folder)
    tokenizer.enable_truncation(spec.max_length)
    return [_tensors(spec, tokenizer, request) for request in requests]


def _tensors(spec: EncoderSpec, tokenizer: Tokenizer, request: Request) -> dict[str, npt.NDArray[np.int64]]:
    query, passage = spec.prefixes.get("query", ""), spec.prefixes.get("passage", "")
    if isinstance(request, str):
        ids = tokenizer.encode(query + request).ids
    else:
        ids = tokenizer.encode(query + request[0], passage + request[1]).ids
    row = np.asarray([ids], np.int64)
    return {"input_ids": row, "attention_mask": np.ones_like(row)}


def _p95(times: Sequence[float]) -> float:
    return float(np.percentile(times, 95))


def check_speed(mine: float, theirs: float, limits: CanaryLimits) -> None:
    """Stop a version whose P95 is too far above the live one's; both in milliseconds.

    Raises:
        GateError: it is; tells both.
    """
    if not mine <= limits.p95_ratio * theirs + limits.p95_slack_ms:
        raise GateError(
            "canary.p95_ratio",
            mine / theirs,
            f"<= {limits.p95_ratio:g} + {limits.p95_slack_ms:g} ms",
            hint=f"{mine:.1f} ms against {theirs:.1f} ms of the live version. Nothing was promoted.",
        )


def _compare(spec: EncoderSpec, mine: Answers, theirs: Answers | None) -> dict[str, float]:
    """How alike the answers of two versions are, and that the new one's differ from request to request."""
    if isinstance(spec, EmbedderSpec):
        name = spec.outputs["dense"]
        return _compared(mine, theirs, lambda answers: _vectors(answers, name), _vector_agreement, _vector_spread)
    if isinstance(spec, RerankerSpec):
        name = spec.outputs["score"]
        return _compared(mine, theirs, lambda answers: _vectors(answers, name), _score_agreement, _score_spread)
    if isinstance(spec, RouterSpec):
        name = spec.outputs["intent"]
        return _compared(mine, theirs, lambda answers: _vectors(answers, name), _intent_agreement, _intent_spread)
    return {}


def _compared(
    mine: Answers,
    theirs: Answers | None,
    read: Callable[[Answers], npt.NDArray[np.float64]],
    agreement: Callable[[npt.NDArray[np.float64], npt.NDArray[np.float64]], dict[str, float]],
    spread: Callable[[npt.NDArray[np.float64]], float],
) -> dict[str, float]:
    new = read(mine)
    found = spread(new)
    least = 0.0
    figures: dict[str, float] = {}
    if theirs is not None:
        old = read(theirs)
        least = COLLAPSE * spread(old)
        figures = {name: round(value, DECIMALS) for name, value in agreement(new, old).items()}
    if len(mine) > 1 and not found > least:
        raise GateError(
            "canary.spread",
            found,
            f"> {least:.6g}",
            hint="The new version answers different requests alike: it has collapsed. Nothing was promoted.",
        )
    return {**figures, "spread": round(found, 6)}


def _vectors(answers: Answers, name: str) -> npt.NDArray[np.float64]:
    return np.stack([np.asarray(answer[name], np.float64).reshape(-1) for answer in answers])


def _vector_spread(vectors: npt.NDArray[np.float64]) -> float:
    """1 minus the mean cosine of two different requests."""
    return float(1 - np.mean(_pairs(vectors @ vectors.T))) if len(vectors) > 1 else 1.0


def _vector_agreement(new: npt.NDArray[np.float64], old: npt.NDArray[np.float64]) -> dict[str, float]:
    """The mean cosine of a request's two vectors; and how alike both rank which requests resemble each other."""
    found = {"cosine": float(np.mean(np.sum(new * old, axis=1)))} if new.shape == old.shape else {}
    if len(new) > 2:
        left, right = _pairs(new @ new.T), _pairs(old @ old.T)
        found["rank_correlation"] = _correlation(_ranks(left), _ranks(right))
    return found


def _score_spread(scores: npt.NDArray[np.float64]) -> float:
    return float(np.std(scores))


def _score_agreement(new: npt.NDArray[np.float64], old: npt.NDArray[np.float64]) -> dict[str, float]:
    return {"score_correlation": _correlation(new.reshape(-1), old.reshape(-1))} if len(new) > 2 else {}


def _intent_spread(logits: npt.NDArray[np.float64]) -> float:
    """How much the probabilities of an intent vary from request to request."""
    return float(np.mean(np.std(_softmax(logits), axis=0)))


def _intent_agreement(new: npt.NDArray[np.float64], old: npt.NDArray[np.float64]) -> dict[str, float]:
    # Heads of different label sets cannot be compared by place.
    return {"intent": float(np.mean(new.argmax(1) == old.argmax(1)))} if new.shape == old.shape else {}


def _softmax(logits: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares: npt.NDArray[np.float64] = powers / powers.sum(axis=1, keepdims=True)
    return shares


def _pairs(square: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    upper: npt.NDArray[np.float64] = square[np.triu_indices(len(square), k=1)]
    return upper


def _ranks(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.argsort(np.argsort(values)).astype(np.float64)


def _correlation(left: npt.NDArray[np.float64], right: npt.NDArray[np.float64]) -> float:
    if not np.std(left) or not np.std(right):
        return 0.0
    return float(np.corrcoef(left, right)[0, 1])
