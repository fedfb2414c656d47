"""The router agent: a question in, a plan out. Whatever fails on the way, there is a plan."""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from orchestrator.domain.pack import DomainPack
from orchestrator.domain.schema import FaqEntry
from orchestrator.errors import ConfigurationError, InvalidFieldError, ModelNotFoundError, TriasError
from orchestrator.inference.models import Classification, Classifier, Embedder, Embedding
from orchestrator.router.lookups import FindTitles, Found, Lookups, Vectors
from orchestrator.router.normalise import clean
from orchestrator.router.plan_schema import default_plan, plan_problems
from orchestrator.router.planner import PackPlanner, Question, WordReading
from orchestrator.settings import RouterSettings
from trias.v1 import common_pb2, plan_pb2, router_service_pb2

__all__ = ["LabellingQueue", "RouterAgent", "RouterStatistics"]

# A hint is a phrase, not a document.
MAX_HINT_CHARS = 500
# Up to here a plan takes a millisecond or two; longer ones would hold up the event loop.
LONG_QUESTION_CHARS = 300
# Until then the calls to the models have gone out; they take several times as long.
HEAD_START_S = 0.001
# Examples embedded per call at warm-up.
TEACHING_BATCH = 64

logger = logging.getLogger(__name__)


class LabellingQueue(Protocol):
    """Where questions wait for a person to label them."""

    def add(self, question: str, *, domain: str, reason: str, intent_id: str, confidence: float) -> None:
        """Queue a question; returns at once. ``reason``: LOW_CONFIDENCE, CLARIFICATION, INVALID_PLAN."""


@dataclass
class RouterStatistics:
    """What happened since the start."""

    plans: int = 0
    defaults: int = 0
    queued: int = 0
    degraded: int = 0


@dataclass(frozen=True, slots=True)
class _Clock:
    """When the stages of one call ended, in milliseconds from its start."""

    started: float

    def now(self) -> float:
        return (time.perf_counter() - self.started) * 1000


