"""The pipeline over a real library and a real tritonserver with a tiny model; and over a real server."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import numpy as np
import pytest

from ingest.dryrun import dry_run
from ingest.pipeline import Pipeline
from ingest.report import Entry, Outcome, Report
from ingest.sinks import DocumentSink, GrpcSink, LibrarySink
from ingest.sources import Ignored, Source, find_sources
from orchestrator.errors import FingerprintMismatchError, ModelError, ModelUnavailableError
from orchestrator.inference.embedder import TritonEmbedder
from orchestrator.inference.launcher import TritonServer
from orchestrator.inference.models import Embedding, TextKind
from orchestrator.knowledge.library import Library
from orchestrator.knowledge.opening import open_library
from orchestrator.server.admission import Admission
from orchestrator.server.boundary import Boundary
from orchestrator.server.servicers.knowledge import KnowledgeServicer
from orchestrator.server.status import error_from
from orchestrator.settings import InferenceSettings, IngestSettings, Settings
from trias.v1 import knowledge_service_pb2_grpc

REGULATION = """甲省医疗保险办法
第一章 总则
第一条 为了规范，根据《乙条例》第三条，制定本办法。
第二条 三级医院支付比例为70%。
第二章 附则
第三条 违反本办法第二条的，由县级医保部门处理。
"""


class PlainEmbedder:
    """Vectors from the texts alone; a test sets what goes wrong. Stands in for Triton where faults are wanted."""

    def __init__(self) -> None:
        self.name = "plain-1"
        self.fails_on = ""
        self.gate: asyncio.Event | None = None
        self.entered = asyncio.Event()
        self.texts: list[str] = []

    async def fingerprint(self) -> str:
        return self.name

    async def embed(self, texts: Sequence[str], *, kind: TextKind, timeout_s: float | None = None) -> Embedding:
        assert kind == "passage"
        self.entered.set()
        if self.gate is not None:
            await self.gate.wait()
        if self.fails_on and any(self.fails_on in text for text in texts):
            raise ModelError("cannot")
        self.texts += texts
        rows = np.stack([np.random.default_rng(sum(text.encode())).normal(size=8) for text in texts])
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return Embedding(rows.astype(np.float32), self.name, 0.0)


def write(folder: Path, count: int) -> Path:
    folder.mkdir(exist_ok=True)
    for number in range(count):
        (folder / f"办法{number}.txt").write_text(REGULATION.replace("70", str(number)), encoding="utf-8")
    return folder


def settings_in(folder: Path) -> Settings:
    return Settings.model_validate({"paths": {"data": folder / "data"}, "ingest": {"workers": 1, "embed_rows": 8}})


@asynccontextmanager
async def library_in(folder: Path) -> AsyncIterator[Library]:
    library = await open_library(settings_in(folder))
    try:
        yield library
    finally:
        await library.close()


def sources(*paths: Path) -> list[Source | Ignored]:
    return list(find_sources(paths))


async def run(sink: DocumentSink, embedder: object, *paths: Path, again: bool = False) -> Report:
    pipeline = Pipeline(IngestSettings(workers=1, embed_rows=8), sink, embedder, again=again)  # type: ignore[arg-type]
    return await pipeline.run(sources(*paths))


@pytest.mark.triton
async def test_documents_go_in_once_and_a_second_run_finds_them(tmp_path: Path, tiny_triton: TritonServer) -> None:
    folder = write(tmp_path / "docs", 3)
    (folder / "copy.txt").write_bytes((folder / "办法0.txt").read_bytes())
    (folder / "empty.docx").touch()
    inference = InferenceSettings(endpoints={"*": tiny_triton.grpc_address}, deadline_s=60)
    async with library_in(tmp_path) as library, TritonEmbedder(inference, tiny_triton.repository) as embedder:
        sink = LibrarySink(library, "the library")
        first = await run(sink, embedder, folder)
        digest = await library.digest()
        second = await run(sink, embedder, folder)
        assert await library.digest() == digest
        assert await library.fingerprint() == await embedder.fingerprint()
        (found,) = await library.graph.find_titles("甲省医疗保险办法", limit=1)
        clauses = await library.graph.document_clauses(found.document_id)
        references = await library.graph.references([clause.source_id for clause in clauses])
    assert {outcome: first.count(outcome) for outcome in Outcome} == {
        Outcome.INGESTED: 3,
        Outcome.READ: 0,
        Outcome.UNCHANGED: 0,
        Outcome.SKIPPED: 1,
        Outcome.IGNORED: 1,
    }
    assert second.count(Outcome.UNCHANGED) == 3
    assert first.missing == second.missing == 0
    assert [clause.label for clause in clauses] == ["第一条", "第二条", "第三条"]
    inner = [reference for found in references.values() for reference in found if reference.target_label == "第二条"]
    assert inner[0].target_source_id == clauses[1].source_id


async def test_a_changed_file_replaces_its_document(tmp_path: Path) -> None:
    folder = write(tmp_path / "docs", 1)
    async with library_in(tmp_path) as library:
        sink = LibrarySink(library, "the library")
        await run(sink, PlainEmbedder(), folder)
        (folder / "办法0.txt").write_text(REGULATION + "第四条 新的。\n", encoding="utf-8")
        report = await run(sink, PlainEmbedder(), folder)
        statistics = await library.statistics()
    assert report.count(Outcome.INGESTED) == 1
    assert (statistics.documents, statistics.clauses) == (1, 4)


async def test_again_reads_what_is_live(tmp_path: Path) -> None:
    folder = write(tmp_path / "docs", 1)
    async with library_in(tmp_path) as library:
        sink = LibrarySink(library, "the library")
        await run(sink, PlainEmbedder(), folder)
        embedder = PlainEmbedder()
        report = await run(sink, embedder, folder, again=True)
    assert embedder.texts
    # The cut is the same, so the library has nothing to write.
    assert report.count(Outcome.UNCHANGED) == 1


async def test_text_is_embedded_with_its_title_and_headings(tmp_path: Path) -> None:
    folder = write(tmp_path / "docs", 1)
    embedder = PlainEmbedder()
    async with library_in(tmp_path) as library:
        await run(LibrarySink(library, "x"), embedder, folder)
    assert embedder.texts[1] == "甲省医疗保险办法 第一章 总则 第二条 三级医院支付比例为0%。"


async def test_another_embedder_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    folder = write(tmp_path / "docs", 2)
    async with library_in(tmp_path) as library:
        sink = LibrarySink(library, "the library")
        await run(sink, PlainEmbedder(), folder / "办法0.txt")
        other = PlainEmbedder()
        other.name = "plain-2"
        with pytest.raises(FingerprintMismatchError, match="plain-2"):
            await run(sink, other, folder)
    assert other.texts == []


async def test_a_text_that_the_model_cannot_embed_costs_its_document_only(tmp_path: Path) -> None:
    folder = write(tmp_path / "docs", 4)
    embedder = PlainEmbedder()
    embedder.fails_on = "比例为2%"
    async with library_in(tmp_path) as library:
        report = await run(LibrarySink(library, "x"), embedder, folder)
    assert report.count(Outcome.INGESTED) == 3
    (skipped,) = [entry for entry in report.entries if entry.outcome is Outcome.SKIPPED]
    assert skipped.kind == "EMBEDDING_FAILED"
    assert skipped.source.endswith("办法2.txt")


async def test_a_model_that_is_gone_ends_the_run_and_the_report_says_so(tmp_path: Path) -> None:
    folder = write(tmp_path / "docs", 2)

    class Gone(PlainEmbedder):
        async def embed(self, texts: Sequence[str], *, kind: TextKind, timeout_s: float | None = None) -> Embedding:
            raise ModelUnavailableError("gone")

    async with library_in(tmp_path) as library:
        pipeline = Pipeline(IngestSettings(workers=1), LibrarySink(library, "x"), Gone())
        with pytest.raises(ModelUnavailableError):
            await pipeline.run(sources(folder))
    assert pipeline.report.error == "gone"
    assert pipeline.report.missing == 2


async def test_a_stop_finishes_what_is_under_way_and_the_next_run_the_rest(tmp_path: Path) -> None:
    folder = write(tmp_path / "docs", 12)
    embedder = PlainEmbedder()
    embedder.gate = asyncio.Event()
    async with library_in(tmp_path) as library:
        sink = LibrarySink(library, "x")
        pipeline = Pipeline(IngestSettings(workers=1, embed_rows=1), sink, embedder)
        running = asyncio.ensure_future(pipeline.run(sources(folder)))
        await embedder.entered.wait()
        pipeline.stop()
        embedder.gate.set()
        report = await running
        assert report.interrupted
        assert 0 < report.count(Outcome.INGESTED) < 12
        assert report.missing + report.count(Outcome.INGESTED) == 12
        assert (await library.statistics()).documents == report.count(Outcome.INGESTED)
        rest = await run(sink, PlainEmbedder(), folder)
        assert rest.count(Outcome.UNCHANGED) + rest.count(Outcome.INGESTED) == 12


async def test_a_dry_run_reports_clauses_and_writes_nothing(tmp_path: Path) -> None:
    folder = write(tmp_path / "docs", 1)
    seen: list[Entry] = []
    report = await dry_run(IngestSettings(workers=1), sources(folder), stopping=asyncio.Event(), on_entry=seen.append)
    (entry,) = seen
    assert (entry.outcome, entry.clauses, entry.references) == (Outcome.READ, 3, 2)
    assert [clause["label"] for clause in entry.outline] == ["第一条", "第二条", "第三条"]
    report.write(tmp_path / "out" / "report.json")
    written = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    assert written["documents"]["read"] == 1
    assert written["files"][0]["title"] == "甲省医疗保险办法"
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["report.json"]


async def test_through_a_server_the_library_is_the_same(tmp_path: Path) -> None:
    folder = write(tmp_path / "docs", 3)
    async with library_in(tmp_path / "direct") as direct:
        await run(LibrarySink(direct, "x"), PlainEmbedder(), folder)
        wanted = await direct.digest()
    async with library_in(tmp_path / "served") as library:
        settings = settings_in(tmp_path)
        server = grpc.aio.server(interceptors=[Boundary(Admission(settings.admission), frozenset())])
        knowledge_service_pb2_grpc.add_KnowledgeServiceServicer_to_server(KnowledgeServicer(library), server)
        address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
        await server.start()
        async with grpc.aio.insecure_channel(address) as channel:
            sink = GrpcSink(channel, address, max_message_mb=64, timeout_s=60, wait_s=5, error_from=error_from)
            first = await run(sink, PlainEmbedder(), folder)
            second = await run(sink, PlainEmbedder(), folder)
            small = GrpcSink(channel, address, max_message_mb=0, timeout_s=60, wait_s=5, error_from=error_from)
            (folder / "neu.txt").write_text(REGULATION + "第四条 新。", encoding="utf-8")
            third = await run(small, PlainEmbedder(), folder)
            assert await sink.fingerprint() == "plain-1"
        await server.stop(None)
        assert await library.digest() == wanted
    assert (first.count(Outcome.INGESTED), second.count(Outcome.UNCHANGED)) == (3, 3)
    assert [entry.kind for entry in third.entries if entry.outcome is Outcome.SKIPPED] == ["TOO_LARGE"]


# Runs in a process of its own: one line a document, so that the test knows how far it is.
KILLED = """
import asyncio, importlib.util, sys
from pathlib import Path

