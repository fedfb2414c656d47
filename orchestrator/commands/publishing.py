"""How `trias publish` and `trias rollback` run: which Triton, which requests, which index; and what is shown."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from export.canary import CanaryLimits, Request
from export.golden import ClaimSet, Golden, RetrievalSet, own_retrieval_set, read_golden
from export.golive import go_live
from export.live import read_live
from export.publish import Prepared, prepare_version
from export.spec import EmbedderSpec, ModelSpec, RerankerSpec, load_spec
from export.switching import LiveModel, LiveRules, Outcome
from export.text_canary import TextRequest
from orchestrator.commands.asked import last_asked
from orchestrator.commands.claim_requests import claim_requests
from orchestrator.commands.library_access import on_signal, open_sink
from orchestrator.commands.model_serving import callers_triton, some_triton
from orchestrator.errors import GateError, TriasError
from orchestrator.settings import Settings

__all__ = ["run_publish", "run_rollback"]

EXIT_REFUSED = 1
EXIT_INTERRUPTED = 130
SHOWN_OF_FINGERPRINT = 12
GOLDEN_FILES = {"router": "colloquial.jsonl", "reasoner": "claims.jsonl"}


@dataclass
class Steps:
    """Tells a person on a terminal, or a log, which step is under way; keeps how long each took."""

    console: Console
    seconds: dict[str, float] = field(default_factory=dict)
    _bar: Progress | None = None
    _step: str = ""
    _started: float = 0.0

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show the steps as they come."""
        columns = (SpinnerColumn(finished_text="[green]✓[/green]"), TextColumn("{task.description}"))
        bar = Progress(*columns, TimeElapsedColumn(), console=self.console)
        if not self.console.is_terminal:
            try:
                yield
            finally:
                self._end()
            return
        with bar:
            self._bar = bar
            try:
                yield
                self._end()
            finally:
                self._bar = None

    def begin(self, step: str) -> None:
        """A step begins, and the one before it is done."""
        self._end()
        self._step, self._started = step, time.monotonic()
        if self._bar is not None:
            self._bar.add_task(step, total=None)
        else:
            self.console.print(step, markup=False, highlight=False, soft_wrap=True)

    def _end(self) -> None:
        if self._step:
            self.seconds[self._step] = round(time.monotonic() - self._started, 2)
            self._step = ""
        if self._bar is not None and self._bar.task_ids:
            self._bar.update(self._bar.task_ids[-1], total=1, completed=1)


def run_publish(
    settings: Settings, name: str, checkpoint: Path, *, golden: Path | None, dry_run: bool, as_json: bool
) -> int:
    """Run `trias publish`; see there for the arguments.

    Returns:
        The exit code.

    Raises:
        TriasError: it was stopped; the live version is untouched. With ``as_json`` only after the report is printed.
    """
    spec = load_spec(name)
    # The exporter's libraries turn everybody's log lines on.
    logging.getLogger("orchestrator").setLevel(logging.WARNING)
    steps = Steps(Console(stderr=True))
    started = time.monotonic()
    try:
        with steps.shown():
            judged_on = _golden(settings, spec, golden)
            indexed_by = asyncio.run(_indexed_by(settings)) if isinstance(spec, EmbedderSpec) else ""
            prepared = prepare_version(
                spec,
                checkpoint,
                repository=settings.paths.model_repository,
                data=settings.paths.data,
                golden=judged_on,
                progress=steps.begin,
            )
            outcome = asyncio.run(_go_live(settings, prepared, judged_on, indexed_by, dry_run=dry_run, steps=steps))
    except TriasError as error:
        if as_json:
            _print_json({"model": spec.model, "change": "refused", **_refusal(error)}, steps, started)
            return EXIT_REFUSED
        raise
    if outcome is None:
        pointer = read_live(prepared.model_folder)
        live = f"version {pointer.live} is live" if pointer else "no version is live"
        steps.console.print(f"interrupted: {live}", highlight=False)
        return EXIT_INTERRUPTED
    if as_json:
        _print_json({**asdict(outcome), "golden": prepared.golden}, steps, started)
    else:
        _tell(Console(), outcome)
    return 0


def run_rollback(settings: Settings, name: str, *, to: str, as_json: bool) -> int:
    """Run `trias rollback`; see there for the arguments.

    Returns:
        The exit code.

    Raises:
        TriasError: it is not possible; what is live stays live.
    """
    spec = load_spec(name)
    steps = Steps(Console(stderr=True))
    started = time.monotonic()
    with steps.shown():
        outcome = asyncio.run(_roll_back(settings, spec, to, steps))
    if as_json:
        _print_json(asdict(outcome), steps, started)
    else:
        _tell(Console(), outcome)
    return 0


async def _go_live(
    settings: Settings, prepared: Prepared, golden: Golden, indexed_by: str, *, dry_run: bool, steps: Steps
) -> Outcome | None:
    """The outcome; None where it was interrupted before the promotion."""
    spec = prepared.spec
    requests, real = _requests(settings, spec, golden)
    task = asyncio.current_task()
    assert task is not None

    def interrupt() -> None:
        task.cancel()

    seen = False
    try:
        with on_signal(interrupt):
            async with some_triton(settings, spec.model) as serving:
                seen = True
                return await go_live(
                    prepared,
                    serving,
                    requests,
                    real=real,
                    rules=_rules(settings),
                    indexed_by=indexed_by,
                    dry_run=dry_run,
                    progress=steps.begin,
                )
    except asyncio.CancelledError:
        return None
    finally:
        # Where not even a Triton could be had, nobody has loaded the version.
        if not seen:
            await asyncio.to_thread(prepared.discard)


