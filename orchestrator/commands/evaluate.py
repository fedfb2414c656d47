"""`trias eval`: figures on labelled corpora that anyone can repeat."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
import yaml
from rich.console import Console
from rich.table import Table

from orchestrator.settings import Settings

__all__ = ["app"]

app = typer.Typer(
    help="Measure retrieval and routing on labelled data, and re-fit the hybrid score.", no_args_is_help=True
)

CorpusOption = Annotated[
    Path,
    typer.Option("--corpus", help='JSON lines {"id", "title" or "law", "content"}, plain or .gz', show_default=False),
]
QueriesOption = Annotated[Path, typer.Option("--queries", help='JSON lines {"id", "text"}', show_default=False)]
QrelsOption = Annotated[Path, typer.Option("--qrels", help="query-id TAB corpus-id TAB relevance", show_default=False)]
DomainOption = Annotated[str, typer.Option("--domain", help="domain pack of the router")]
JsonOption = Annotated[Path | None, typer.Option("--json", help="write the figures here as JSON")]


@app.command("retrieval")
def retrieval(
    context: typer.Context,
    corpus: CorpusOption,
    queries: QueriesOption,
    qrels: QrelsOption,
    domain: DomainOption = "general",
    rerank: Annotated[
        bool, typer.Option("--rerank", help="`hybrid` without the reranker, and a row with it, which must be served")
    ] = False,
    json_out: JsonOption = None,
) -> None:
    """Recall@1/5/10/20/100 and MRR@10 of keyword, vector, rank fusion and the hybrid score.

    The corpus goes into a library of its own, by the way that documents take; that part is kept, and an interrupted run
    goes on where it stopped. `hybrid` is the product itself, as it is set: the router's plan, then the retriever.
    """
    from orchestrator.commands import evaluating  # noqa: PLC0415 (every other command starts without the agents)

    settings: Settings = context.obj
    labelled = evaluating.read_labelled(corpus, queries, qrels)
    own = evaluating.own_library(settings, corpus)
    figures = asyncio.run(evaluating.measure(own, labelled, domain, rerank=rerank))
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
    from orchestrator.commands import evaluating  # noqa: PLC0415 (every other command starts without the agents)

    settings: Settings = context.obj
    labelled = evaluating.read_labelled(corpus, queries, qrels)
    fitted = asdict(asyncio.run(evaluating.fit_score(evaluating.own_library(settings, corpus), labelled, domain)))
    typer.echo(f"# fitted on {fitted.pop('rows')} candidates, log loss {fitted.pop('log_loss'):.4f}")
    retriever = {name: round(fitted.pop(name), 4) for name in ("confidence_slope", "confidence_midpoint")}
    scoring = {name: round(value, 4) for name, value in fitted.items()}
    typer.echo(yaml.safe_dump({"scoring": scoring, "retriever": retriever}, sort_keys=False), nl=False)


@app.command("router")
def router(
    context: typer.Context,
    questions: Annotated[
        list[Path], typer.Option("--questions", help="labelled questions, JSON lines (repeatable)", show_default=False)
    ],
    split: Annotated[
        str, typer.Option("--split", help="only these, where the file knows splits: train, validation or test")
    ] = "test",
    domain: Annotated[str | None, typer.Option("--domain", help="domain pack; default: domain.default")] = None,
    json_out: JsonOption = None,
) -> None:
    """Intent accuracy and slot F1 of rules and examples, of the trained model, and of their vote, on each file."""
    from orchestrator.commands import evaluating_router  # noqa: PLC0415 (every other command starts without it)

    settings: Settings = context.obj
    figures = asyncio.run(evaluating_router.measure_router(settings, questions, split, domain))
    for name, (count, systems) in figures.items():
        _print(systems, judged=count, of=name)
    if json_out:
        tree = {name: {"questions": count, "systems": systems} for name, (count, systems) in figures.items()}
        json_out.write_text(json.dumps(tree, ensure_ascii=False, indent=2), encoding="utf-8")


def _print(figures: Mapping[str, Mapping[str, float]], judged: int, of: str = "") -> None:
    names: Sequence[str] = list(next(iter(figures.values()))) if figures else []
    table = Table(title=f"{judged} judged questions" + (f" of {of}" if of else ""))
    table.add_column("system")
    for name in names:
        table.add_column(name, justify="right")
    for system, row in figures.items():
        table.add_row(system, *(f"{row[name]:.3f}" for name in names))
    Console().print(table)