async def main(module):
    async with module.library_in(Path({root!r})) as library:
        pipeline = module.Pipeline(
            module.IngestSettings(workers=1, embed_rows=8),
            module.LibrarySink(library, "x"),
            module.PlainEmbedder(),
            on_entry=lambda entry: print(entry.outcome.value, flush=True),
        )
        await pipeline.run(module.sources(Path({docs!r})))

if __name__ == "__main__":
    spec = importlib.util.spec_from_file_location("pipeline_test", {file!r})
    module = importlib.util.module_from_spec(spec)
    sys.modules["pipeline_test"] = module
    spec.loader.exec_module(module)
    asyncio.run(main(module))
"""


@pytest.mark.slow
async def test_killed_at_any_moment_and_started_again_it_ends_the_same(tmp_path: Path) -> None:
    folder = write(tmp_path / "docs", 40)
    async with library_in(tmp_path / "undisturbed") as library:
        await run(LibrarySink(library, "x"), PlainEmbedder(), folder)
        wanted = await library.digest()
    script, root = tmp_path / "killed.py", tmp_path / "killed"
    script.write_text(KILLED.format(file=__file__, root=str(root), docs=str(folder)), "utf-8")
    for lines, pause in ((1, 0.0), (4, 0.02), (12, 0.005), (20, 0.05)):
        process = await asyncio.create_subprocess_exec(sys.executable, str(script), stdout=asyncio.subprocess.PIPE)
        assert process.stdout is not None
        for _ in range(lines):
            assert await process.stdout.readline()
        await asyncio.sleep(pause)
        process.send_signal(signal.SIGKILL)
        await process.communicate()
        assert process.returncode == -signal.SIGKILL
    async with library_in(root) as library:
        before = (await library.statistics()).documents
        await run(LibrarySink(library, "x"), PlainEmbedder(), folder)
        assert 0 < before < 40
        assert await library.digest() == wanted
        assert (await library.statistics()).documents == 40