async def _indexed_by(settings: Settings) -> str:
    """Of the embedder whose vectors answer queries; asked before the export, for the library may be somebody's."""
    async with open_sink(settings, "") as sink:
        return await sink.fingerprint()


async def _roll_back(settings: Settings, spec: ModelSpec, to: str, steps: Steps) -> Outcome:
    folder = settings.paths.model_repository / spec.model
    async with callers_triton(settings, spec.model) as serving:
        model = LiveModel(folder, serving, _rules(settings), progress=steps.begin)
        if not isinstance(spec, EmbedderSpec):
            return await model.roll_back(to)
        async with open_sink(settings, "") as sink:
            # An empty library has no vectors to switch to.
            indexed = await sink.fingerprint()
            return await model.roll_back(to, switch_index=sink.switch_embedder if indexed else None)


def _golden(settings: Settings, spec: ModelSpec, path: Path | None) -> Golden:
    if path is not None:
        return read_golden(spec.kind, path)
    if isinstance(spec, EmbedderSpec | RerankerSpec):
        return read_golden(spec.kind, own_retrieval_set())
    pack = settings.paths.domains / settings.domain.default / "evaluation"
    return read_golden(spec.kind, pack / GOLDEN_FILES[spec.kind])


def _requests(
    settings: Settings, spec: ModelSpec, own: Golden
) -> tuple[Sequence[Request] | Sequence[TextRequest], bool]:
    """What the canary asks: the last real questions, filled up from the golden set; and whether they are real.

    A model that writes text is asked the golden set, for that is where its texts are judged.
    """
    if isinstance(own, ClaimSet):
        return claim_requests(own), False
    wanted = settings.publish.canary_requests
    asked = last_asked(settings.paths.data, wanted)
    real: list[Request]
    if isinstance(spec, RerankerSpec):
        real = [(question, passage) for question, passage in asked if passage]
    else:
        real = [question for question, _ in asked]
    # A handful of questions says nothing of a P95.
    if len(real) >= wanted // 2:
        return real, True
    more: list[Request]
    if isinstance(own, RetrievalSet) and isinstance(spec, RerankerSpec):
        more = [(question.text, own.passages[min(question.gold)]) for question in own.questions]
    else:
        more = list(own.texts)
    return [*real, *more][:wanted], False


def _rules(settings: Settings) -> LiveRules:
    chosen = settings.publish
    limits = CanaryLimits(chosen.canary_rounds, chosen.p95_ratio, chosen.p95_slack_ms)
    return LiveRules(limits, chosen.watch_s, chosen.failed_share, chosen.drain_s, chosen.lock_s)


def _refusal(error: TriasError) -> dict[str, Any]:
    gate = (
        {"gate": error.gate, "figure": error.figure, "limit": error.metadata["limit"]}
        if isinstance(error, GateError)
        else {}
    )
    return {"reason": error.reason, "error": str(error), **gate}


def _print_json(tree: dict[str, Any], steps: Steps, started: float) -> None:
    whole = {**tree, "seconds": {**steps.seconds, "total": round(time.monotonic() - started, 2)}}
    print(json.dumps(whole, ensure_ascii=False))  # noqa: T201 (for machines: no wrapping, no colour)


def _tell(console: Console, outcome: Outcome) -> None:
    short = outcome.fingerprint[:SHOWN_OF_FINGERPRINT]
    if outcome.gates:
        console.print(_gates(outcome))
    said = {
        "promoted": f"{outcome.model} version {outcome.version} ({short}) is live.",
        "rolled back": f"{outcome.model} version {outcome.version} ({short}) is live again.",
        "unchanged": f"{outcome.model} version {outcome.version} ({short}) is live already; nothing was changed.",
        "tried": f"{outcome.model}: all gates passed; nothing was published (dry run), version {outcome.live} is live.",
        "candidate": f"{outcome.model} version {outcome.version} ({short}) passed its gates and waits as candidate: "
        "the library's vectors are another embedder's. Build its own beside them, and make it live with them:\n\n"
        "    trias ingest reindex\n",
    }
    console.print(said[outcome.change], highlight=False, soft_wrap=True)
    canary = outcome.canary
    if canary is not None and not canary.real:
        console.print("The canary asked golden questions: the service has kept too few real ones.", highlight=False)
    if outcome.change in ("promoted", "rolled back"):
        if not outcome.served:
            where = "The canary ran on a Triton of its own. " if canary is not None else ""
            console.print(
                f"{where}No Triton answers callers at present: the next one to start serves this version.",
                highlight=False,
                soft_wrap=True,
            )
        if canary is not None and outcome.served:
            console.print(f"{outcome.watched} requests were answered while it was watched.", highlight=False)
        if outcome.previous:
            console.print(f"Back to version {outcome.previous}: trias rollback {outcome.model}", highlight=False)


def _gates(outcome: Outcome) -> Table:
    title = f"{outcome.model} version {outcome.version} ({outcome.fingerprint[:SHOWN_OF_FINGERPRINT]})"
    table = Table("gate", "measured", "live version", title=title, title_justify="left")
    for name, figure in outcome.gates.items():
        table.add_row(name, _figure(figure), _figure(outcome.live_gates[name]) if name in outcome.live_gates else "")
    if outcome.canary is not None:
        before = outcome.canary.live_p95_ms
        table.add_row("canary.p95_ms", f"{outcome.canary.p95_ms:.1f}", f"{before:.1f}" if before else "")
    return table


def _figure(figure: float) -> str:
    return f"{figure:.6f}".rstrip("0").rstrip(".")
