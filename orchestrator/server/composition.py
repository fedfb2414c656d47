"""The composition root: from settings to a flow with its agents, and everything opened is closed again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial

import grpc

from orchestrator.domain.pack import DomainPack, load_packs
from orchestrator.errors import ConfigurationError
from orchestrator.flow import Flow, Reasoner, Retriever, Router
from orchestrator.inference.classifier import TritonClassifier
from orchestrator.inference.embedder import TritonEmbedder
from orchestrator.inference.generator import TritonGenerator
from orchestrator.inference.models import Classifier, Reranker
from orchestrator.inference.reranker import TritonReranker
from orchestrator.knowledge.library import Library
from orchestrator.knowledge.opening import open_library
from orchestrator.reasoner.agent import ReasonerAgent
from orchestrator.reasoner.claim_writer import ClaimWriter
from orchestrator.retriever.agent import RetrieverAgent
from orchestrator.router.agent import RouterAgent
from orchestrator.router.language_model import LanguageModelClassifier
from orchestrator.server.answers import AnswerStore
from orchestrator.server.database import DATABASE_FILE, Database
from orchestrator.server.keyword_fallback import KeywordFallback
from orchestrator.server.labelling import LabellingQueue
from orchestrator.server.remote import RemoteReasoner, RemoteRetriever, RemoteRouter, channel_to
from orchestrator.server.remote_titles import RemoteTitles
from orchestrator.settings import Settings

__all__ = ["Service", "build_service"]


@dataclass(frozen=True, slots=True)
class Service:
    """Everything that the server serves. An agent is None where it runs in another process.

    Attributes:
        flow: with every agent, wherever it runs.
        library: None where the retriever, and with it the library, is another process's.
        warm_up: makes ready what may be slow at first; fails where a model is down, and may be called again.
    """

    settings: Settings
    flow: Flow
    answers: AnswerStore
    labelling: LabellingQueue
    router: Router | None
    retriever: Retriever | None
    reasoner: Reasoner | None
    library: Library | None
    warm_up: Callable[[], Awaitable[None]]


@asynccontextmanager
async def build_service(settings: Settings) -> AsyncIterator[Service]:
    """Open and connect all parts; close them at the end.

    Raises:
        ConfigurationError: a domain pack or a setting is wrong, or something needed is not installed.
        LibraryLockedError: another process owns the library.
        IndexCorruptError: the library cannot be opened.
    """
    packs = await asyncio.to_thread(load_packs, settings.paths.domains)
    if settings.domain.default not in packs:
        raise ConfigurationError(
            f"domain.default: there is no pack {settings.domain.default!r} in {settings.paths.domains}.",
            hint=f"Known are {', '.join(packs)}.",
        )
    async with AsyncExitStack() as stack:
        database = await asyncio.to_thread(Database, settings.paths.data / DATABASE_FILE)
        stack.push_async_callback(database.close)
        executor = ThreadPoolExecutor(settings.server.worker_threads, thread_name_prefix="trias-worker")
        stack.callback(executor.shutdown, wait=False, cancel_futures=True)
        embedder = await stack.enter_async_context(TritonEmbedder(settings.inference, settings.paths.model_repository))
        labelling = LabellingQueue(database)
        remote = settings.agents
        library: Library | None = None
        if not remote.retriever:
            library = await open_library(settings)
            stack.push_async_callback(library.close)
            # The index decides which version of the embedder queries use: one switch changes both.
            library.on_switch(embedder.follow)
            embedder.follow(await library.fingerprint() or None)

        connect = _Connections(settings, stack)
        local_router: RouterAgent | None = None
        if not remote.router:
            if library is not None:
                find_titles = library.graph.find_titles
            else:
                titles = RemoteTitles(connect.to(remote.retriever), remote.retriever)
                stack.push_async_callback(titles.close)
                find_titles = titles.find_titles
            local_router = RouterAgent(
                settings.router,
                packs,
                settings.domain.default,
                embedder,
                find_titles,
                labelling,
                classifier=await _classifier(settings, packs[settings.domain.default], stack),
            )
            stack.push_async_callback(local_router.close)
        local_retriever: RetrieverAgent | None = None
        if library is not None:
            reranker = await _reranker(settings, stack)
            local_retriever = RetrieverAgent(settings.retriever, settings.scoring, library, embedder, reranker)
        local_reasoner: ReasonerAgent | None = None
        if not remote.reasoner:
            claim_writer: ClaimWriter | None = None
            if settings.reasoner.model_claims:
                generator = TritonGenerator(settings.inference, settings.paths.model_repository)
                claim_writer = ClaimWriter(await stack.enter_async_context(generator), settings.reasoner)
            local_reasoner = ReasonerAgent(
                settings.reasoner, packs, settings.domain.default, executor, claim_writer=claim_writer
            )
        flow = Flow(
            router=local_router or RemoteRouter(connect.to(remote.router), remote.router),
            retriever=local_retriever or RemoteRetriever(connect.to(remote.retriever), remote.retriever),
            reasoner=local_reasoner or RemoteReasoner(connect.to(remote.reasoner), remote.reasoner),
            budget=settings.budget,
            default_domain=settings.domain.default,
            greetings={name: pack.messages.small_talk for name, pack in packs.items()},
            fallback_retriever=(
                KeywordFallback(settings.retriever, settings.scoring, library) if library is not None else None
            ),
        )

        yield Service(
            settings=settings,
            flow=flow,
            answers=AnswerStore(database, settings.server.answers_kept),
            labelling=labelling,
            router=local_router,
            retriever=local_retriever,
            reasoner=local_reasoner,
            library=library,
            warm_up=partial(_warm_up, local_router, local_retriever),
        )


async def _warm_up(*agents: RouterAgent | RetrieverAgent | None) -> None:
    for agent in agents:
        if agent is not None:
            await agent.warm_up()


async def _classifier(settings: Settings, pack: DomainPack, stack: AsyncExitStack) -> Classifier | None:
    """What reads questions: the served encoder with its heads, or a language model for the default pack."""
    chosen, repository = settings.router, settings.paths.model_repository
    if chosen.model == "off":
        return None
    if not chosen.language_model:
        return await stack.enter_async_context(TritonClassifier(settings.inference, repository))
    generator = await stack.enter_async_context(TritonGenerator(settings.inference, repository, chosen.language_model))
    return LanguageModelClassifier(
        pack, generator, timeout_s=chosen.classify_timeout_s, chat_template=chosen.chat_template
    )


async def _reranker(settings: Settings, stack: AsyncExitStack) -> Reranker | None:
    """What reads question and clause together."""
    if settings.retriever.reranker == "off":
        return None
    return await stack.enter_async_context(TritonReranker(settings.inference, settings.paths.model_repository))


class _Connections:
    """Channels to other processes, one an address, closed with the service."""

    def __init__(self, settings: Settings, stack: AsyncExitStack) -> None:
        self._settings = settings
        self._stack = stack
        self._channels: dict[str, grpc.aio.Channel] = {}

    def to(self, address: str) -> grpc.aio.Channel:
        """The channel to ``address``, opened once."""
        if address not in self._channels:
            channel = channel_to(address, self._settings.server.max_message_mb)
            self._stack.push_async_callback(channel.close, None)
            self._channels[address] = channel
        return self._channels[address]
