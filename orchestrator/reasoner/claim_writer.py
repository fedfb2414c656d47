"""Has the served reasoner word the claims of an answer; what it gets wrong, or can't say in time, stays extractive."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Protocol

from cachetools import LRUCache

from orchestrator.domain.claim_prompt import claim_grammar, number_prompt, pieces_of, rule_prompt
from orchestrator.domain.quantity_text import parse_quantities
from orchestrator.errors import DeadlineExceededError, TriasError
from orchestrator.reasoner.claims import CLAIM_CHARACTERS
from orchestrator.reasoner.verifier import fault_of_claim
from orchestrator.settings import ReasonerSettings
from trias.v1 import common_pb2, reasoner_service_pb2, reasoning_pb2

__all__ = ["ClaimWriter", "Claimed", "Completion", "Generator", "Order", "order_for"]

log = logging.getLogger(__name__)

# A claim has at most 15 characters, and a character is at most a token or two.
MAX_TOKENS = 24
# Reading a longer sentence costs more than a claim's share of the time.
MAX_SENTENCE = 240
# A model that does not answer is left alone for so long: it must not cost every answer its share of the time.
PAUSE_S = 5.0
STAGE = "model_claims"


class Completion(Protocol):
    """What a generator gives."""

    @property
    def text(self) -> str:
        """Without the prompt."""

    @property
    def complete(self) -> bool:
        """Whether the model ended it."""

    @property
    def fingerprint(self) -> str:
        """Of the model version that wrote it."""


class Generator(Protocol):
    """A language model; `orchestrator.inference.generator.TritonGenerator` is one."""

    def generate(
        self, prompt: str, *, max_tokens: int, grammar: str = "", timeout_s: float | None = None
    ) -> Coroutine[None, None, Completion]:
        """Complete ``prompt``; raises errors of the tree in `orchestrator.errors`."""


@dataclass(frozen=True, slots=True)
class Order:
    """One claim to be worded: what is asked, and what the answer must be made of.

    Attributes:
        numbers: the wordings of the number that it states; empty for a claim without one.
        place: where that number stands in the sentence.
    """

    sentence: str
    prompt: str
    numbers: tuple[str, ...] = ()
    place: tuple[int, int] | None = None

    @property
    def grammar(self) -> str:
        """Of the claims that may be answered."""
        return claim_grammar(self.sentence, self.numbers, CLAIM_CHARACTERS)


@dataclass(frozen=True, slots=True)
class Claimed:
    """A claim as the model worded it, or ``fault``: why its wording is not used."""

    text: str
    fault: str
    fingerprint: str


def order_for(claim: reasoning_pb2.Claim, question: str) -> Order | None:
    """What to ask about an extractive claim; None where a model has no business with it.

    The number stays the one that was extracted: the model words what it is about. A number that was taken for a
    condition, and stands in the claim all the same, counts too.
    """
    sentence = claim.sentence
    if not 0 < len(sentence) <= MAX_SENTENCE or "\n" in sentence:
        return None
    found = parse_quantities(sentence)
    if claim.quantities:
        start = claim.quantities[0].start
        stated = [quantity for quantity in found if quantity.start == start]
        if not stated:  # a row of a table is read under its headers: its places are not the sentence's
            return None
    else:
        stated = [quantity for quantity in found if quantity.text in claim.text]
    if not stated:
        return Order(sentence, rule_prompt(sentence, question))
    number = stated[0]
    wordings = dict.fromkeys((sentence[number.phrase_start : number.phrase_end], number.text))
    place = (number.start, number.end)
    return Order(sentence, number_prompt(sentence, *place), tuple(wordings), place)


class ClaimWriter:
    """Words the claims that an answer shows, within a budget of time.

    Args:
        generator: the served model.
        settings: budget, number, size of the memory.
    """

    def __init__(self, generator: Generator, settings: ReasonerSettings) -> None:
        self._generator = generator
        self._settings = settings
        self._known: LRUCache[str, Claimed] = LRUCache(max(1, settings.claim_cache_entries))
        self._paused_until = 0.0

    async def word(self, response: reasoner_service_pb2.ReasonResponse, question: str, *, spent_s: float = 0.0) -> None:
        """Put the model's wordings into a response: those of the claims that its sentences rest on first.

        A claim in a conflict keeps the words that the conflict's explanation quotes. Whatever goes wrong, the response
        stays valid; only cancellation passes through.

        Args:
            response: changed in place.
            question: that it answers.
            spent_s: what the answer has taken already; a late answer is not made later.
        """
        started = time.perf_counter()
        chosen = self._choose(response.answer, question)
        if not chosen:
            return
        missing = {order.prompt: order for _, order in chosen if order.prompt not in self._known}
        budget = min(self._settings.claim_budget_s, self._settings.claims_by_s - spent_s)
        if missing and budget > 0 and time.monotonic() >= self._paused_until:
            await self._ask(list(missing.values()), budget)
        for claim, order in chosen:
            claimed = self._known.get(order.prompt)
            if claimed is not None and not claimed.fault:
                claim.text = claimed.text
                claim.decided_by = f"reasoner@{claimed.fingerprint[:12]}"
        elapsed = (time.perf_counter() - started) * 1000
        response.timing.stages.append(common_pb2.StageTiming(stage=STAGE, wall_ms=elapsed, model_ms=elapsed))
        response.timing.total_ms += elapsed

    async def claim(self, order: Order, *, timeout_s: float) -> Claimed:
        """Have one claim worded, and check it.

        Raises:
            TriasError: the model does not answer, or not in time.
        """
        made = await self._generator.generate(
            order.prompt, max_tokens=MAX_TOKENS, grammar=order.grammar, timeout_s=timeout_s
        )
        text = made.text.strip()
        return Claimed(text, _fault(text, order) if made.complete else "没有说完", made.fingerprint)

    def _choose(self, answer: reasoning_pb2.Answer, question: str) -> list[tuple[reasoning_pb2.Claim, Order]]:
        disputed = {claim_id for conflict in answer.conflicts for claim_id in conflict.claim_ids}
        used = {chain.claim_id for chain in answer.evidence}
        ordered = sorted(answer.claims, key=lambda claim: (claim.claim_id not in used, -claim.relevance))
        chosen: list[tuple[reasoning_pb2.Claim, Order]] = []
        for claim in ordered:
            if len(chosen) == self._settings.claims_worded:
                break
            order = None if claim.claim_id in disputed else order_for(claim, question)
            if order is not None:
                chosen.append((claim, order))
        return chosen

    async def _ask(self, orders: Sequence[Order], budget: float) -> None:
        """Ask for all at once; what has come when the budget is spent is kept, the rest is given up."""
        tasks = [asyncio.create_task(self._keep(order, budget)) for order in orders]
        try:
            await asyncio.wait(tasks, timeout=budget)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _keep(self, order: Order, timeout_s: float) -> None:
        try:
            self._known[order.prompt] = await self.claim(order, timeout_s=timeout_s)
        except DeadlineExceededError:
            log.debug("a claim was not worded in time")
        except TriasError as error:
            # Not served, or down: no other claim will do better at present.
            self._pause(error)

    def _pause(self, error: TriasError) -> None:
        if time.monotonic() >= self._paused_until:
            log.warning("claims stay extractive for %g s: %s", PAUSE_S, error)
        self._paused_until = time.monotonic() + PAUSE_S


def _fault(text: str, order: Order) -> str:
    if not 0 < len(text) <= CLAIM_CHARACTERS:
        return "长度不合"
    pieces = pieces_of(text, order.sentence, order.numbers)
    return "不是条文中的文字" if pieces is None else fault_of_claim(pieces, order.sentence, order.place)
