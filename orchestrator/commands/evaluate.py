"""`trias eval`: figures on labelled corpora that anyone can repeat."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
import yaml
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from evaluation.corpus import LabelledDocument, Query, read_corpus, read_qrels, read_queries
from evaluation.fit import Fit, fit
from evaluation.index import index_corpus
from evaluation.judgements import collect_judgements
from evaluation.retrieval import SYSTEMS, Systems, judge
from orchestrator.errors import ConfigurationError
from orchestrator.inference.embedder import TritonEmbedder
from orchestrator.server.composition import build_service
from orchestrator.server.models import served_models
from orchestrator.settings import Settings

__all__ = ["app"]

app = typer.Typer(
    help="Measure retrieval on labelled corpora, and re-fit the hybrid score to them.", no_args_is_help=True
)

CorpusOption = Annotated[
    Path,
    typer.Option("--corpus", help='JSON lines {"id", "title" or "law", "content"}, plain or .gz', show_default=False),
]
QueriesOption = Annotated[Path, typer.Option("--queries", help='JSON lines {"id", "text"}', show_default=False)]
QrelsOption = Annotated[Path, typer.Option("--qrels", help="query-id TAB corpus-id TAB relevance", show_default=False)]
DomainOption = Annotated[str, typer.Option("--domain", help="domain pack of the router")]
JsonOption = Annotated[Path | None, typer.Option("--json", help="write the figures here as JSON")]

# Searches of an evaluation wait for a busy machine; only the quality is measured here.
PATIENT = {"vector_deadline_s": 30.0, "keyword_deadline_s": 30.0, "graph_deadline_s": 30.0, "candidates": 200}
PATIENT_CALL_S = 30.0


@dataclass(frozen=True, slots=True)
class _Labelled:
    corpus: list[LabelledDocument]
    queries: list[Query]
    qrels: dict[str, frozenset[str]]


@app.command("retrieval")
def retrieval(
    context: typer.Context,
    corpus: CorpusOption,
    queries: QueriesOption,
    qrels: QrelsOption,
    domain: DomainOption = "general",
    json_out: JsonOption = None,
) -> None:
    """Recall@1/5/10/20/100 and MRR@10 of keyword, vector, rank fusion and the hybrid score.

    The corpus goes into a library of its own, by the way that documents take; that part is kept, and an interrupted run
    goes on where it stopped. `hybrid` is the product itself: the router's plan, then the retriever.
    """
    labelled = _Labelled(read_corpus(corpus), read_queries(queries), read_qrels(qrels))
    figures = asyncio.run(_measure(_own_library(context.obj, corpus), labelled, domain))
    _print(figures, judged=sum(query.query_id in labelled.qrels for query in labelled.queries))
    if json_out:
        json_out.write_text(json.dumps(figures, indent=2), encoding="utf-8")


@app.command("fit")
def fit_(
    context: typer.Context,
    corpus: CorpusOption,
    queries: QueriesOption,
    qrels: QrelsOption,
    domain: DomainOption = "general",
) -> None:
    """Re-fit the normalisation of the hybrid score to labelled questions; prints settings to put into trias.yaml."""
    settings = _own_library(context.obj, corpus)
    labelled = _Labelled(read_corpus(corpus), read_queries(queries), read_qrels(qrels))
    fitted = asdict(asyncio.run(_fit(settings, labelled, domain)))
    typer.echo(f"# fitted on {fitted.pop('rows')} candidates, log loss {fitted.pop('log_loss'):.4f}")
    retriever = {name: round(fitted.pop(name), 4) for name in ("confidence_slope", "confidence_midpoint")}
    scoring = {name: round(value, 4) for name, value in fitted.items()}
    typer.echo(yaml.safe_dump({"scoring": scoring, "retriever": retriever}, sort_keys=False), nl=False)


async def _measure(settings: Settings, labelled: _Labelled, domain: str) -> dict[str, dict[str, float]]:
    async with _indexed(settings, labelled, domain) as (systems, rows, progress):
        gold = _in_source_ids(labelled.qrels, rows)
        task = progress.add_task("asking", total=len(gold))
        return await judge(systems.answer, labelled.queries, gold, lambda: progress.advance(task))


async def _fit(settings: Settings, labelled: _Labelled, domain: str) -> Fit:
    async with _indexed(settings, labelled, domain) as (systems, rows, progress):
        gold = _in_source_ids(labelled.qrels, rows)
        task = progress.add_task("asking", total=len(gold))
        judgements = await collect_judgements(systems, labelled.queries, gold, lambda: progress.advance(task))
        return fit(judgements, settings.scoring)


@asynccontextmanager
async def _indexed(
    settings: Settings, labelled: _Labelled, domain: str
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
            build_service(models.settings) as service,
        ):
            await service.warm_up()
            assert service.library
            assert service.router
            assert service.retriever
            with _progress() as progress:
                task = progress.add_task("indexing", total=len(rows))
                await index_corpus(
                    service.library,
                    embedder,
                    labelled.corpus,
                    settings.ingest,
                    lambda clauses: progress.advance(task, clauses),
                )
                yield Systems(service.library, embedder, service.router, service.retriever, domain), rows, progress


def _own_library(settings: Settings, corpus: Path) -> Settings:
    """Settings under which the corpus has a library of its own, named after its file, and no deadline is missed."""
    slug = re.sub(r"[^a-z0-9]+", "-", f"{corpus.absolute().parent.name}-{corpus.name.split('.')[0]}".lower()).strip("-")
    return settings.model_copy(
        update={
            "knowledge": settings.knowledge.model_copy(update={"name": f"eval-{slug}"}),
            "retriever": settings.retriever.model_copy(update=PATIENT),
            "inference": settings.inference.model_copy(update={"deadline_s": PATIENT_CALL_S}),
        }
    )


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


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )


def _print(figures: Mapping[str, Mapping[str, float]], judged: int) -> None:
    names: Sequence[str] = list(next(iter(figures.values()))) if figures else []
    table = Table(title=f"{judged} judged questions")
    table.add_column("system")
    for name in names:
        table.add_column(name, justify="right")
    for system in SYSTEMS:
        if system in figures:
            table.add_row(system, *(f"{figures[system][name]:.3f}" for name in names))
    Console().print(table)
