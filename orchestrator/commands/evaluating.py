"""What `trias eval` does: index a labelled corpus, ask, average or fit."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.progress import Progress

from evaluation.corpus import LabelledDocument, Query, read_corpus, read_qrels, read_queries
from evaluation.fit import Fit, fit
from evaluation.index import index_corpus
from evaluation.judgements import collect_judgements
from evaluation.retrieval import Systems, judge
from orchestrator.commands.bars import counting_bars
from orchestrator.errors import ConfigurationError
from orchestrator.inference.embedder import TritonEmbedder
from orchestrator.inference.reranker import TritonReranker
from orchestrator.retriever.agent import RetrieverAgent
from orchestrator.server.composition import build_service
from orchestrator.server.models import served_models
from orchestrator.settings import Settings

__all__ = ["Labelled", "fit_score", "measure", "own_library", "read_labelled"]

# Searches of an evaluation wait for a busy machine; only the quality is measured here.
PATIENT = {
    "vector_deadline_s": 30.0,
    "keyword_deadline_s": 30.0,
    "graph_deadline_s": 30.0,
    "rerank_timeout_s": 30.0,
    "candidates": 200,
}
PATIENT_CALL_S = 30.0


@dataclass(frozen=True, slots=True)
class Labelled:
    """A corpus, its questions and the judgements between them."""

    corpus: list[LabelledDocument]
    queries: list[Query]
    qrels: dict[str, frozenset[str]]


def read_labelled(corpus: Path, queries: Path, qrels: Path) -> Labelled:
    """Read the three files.

    Raises:
        ConfigurationError: one is missing or malformed; names the line.
    """
    return Labelled(read_corpus(corpus), read_queries(queries), read_qrels(qrels))


async def measure(
    settings: Settings, labelled: Labelled, domain: str, *, rerank: bool = False
) -> dict[str, dict[str, float]]:
    """Recall and MRR of every system: ``{"hybrid": {"R@5": …}, …}``.

    Args:
        settings: of `own_library`.
        labelled: corpus, questions, judgements.
        domain: pack of the router.
        rerank: measure the hybrid score without the reranker and, in a row of its own, with it.

    Raises:
        ModelError: ``rerank``, and no reranker answers.
    """
    async with _indexed(settings, labelled, domain, rerank=rerank) as (systems, rows, progress):
        gold = _in_source_ids(labelled.qrels, rows)
        task = progress.add_task("asking", total=len(gold))
        return await judge(systems.answer, labelled.queries, gold, lambda: progress.advance(task))


async def fit_score(settings: Settings, labelled: Labelled, domain: str) -> Fit:
    """The normalisation of the hybrid score, fitted to the judgements."""
    async with _indexed(settings, labelled, domain) as (systems, rows, progress):
        gold = _in_source_ids(labelled.qrels, rows)
        task = progress.add_task("asking", total=len(gold))
        judgements = await collect_judgements(systems, labelled.queries, gold, lambda: progress.advance(task))
        return fit(judgements, settings.scoring)


@asynccontextmanager
async def _indexed(
    settings: Settings, labelled: Labelled, domain: str, *, rerank: bool = False
) -> AsyncIterator[tuple[Systems, Mapping[str, str], Progress]]:
    """The systems over an index of the corpus; row id → source id; a progress bar."""
    rows = {
        row_id: clause.source_id
        for one in labelled.corpus
        for row_id, clause in zip(one.row_ids, one.clauses, strict=True)
    }
    async with served_models(settings) as models:
        if models.fault:
            raise ConfigurationError(f"No model is served: {models.fault}")
        async with (
            TritonEmbedder(models.settings.inference, settings.paths.model_repository) as embedder,
            build_service(_with_reranker(models.settings, "off") if rerank else models.settings) as service,
            TritonReranker(models.settings.inference, settings.paths.model_repository) as reranker,
        ):
            if rerank:
                # Before the corpus is indexed, which takes a while: is there one at all?
                await reranker.rerank("甲", ["乙"])
            await service.warm_up()
            assert service.library
            assert service.router
            assert service.retriever
            with counting_bars(Console(stderr=True)) as progress:
                task = progress.add_task("indexing", total=len(rows))
                await index_corpus(
                    service.library,
                    embedder,
                    labelled.corpus,
                    settings.ingest,
                    lambda clauses: progress.advance(task, clauses),
                )
                reranking: RetrieverAgent | None = None
                if rerank:
                    demanding = _with_reranker(settings, "required").retriever
                    reranking = RetrieverAgent(demanding, settings.scoring, service.library, embedder, reranker)
                systems = Systems(service.library, embedder, service.router, service.retriever, domain, reranking)
                yield systems, rows, progress


def own_library(settings: Settings, corpus: Path) -> Settings:
    """Settings under which the corpus has a library of its own, named after its file, and no deadline is missed."""
    slug = re.sub(r"[^a-z0-9]+", "-", f"{corpus.absolute().parent.name}-{corpus.name.split('.')[0]}".lower()).strip("-")
    return settings.model_copy(
        update={
            "knowledge": settings.knowledge.model_copy(update={"name": f"eval-{slug}"}),
            "retriever": settings.retriever.model_copy(update=PATIENT),
            "inference": settings.inference.model_copy(update={"deadline_s": PATIENT_CALL_S}),
        }
    )


def _with_reranker(settings: Settings, mode: Literal["off", "required"]) -> Settings:
    return settings.model_copy(update={"retriever": settings.retriever.model_copy(update={"reranker": mode})})


def _in_source_ids(qrels: Mapping[str, frozenset[str]], rows: Mapping[str, str]) -> dict[str, frozenset[str]]:
    """Judgements in the library's ids.

    Raises:
        ConfigurationError: a judged row is not in the corpus.
    """
    missing = sorted({row for gold in qrels.values() for row in gold if row not in rows})
    if missing:
        raise ConfigurationError(
            f"{len(missing)} judged rows are not in the corpus, {missing[0]!r} among them.",
            hint="Check that --corpus and --qrels belong together.",
        )
    return {query_id: frozenset(rows[row] for row in gold) for query_id, gold in qrels.items()}