class RouterAgent:
    """Works out what is being asked.

    Args:
        settings: how far to go, and when to ask back.
        packs: domain packs by name.
        default_domain: the pack of a request that names none.
        embedder: embeds questions and the packs' examples.
        find_titles: (text, limit) → the library's documents whose title equals, contains or is contained in the text,
            best first.
        labelling_queue: takes questions whose intent was in doubt; never blocks.
        today: the calendar.
        classifier: reads questions; None: rules and examples decide.

    Raises:
        ConfigurationError: there is no pack of the default domain.
    """

    def __init__(  # noqa: PLR0917 (what an agent needs is handed to it)
        self,
        settings: RouterSettings,
        packs: Mapping[str, DomainPack],
        default_domain: str,
        embedder: Embedder,
        find_titles: FindTitles,
        labelling_queue: LabellingQueue | None = None,
        today: Callable[[], dt.date] = dt.date.today,
        classifier: Classifier | None = None,
    ) -> None:
        if default_domain not in packs:
            known = ", ".join(sorted(packs)) or "none"
            raise ConfigurationError(
                f"domain.default: there is no domain pack {default_domain!r}.", hint=f"Known: {known}."
            )
        self._settings = settings
        self._default_domain = default_domain
        self._embedder = embedder
        self._classifier = classifier if settings.model != "off" else None
        self._lookups = Lookups(
            embedder,
            self._classifier,
            find_titles,
            classifier_required=settings.model == "required",
            embed_timeout_s=settings.embed_timeout_s,
            classify_timeout_s=settings.classify_timeout_s,
            titles_timeout_s=settings.titles_timeout_s,
        )
        self._labelling_queue = labelling_queue
        self._today = today
        self._planners = {name: PackPlanner(pack, settings) for name, pack in packs.items()}
        self._teaching: dict[str, asyncio.Task[None]] = {}
        self.statistics = RouterStatistics()

    async def warm_up(self) -> None:
        """Embed and classify the labelled examples of every pack. Until that has succeeded, rules decide alone.

        Raises:
            TriasError: the embedder failed; `route` works all the same and tries again by itself.
        """
        for planner in self._planners.values():
            await self._teach_examples(planner)
            await self._teach_model(planner)

    async def close(self) -> None:
        """Stop what runs in the background."""
        for task in self._teaching.values():
            task.cancel()
        await asyncio.gather(*self._teaching.values(), return_exceptions=True)

    async def route(self, request: router_service_pb2.RouteRequest) -> router_service_pb2.RouteResponse:
        """Make a plan of a question.

        Raises:
            InvalidFieldError: the question is blank or too long, the date is none, or the domain is unknown.
        """
        clock = _Clock(time.perf_counter())
        planner, question = self._read(request)
        read_ms = clock.now()
        words, found = await self._look_up(planner, question)
        waited_ms = clock.now() - read_ms
        if len(question.text) > LONG_QUESTION_CHARS:
            plan, degradations = await asyncio.to_thread(self._plan, planner, question, found, words)
        else:
            plan, degradations = self._plan(planner, question, found, words)
        self._follow_models(planner, found)
        if plan.strategy == plan_pb2.STRATEGY_FAQ:
            await self._ground(plan, planner.faq_entry(question, _comparable(found.vectors, planner), plan.slots))
        self.statistics.plans += 1
        self.statistics.degraded += bool(degradations)
        if plan.queued_for_labelling:
            self._queue(question.asked, plan)
        return router_service_pb2.RouteResponse(
            plan=plan, timing=_timing(clock, read_ms, waited_ms, found), degradations=degradations
        )

    def _read(self, request: router_service_pb2.RouteRequest) -> tuple[PackPlanner, Question]:
        limit = self._settings.max_question_chars
        if len(request.question) > limit:
            raise InvalidFieldError(
                "question", f"{len(request.question)} characters are more than {limit}.", hint="Shorten it."
            )
        if not clean(request.question):
            raise InvalidFieldError("question", "is blank.", hint="Ask something.")
        if len(request.hint) > MAX_HINT_CHARS:
            raise InvalidFieldError("hint", f"{len(request.hint)} characters are more than {MAX_HINT_CHARS}.")
        planner = self._planners.get(request.domain or self._default_domain)
        if planner is None:
            known = ", ".join(sorted(self._planners))
            raise InvalidFieldError("domain", f"there is no domain pack {request.domain!r}.", hint=f"Known: {known}.")
        question = planner.read(
            request.question,
            rewrite=self._settings.rewrite and not request.skip_rewrite,
            today=_date(request.as_of_date) or self._today(),
            as_of_date=request.as_of_date,
            hint=request.hint,
        )
        return planner, question

    async def _look_up(self, planner: PackPlanner, question: Question) -> tuple[WordReading | None, Found]:
        """Ask models and index, and read the words of a short question meanwhile.

        The models take several times as long: the time is theirs, and counted so.
        """
        asked = asyncio.gather(
            self._lookups.vectors(question.compared),
            self._lookups.titles(question.cleaned),
            self._lookups.classified(question.compared),
        )
        # A gather that is cancelled while it is merely watched would be reported as an error that nobody read.
        asked.add_done_callback(lambda done: done.cancelled() or done.exception())
        words = None
        try:
            await asyncio.wait({asked}, timeout=HEAD_START_S)
            if not asked.done() and len(question.text) <= LONG_QUESTION_CHARS:
                words = _words_or_none(planner, question)
            return words, Found(*await asked)
        finally:
            asked.cancel()

    def _plan(
        self, planner: PackPlanner, question: Question, found: Found, words: WordReading | None
    ) -> tuple[plan_pb2.Plan, list[common_pb2.Degradation]]:
        degradations = [part.degradation for part in found if part.degradation is not None]
        vector = _comparable(found.vectors, planner)
        if found.vectors.embedding is not None and vector is None:
            # Rules decide until the examples are embedded again.
            degradations.append(_examples_missing())
        plan_id = uuid.uuid4().hex
        try:
            model = planner.model_reading(found.classified.classification, question)
            plan = planner.plan(
                plan_id, question, vector, found.titles.whole, found.titles.marked, words=words, model=model
            )
            problems = plan_problems(plan, planner.pack, self._settings.max_sub_questions)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            # A fault of ours must not cost the answer.
            logger.exception("The router failed on a question.")
            problems = [f"{type(error).__name__}: {error}"]
        if problems:
            logger.warning("Plan %s is not valid, the default one is used: %s", plan_id, " ".join(problems))
            self.statistics.defaults += 1
            plan = default_plan(plan_id, question.asked, planner.pack.name, question.as_of_date)
            plan.queued_for_labelling = True
        plan.queued_for_labelling = plan.queued_for_labelling and self._labelling_queue is not None
        return plan, degradations

    async def _ground(self, plan: plan_pb2.Plan, entry: FaqEntry | None) -> None:
        """Point a plan at the clauses that the FAQ answer quotes; with one missing from the library it is no answer."""
        mentions: list[plan_pb2.DocumentMention] = []
        for evidence in entry.evidence if entry else ():
            document_ids = await self._lookups.documents_titled(evidence.document_title)
            if not document_ids:
                mentions.clear()
                break
            mentions.append(
                plan_pb2.DocumentMention(
                    text=evidence.document_title, clause_label=evidence.label, document_ids=document_ids
                )
            )
        if mentions:
            plan.named_documents.extend(mentions)
        else:
            plan.strategy = plan_pb2.STRATEGY_FULL

    def _queue(self, asked: str, plan: plan_pb2.Plan) -> None:
        if self._labelling_queue is None:
            return
        self.statistics.queued += 1
        self._labelling_queue.add(
            asked,
            domain=plan.domain,
            reason=_labelling_reason(plan),
            intent_id=plan.intent.intent_id,
            confidence=plan.confidence,
        )

    def _follow_models(self, planner: PackPlanner, found: Found) -> None:
        """Where another version of a model answered than the one that read the examples, have it read them."""
        embedding, classification = found.vectors.embedding, found.classified.classification
        if embedding is not None and embedding.fingerprint != planner.fingerprint:
            self._teach_in_background(planner, "embedded", self._teach_examples)
        if classification is not None and classification.fingerprint != planner.model_fingerprint:
            self._teach_in_background(planner, "classified", self._teach_model)

    def _teach_in_background(
        self, planner: PackPlanner, what: str, teach: Callable[[PackPlanner], Awaitable[None]]
    ) -> None:
        async def teach_or_log() -> None:
            try:
                await teach(planner)
            except TriasError as error:
                logger.warning("The examples of %s could not be %s: %s", planner.pack.name, what, error)

        key = f"{planner.pack.name}: {what}"
        running = self._teaching.get(key)
        if running is None or running.done():
            self._teaching[key] = asyncio.create_task(teach_or_log())

    async def _teach_examples(self, planner: PackPlanner) -> None:
        batches: list[Embedding] = []
        for start in range(0, len(planner.teaching), TEACHING_BATCH):
            texts = planner.teaching[start : start + TEACHING_BATCH]
            batches.append(await self._embedder.embed(texts, kind="query", timeout_s=self._settings.warm_up_timeout_s))
        if len({batch.fingerprint for batch in batches}) == 1:
            await asyncio.to_thread(planner.learn, batches)

    async def _teach_model(self, planner: PackPlanner) -> None:
        if self._classifier is None or not planner.examples:
            return
        batches: list[Classification] = []
        chosen = [planner.examples[place] for place in planner.read_by_model()]
        try:
            for start in range(0, len(chosen), TEACHING_BATCH):
                texts = chosen[start : start + TEACHING_BATCH]
                batches.append(await self._classifier.classify(texts, timeout_s=self._settings.warm_up_timeout_s))
        except ModelNotFoundError:
            if self._settings.model == "required":
                raise
            return
        if len({batch.fingerprint for batch in batches}) == 1:
            await asyncio.to_thread(planner.learn_model, batches)


