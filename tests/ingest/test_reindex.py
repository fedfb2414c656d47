"""Reindexing over a real library, here and behind a real server; a stand-in for the embedder's versions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import numpy as np
import pytest

from ingest.pipeline import Pipeline
from ingest.reindex import Reindex
from ingest.sinks import DocumentSink, GrpcSink, LibrarySink
from ingest.sources import find_sources
from orchestrator.errors import ModelNotFoundError
from orchestrator.inference.models import Embedding, TextKind
from orchestrator.knowledge.library import Library
from orchestrator.knowledge.opening import open_library
from orchestrator.server.admission import Admission
from orchestrator.server.boundary import Boundary
from orchestrator.server.servicers.knowledge import KnowledgeServicer
from orchestrator.server.status import error_from
from orchestrator.settings import Settings
from trias.v1 import knowledge_service_pb2_grpc

OLD, NEW = "version-1", "version-2"
DIMENSIONS = {OLD: 8, NEW: 12}
DOCUMENTS = 5


class TwoVersions:
    """Vectors from the texts alone, of the version that is asked for."""

    def __init__(self) -> None:
        self.embedded: dict[str, list[str]] = {OLD: [], NEW: []}
        self.on_document = lambda: None

    async def fingerprint(self) -> str:
        return OLD

    async def embed(
        self, texts: Sequence[str], *, kind: TextKind, timeout_s: float | None = None, fingerprint: str | None = None
    ) -> Embedding:
        version = fingerprint or OLD
        if version not in DIMENSIONS:
            raise ModelNotFoundError(f"no version {version}")
        self.embedded[version] += texts
        self.on_document()
        rows = np.stack([np.random.default_rng(sum(t.encode())).normal(size=DIMENSIONS[version]) for t in texts])
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return Embedding(rows.astype(np.float32), version, 0.0)


Filled = tuple[Settings, Library, DocumentSink, TwoVersions]


@asynccontextmanager
async def served(library: Library, settings: Settings) -> AsyncIterator[DocumentSink]:
    """The library behind a real `KnowledgeService` on a socket."""
    server = grpc.aio.server(interceptors=[Boundary(Admission(settings.admission), frozenset())])
    knowledge_service_pb2_grpc.add_KnowledgeServiceServicer_to_server(KnowledgeServicer(library), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield GrpcSink(
                channel, f"127.0.0.1:{port}", max_message_mb=4, timeout_s=30, wait_s=5, error_from=error_from
            )
    finally:
        await server.stop(0)


@pytest.fixture(params=["here", "behind a server"])
async def filled(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Filled]:
    """Settings, a library with five documents, the way to it, and the embedder that filled it."""
    sources = tmp_path / "sources"
    sources.mkdir()
    for number in range(DOCUMENTS):
        text = f"某省办法{number}\n第一条 为了规范，制定本办法。\n第二条 三级医院支付比例为{60 + number}%。\n"
        (sources / f"办法{number}.txt").write_text(text, encoding="utf-8")
    settings = Settings.model_validate(
        {"paths": {"data": tmp_path / "data"}, "ingest": {"workers": 1, "embed_rows": 1}}
    )
    library = await open_library(settings)
    embedder = TwoVersions()
    try:
        await Pipeline(settings.ingest, LibrarySink(library, "here"), embedder).run(list(find_sources([sources], None)))
        if request.param == "here":
            yield settings, library, LibrarySink(library, "here"), embedder
        else:
            async with served(library, settings) as sink:
                yield settings, library, sink, embedder
    finally:
        await library.close()


async def test_everything_is_embedded_anew_and_then_answers(
    filled: Filled,
) -> None:
    settings, library, sink, embedder = filled
    totals: list[int] = []
    done: list[int] = []
    run = Reindex(settings.ingest, sink, embedder, NEW, on_total=totals.append, on_document=done.append)
    report = await run.run()
    assert report.switched
    assert (report.documents, report.clauses) == (DOCUMENTS, sum(done))
    assert totals == [DOCUMENTS]
    assert await library.fingerprint() == NEW
    # The same texts go to both versions.
    assert sorted(embedder.embedded[NEW]) == sorted(embedder.embedded[OLD])
    again = await Reindex(settings.ingest, sink, embedder, NEW).run()
    assert (again.documents, again.switched) == (0, True)
    back = await Reindex(settings.ingest, sink, embedder, OLD).run()
    assert (back.documents, back.switched) == (0, True)
    assert await library.fingerprint() == OLD


async def test_a_stopped_run_does_not_switch_and_is_taken_up_again(
    filled: Filled,
) -> None:
    settings, library, sink, embedder = filled
    run = Reindex(settings.ingest, sink, embedder, NEW)
    embedder.on_document = run.stop
    first = await run.run()
    assert not first.switched
    assert 0 < first.documents < DOCUMENTS
    assert await library.fingerprint() == OLD
    embedder.on_document = lambda: None
    second = await Reindex(settings.ingest, sink, embedder, NEW).run()
    assert second.switched
    assert first.documents + second.documents == DOCUMENTS


async def test_a_document_that_comes_in_meanwhile_is_embedded_too(filled: Filled, tmp_path: Path) -> None:
    settings, library, sink, embedder = filled
    late = tmp_path / "late.txt"
    late.write_text("晚到的通知\n第一条 参保人员应当缴费。\n", encoding="utf-8")
    applied: list[asyncio.Task[object]] = []

    def apply_once() -> None:
        embedder.on_document = lambda: None
        pipeline = Pipeline(settings.ingest, LibrarySink(library, "here"), embedder)
        applied.append(asyncio.create_task(pipeline.run(list(find_sources([late], None)))))

    embedder.on_document = apply_once
    report = await Reindex(settings.ingest, sink, embedder, NEW).run()
    outcome = (await asyncio.gather(*applied, return_exceptions=True))[0]
    assert report.switched
    # It was either applied before the switch and embedded twice, or it came too late and was refused as a whole.
    held = (await library.statistics()).documents
    assert held == (DOCUMENTS if isinstance(outcome, Exception) else DOCUMENTS + 1)
    assert await library.lacking_vectors(NEW) == []


async def test_a_version_that_is_not_served_is_an_error(
    filled: Filled,
) -> None:
    settings, library, sink, embedder = filled
    with pytest.raises(ModelNotFoundError):
        await Reindex(settings.ingest, sink, embedder, "version-3").run()
    assert await library.fingerprint() == OLD
