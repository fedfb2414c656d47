"""One question's life: route → retrieve → fast answer → deep answer, with follow-ups and fallbacks."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from typing import Any, Protocol, TypeVar

from orchestrator.errors import InvalidFieldError, TriasError
from orchestrator.flow import wording
from orchestrator.flow.deadlines import Budget, within
from orchestrator.flow.events import Event, Found, Planned, Question, Replied
from orchestrator.flow.fallback import default_plan, notice, quote_passages
from orchestrator.flow.journal import Journal, degradation_of
from orchestrator.flow.passages import add_passages, merge_passages
from orchestrator.flow.ports import FallbackRetriever, Reasoner, Retriever, Router
from orchestrator.settings import BudgetSettings
from trias.v1 import (
    answer_service_pb2,
    common_pb2,
    plan_pb2,
    reasoner_service_pb2,
    reasoning_pb2,
    retriever_service_pb2,
    router_service_pb2,
)

__all__ = ["Flow"]

logger = logging.getLogger(__name__)


# By then an agent in this process has sent its calls, and one elsewhere its request.
HEAD_START_S = 0.001


class _Timed(Protocol):
    @property
    def timing(self) -> common_pb2.Timing: ...


RequestT = TypeVar("RequestT")
ResponseT = TypeVar("ResponseT", bound=_Timed)


class Flow:
    """Carries questions from arrival to the last answer; one flow serves any number of questions at a time.

    Args:
        router: makes plans.
        retriever: finds passages.
        reasoner: makes answers.
        budget: seconds of each stage.
        default_domain: the domain pack of a question that names none.
        fallback_retriever: asked where the retriever fails; without it nothing can be quoted then.
        greetings: domain pack → what is said where there is nothing to look up; a pack without one gets a plain one.
    """

    def __init__(
        self,
        *,
        router: Router,
        retriever: Retriever,
        reasoner: Reasoner,
        budget: BudgetSettings,
        default_domain: str,
        fallback_retriever: FallbackRetriever | None = None,
        greetings: Mapping[str, str] | None = None,
    ) -> None:
        self.router = router
        self.retriever = retriever
        self.reasoner = reasoner
        self.budget = budget
        self.default_domain = default_domain
        self.fallback_retriever = fallback_retriever
        self.greetings = dict(greetings or {})

    async def ask(self, question: Question, *, time_left_s: float | None = None) -> AsyncIterator[Event]:
        """Work on one question; cancelling who awaits the next event, or leaving early, cancels the work.

        The work does not wait for who reads the events: while one is on its way to the caller, the next is prepared.

        Args:
            question: with its options, checked already.
            time_left_s: what the caller's deadline leaves: an upper limit on the configured budgets.

        Yields:
            `Planned`, `Found`, one or two `Replied`. A plan that needs a clarification or no retrieval
            has no `Found`; a follow-up may bring another `Planned` and `Found` before the last `Replied`.

        Raises:
            InvalidFieldError: the router refuses the question. Nothing else is raised: faults become degradations.
        """
        life = _Life(self, question, time_left_s)
        told: asyncio.Queue[Event | None] = asyncio.Queue()

        async def work() -> None:
            try:
                async for event in life.events():
                    told.put_nowait(event)
            finally:
                told.put_nowait(None)

        working = asyncio.get_running_loop().create_task(work())
        try:
            while (event := await told.get()) is not None:
                yield event
            await working
        finally:
            working.cancel()
            # Whatever it still raises is read, so that asyncio does not report it as lost.
            await asyncio.gather(working, return_exceptions=True)


class _Life:
    """The state of one question while it is worked on."""

    def __init__(self, flow: Flow, question: Question, time_left_s: float | None) -> None:
        self._flow = flow
        self._question = question
        self._journal = Journal()
        self._budget = Budget(total_s=flow.budget.total_s, fallback_s=flow.budget.fallback_s, caller_s=time_left_s)
        self._deep_wanted = question.max_tier != common_pb2.TIER_FAST
        self._plan = plan_pb2.Plan()
        self._retrieved = answer_service_pb2.Retrieved()
        self._searched = False
        self._news: list[Event] = []

    async def events(self) -> AsyncIterator[Event]:
        await self._route()
        early = self._answer_without_passages()
        if early is not None:
            yield Planned(self._plan)
            yield self._reply(early, provisional=False)
        else:
            searching = asyncio.get_running_loop().create_task(self._retrieve())
            try:
                # The searches go out first: telling the plan is work of ours that they need not wait for.
                await asyncio.wait({searching}, timeout=HEAD_START_S)
                yield Planned(self._plan)
                await searching
            finally:
                searching.cancel()
            yield Found(self._retrieved)
            first = await self._first_answer()
            yield self._reply(first, provisional=self._deep_wanted)
            if self._deep_wanted:
                final = await self._final_answer(first)
                for event in self._news:
                    yield event
                yield self._reply(final, provisional=False)

    # --- stages -------------------------------------------------------------------------------------------------

    async def _route(self) -> None:
        seconds = self._budget.for_route(self._flow.budget.route_s)
        try:
            response = await self._call("route", self._flow.router.route, self._route_request(), seconds)
        except InvalidFieldError:
            raise
        except Exception as error:  # whatever ails the router, the question's own words can still be searched
            self._journal.degrade("route", self._failed("router", error))
            self._plan = default_plan(self._question, self._flow.default_domain)
            return
        self._take_plan(response)

    def _answer_without_passages(self) -> reasoning_pb2.Answer | None:
        tier = common_pb2.TIER_DEEP if self._deep_wanted else common_pb2.TIER_FAST
        confidence = self._plan.confidence
        if any(clarification.required for clarification in self._plan.clarifications):
            self._journal.note("route", "The question is open: the user is asked.")
            status = reasoning_pb2.ANSWER_STATUS_NEEDS_CLARIFICATION
            return notice(tier, status, wording.CLARIFY, confidence=confidence)
        if self._plan.strategy == plan_pb2.STRATEGY_NO_RETRIEVAL:
            self._journal.note("route", "There is nothing to look up.")
            status = reasoning_pb2.ANSWER_STATUS_ANSWERED
            text = self._flow.greetings.get(self._plan.domain) or wording.NOTHING_TO_LOOK_UP
            return notice(tier, status, text, confidence=confidence)
        return None

    async def _retrieve(self) -> None:
        request = retriever_service_pb2.RetrieveRequest(plan=self._plan, top_k=self._question.top_k)
        seconds = self._budget.for_search(self._flow.budget.retrieve_s)
        try:
            response = await self._call("retrieve", self._flow.retriever.retrieve, request, seconds)
        except Exception as error:  # a dead retriever must not cost the answer
            self._journal.degrade("retrieve", self._failed("retriever", error))
            await self._fall_back(request)
        else:
            self._take_passages(response)

    async def _fall_back(self, request: retriever_service_pb2.RetrieveRequest) -> None:
        fallback = self._flow.fallback_retriever
        if fallback is None:
            return
        seconds = self._budget.for_fallback(self._flow.budget.fallback_s)
        try:
            response = await self._call("fallback_search", fallback.retrieve, request, seconds)
        except Exception as error:  # then there is nothing to quote, and the answer says so
            self._journal.degrade("fallback_search", self._failed("keyword_index", error))
        else:
            self._take_passages(response)

    async def _first_answer(self) -> reasoning_pb2.Answer:
        """The fast answer; where it is missed, the passages quoted."""
        if not self._searched:
            return self._quotation()
        seconds = self._budget.for_reasoning(self._flow.budget.fast_s)
        try:
            response = await self._reason("reason_fast", common_pb2.TIER_FAST, seconds)
        except Exception as error:  # the deep answer may still come
            return self._quotation(self._missed("reason_fast", error))
        return response.answer

    async def _final_answer(self, first: reasoning_pb2.Answer) -> reasoning_pb2.Answer:
        """The deep answer after its follow-ups; where it is missed, the best that there is already."""
        if not self._searched:
            return first
        most = self._flow.budget.max_follow_ups
        best: reasoning_pb2.Answer | None = None
        for rounds in range(most + 1):
            seconds = self._budget.for_reasoning(self._flow.budget.deep_s)
            try:
                response = await self._reason("reason_deep", common_pb2.TIER_DEEP, seconds, rounds)
            except Exception as error:  # an earlier round's answer, the fast one or a quotation stands
                missed = self._missed("reason_deep", error)
                return best if best is not None else self._without_deep(first, missed)
            best = response.answer
            if rounds == most or not await self._follow_up(response.follow_up):
                break
        assert best is not None
        return best

    async def _follow_up(self, follow_up: reasoning_pb2.FollowUp) -> bool:
        """Carry out what the reasoner asked for; tells whether there is reason to ask it again."""
        kind = follow_up.WhichOneof("request")
        if kind is None:
            return False
        try:
            if kind == "requery":
                return await self._requery(follow_up.requery)
            return await self._refine(follow_up.refine_intent)
        except Exception as error:  # the answer at hand stands
            self._journal.recovered(kind, str(self._failed(kind, error).detail))
            return False

    async def _requery(self, requery: reasoning_pb2.Requery) -> bool:
        self._journal.recovered("requery", f"{requery.reason} → {requery.query}")
        return await self._search_again(
            retriever_service_pb2.RetrieveRequest(
                plan=self._plan,
                top_k=self._question.top_k,
                query=requery.query,
                document_ids=requery.document_ids,
            )
        )

    async def _refine(self, refine: reasoning_pb2.RefineIntent) -> bool:
        self._journal.recovered("refine_intent", f"{refine.reason} → {refine.hint}")
        request = self._route_request()
        request.hint = refine.hint
        seconds = self._budget.for_route(self._flow.budget.route_s)
        self._take_plan(await self._call("route", self._flow.router.route, request, seconds))
        self._news.append(Planned(self._plan))
        await self._search_again(retriever_service_pb2.RetrieveRequest(plan=self._plan, top_k=self._question.top_k))
        # Even with the same passages, another plan may read them differently.
        return True

    async def _search_again(self, request: retriever_service_pb2.RetrieveRequest) -> bool:
        """Search once more and merge; tells whether a clause came that was not known before."""
        known = {passage.source_id for passage in self._retrieved.passages}
        seconds = self._budget.for_reasoning(self._flow.budget.retrieve_s)
        self._take_passages(await self._call("retrieve", self._flow.retriever.retrieve, request, seconds))
        if all(passage.source_id in known for passage in self._retrieved.passages):
            return False
        self._news.append(Found(self._retrieved))
        return True

    # --- calls and what they bring ------------------------------------------------------------------------------

    async def _call(
        self,
        stage: str,
        method: Callable[[RequestT], Coroutine[Any, Any, ResponseT]],
        request: RequestT,
        seconds: float,
    ) -> ResponseT:
        started = time.perf_counter()
        timing: common_pb2.Timing | None = None
        try:
            response = await within(method(request), seconds, stage)
            timing = response.timing
        finally:
            self._journal.called(stage, (time.perf_counter() - started) * 1000, timing)
        return response

    async def _reason(
        self, stage: str, tier: common_pb2.Tier, seconds: float, rounds: int = 0
    ) -> reasoner_service_pb2.ReasonResponse:
        request = reasoner_service_pb2.ReasonRequest(
            tier=tier, follow_up_round=rounds, retrieval_confidence=self._retrieved.confidence
        )
        request.plan.CopyFrom(self._plan)
        add_passages(request.passages, self._retrieved.passages)
        return await self._call(stage, self._flow.reasoner.reason, request, seconds)

    def _route_request(self) -> router_service_pb2.RouteRequest:
        return router_service_pb2.RouteRequest(
            question=self._question.text,
            domain=self._question.domain,
            as_of_date=self._question.as_of_date,
            skip_rewrite=self._question.skip_rewrite,
        )

    def _take_plan(self, response: router_service_pb2.RouteResponse) -> None:
        self._plan = response.plan
        for degradation in response.degradations:
            self._journal.degrade("route", degradation)
        if response.plan.is_default:
            self._journal.recovered("route", "The router fell back to its default plan.")

    def _take_passages(self, response: retriever_service_pb2.RetrieveResponse) -> None:
        for degradation in response.degradations:
            self._journal.degrade("retrieve", degradation)
        for search in response.searches:
            if search.error:
                self._journal.recovered("retrieve", f"{search.search}: {search.error}")
        known = self._retrieved
        self._retrieved = answer_service_pb2.Retrieved(
            confidence=max(known.confidence, response.confidence), suggestions=response.suggestions
        )
        found = merge_passages(known.passages, response.passages) if self._searched else response.passages
        add_passages(self._retrieved.passages, found)
        self._searched = True

    def _failed(self, component: str, error: Exception) -> common_pb2.Degradation:
        if not isinstance(error, TriasError):
            logger.error("The %s failed unexpectedly.", component, exc_info=error)
        return degradation_of(component, error)

    def _missed(self, stage: str, error: Exception) -> common_pb2.Degradation:
        """A tier was missed: a fault of that tier's answer, not of those that come after it."""
        degradation = self._failed("reasoner", error)
        self._journal.fault(stage, degradation)
        return degradation

    # --- answers ------------------------------------------------------------------------------------------------

    def _quotation(self, *missed: common_pb2.Degradation) -> reasoning_pb2.Answer:
        answer = quote_passages(
            self._retrieved.passages,
            confidence=self._retrieved.confidence,
            as_of_date=self._plan.as_of_date,
            searched=self._searched,
        )
        answer.degradations.extend(missed)
        return answer

    def _without_deep(self, first: reasoning_pb2.Answer, missed: common_pb2.Degradation) -> reasoning_pb2.Answer:
        if first.tier == common_pb2.TIER_FALLBACK:
            return self._quotation(missed)
        answer = reasoning_pb2.Answer()
        answer.CopyFrom(first)
        answer.degradations.append(missed)
        return answer

    def _reply(self, answer: reasoning_pb2.Answer, *, provisional: bool) -> Replied:
        answered = answer_service_pb2.Answered(
            clarifications=self._plan.clarifications, suggestions=self._retrieved.suggestions
        )
        told = answered.answer
        told.CopyFrom(answer)
        own = [entry for entry in answer.degradations if entry not in self._journal.degradations]
        del told.degradations[:]
        told.degradations.extend([*self._journal.degradations, *own])
        told.degraded = answer.degraded or any(
            entry.level == common_pb2.FAULT_LEVEL_DEGRADED for entry in told.degradations
        )
        told.provisional = provisional
        answered.timing.CopyFrom(self._journal.timing())
        answered.elapsed_ms = self._journal.elapsed_ms
        return Replied(answered, self._journal.trace)