def _words_or_none(planner: PackPlanner, question: Question) -> WordReading | None:
    """What the words say; None where reading them fails, which is met again, and reported, when the plan is made."""
    try:
        return planner.read_words(question)
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return None


def _comparable(vectors: Vectors, planner: PackPlanner) -> npt.NDArray[np.float32] | None:
    """The question's vector, unless another model made it than the examples'."""
    if vectors.embedding is None or vectors.embedding.fingerprint != planner.fingerprint:
        return None
    return vectors.vector


def _labelling_reason(plan: plan_pb2.Plan) -> str:
    if plan.is_default:
        return "INVALID_PLAN"
    return "CLARIFICATION" if any(item.required for item in plan.clarifications) else "LOW_CONFIDENCE"


def _date(text: str) -> dt.date | None:
    if not text:
        return None
    try:
        found = dt.date.fromisoformat(text)
    except ValueError:
        found = None
    # Since Python 3.11 fromisoformat also reads 20240101 and 2024-W01-1.
    if found is None or found.isoformat() != text:
        raise InvalidFieldError("as_of_date", f"{text!r} is no date.", hint="Write it as YYYY-MM-DD.")
    return found


def _examples_missing() -> common_pb2.Degradation:
    return common_pb2.Degradation(
        level=common_pb2.FAULT_LEVEL_DEGRADED,
        component="embedder",
        reason="EXAMPLES_NOT_EMBEDDED",
        detail="The labelled examples are being embedded; rules alone decided on the intent.",
    )


def _timing(clock: _Clock, read_ms: float, waited_ms: float, found: Found) -> common_pb2.Timing:
    vectors, titles, classified = found
    total = clock.now()
    model = min(max(vectors.model_ms, classified.model_ms), waited_ms)
    # The look-ups run side by side; what several waited for is counted once, as the models'.
    index = max(0.0, min(titles.wall_ms, waited_ms - model))
    classify = [common_pb2.StageTiming(stage="classify", wall_ms=classified.wall_ms, model_ms=classified.model_ms)]
    if classified.classification is None and classified.degradation is None:
        classify.clear()
    return common_pb2.Timing(
        total_ms=total,
        model_ms=model,
        index_ms=index,
        overhead_ms=max(0.0, total - model - index),
        stages=[
            common_pb2.StageTiming(stage="normalize", wall_ms=read_ms),
            common_pb2.StageTiming(stage="embed", wall_ms=vectors.wall_ms, model_ms=min(vectors.model_ms, waited_ms)),
            *classify,
            common_pb2.StageTiming(stage="titles", wall_ms=titles.wall_ms, index_ms=index),
            common_pb2.StageTiming(stage="route", wall_ms=max(0.0, total - read_ms - waited_ms)),
        ],
    )
