"""The reasoner agent: passages in, a verified answer out. Its work is CPU work; where it is long, a thread does it."""

from __future__ import annotations

import asyncio
import datetime as dt
import math
from collections.abc import Mapping
from concurrent.futures import Executor

from orchestrator.domain.pack import DomainPack
from orchestrator.errors import InvalidFieldError
from orchestrator.reasoner.claim_writer import ClaimWriter
from orchestrator.reasoner.reading import PackReader
from orchestrator.reasoner.reasoning import Reasoning
from orchestrator.settings import ReasonerSettings
from trias.v1 import common_pb2, reasoner_service_pb2

__all__ = ["MAX_PASSAGES", "SHORT_CHARACTERS", "ReasonerAgent"]

MAX_PASSAGES = 100
MAX_ROUND = 2
# Up to here the work takes some milliseconds, as most questions' does. A thread that computes would keep the event loop
# from the interpreter for as long (sys.getswitchinterval: 5 ms at a time), and handing over costs a millisecond more.
SHORT_CHARACTERS = 2000


class ReasonerAgent:
    """Says what passages jointly say.

    Args:
        settings: thresholds and sizes.
        packs: the domain packs by name.
        default_domain: the pack of a plan that names none.
        executor: where long work runs; the loop's default executor where None.
        claim_writer: words the claims of deep answers; without one they stay extractive.

    Raises:
        KeyError: ``default_domain`` is not among the packs.
    """

    def __init__(
        self,
        settings: ReasonerSettings,
        packs: Mapping[str, DomainPack],
        default_domain: str,
        executor: Executor | None = None,
        claim_writer: ClaimWriter | None = None,
    ) -> None:
        self._settings = settings
        self._readers = {name: PackReader(pack) for name, pack in packs.items()}
        self._default = self._readers[default_domain]
        self._executor = executor
        self._claim_writer = claim_writer

    async def reason(self, request: reasoner_service_pb2.ReasonRequest) -> reasoner_service_pb2.ReasonResponse:
        """Compose and verify one tier's answer.

        Raises:
            InvalidFieldError: a field of the request is missing or out of range.
        """
        as_of = _check(request)
        reader = self._reader(request.plan.domain)
        loop = asyncio.get_running_loop()
        started = loop.time()
        reasoning = Reasoning(request, reader, self._settings, as_of)
        if _length(request) <= SHORT_CHARACTERS:
            response = reasoning.run()
        else:
            response = await loop.run_in_executor(self._executor, reasoning.run)
        if self._claim_writer is not None and request.tier == common_pb2.TIER_DEEP:
            question = request.plan.normalized_question or request.plan.question
            await self._claim_writer.word(response, question, spent_s=loop.time() - started)
        return response

    def _reader(self, domain: str) -> PackReader:
        if not domain:
            return self._default
        if domain not in self._readers:
            known = ", ".join(sorted(self._readers))
            raise InvalidFieldError("plan.domain", f"there is no domain pack {domain!r}.", hint=f"Known are {known}.")
        return self._readers[domain]


def _length(request: reasoner_service_pb2.ReasonRequest) -> int:
    """Characters to read: the work is about proportional to them."""
    plan = request.plan
    return len(plan.normalized_question or plan.question) + sum(len(item.clause.text) for item in request.passages)


def _check(request: reasoner_service_pb2.ReasonRequest) -> dt.date:
    """Refuse what cannot be worked on; returns the day that validity is judged for."""
    if not (request.plan.normalized_question or request.plan.question).strip():
        raise InvalidFieldError("plan.question", "is empty.", hint="Send the plan that the router made.")
    if request.tier not in {common_pb2.TIER_FAST, common_pb2.TIER_DEEP}:
        raise InvalidFieldError("tier", f"{request.tier} is neither TIER_FAST nor TIER_DEEP.")
    if len(request.passages) > MAX_PASSAGES:
        raise InvalidFieldError("passages", f"{len(request.passages)} are more than {MAX_PASSAGES}.")
    if not 0 <= request.follow_up_round <= MAX_ROUND:
        raise InvalidFieldError("follow_up_round", f"{request.follow_up_round} is not between 0 and {MAX_ROUND}.")
    confidence = request.retrieval_confidence
    if not math.isfinite(confidence) or not 0.0 <= confidence <= 1.0:
        raise InvalidFieldError("retrieval_confidence", f"{confidence} is not between 0 and 1.")
    if not request.plan.as_of_date:
        return dt.datetime.now(tz=dt.timezone.utc).date()
    try:
        return dt.date.fromisoformat(request.plan.as_of_date)
    except ValueError:
        raise InvalidFieldError(
            "plan.as_of_date", f"{request.plan.as_of_date!r} is not a date.", hint="Write YYYY-MM-DD."
        ) from None
