"""The whole service on real parts: a real tritonserver, a real library, real agents, a real socket."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest
import pytest_asyncio

from orchestrator.inference.embedder import TritonEmbedder
from orchestrator.inference.launcher import TritonServer
from orchestrator.inference.ports import choose_ports
from orchestrator.server.models import served_models
from orchestrator.server.running import RunningServer, running_server
from orchestrator.settings import (
    AgentSettings,
    BudgetSettings,
    InferenceSettings,
    LauncherSettings,
    PathSettings,
    RetrieverSettings,
    RouterSettings,
    ServerSettings,
    Settings,
)
from trias.v1 import (
    answer_service_pb2,
    answer_service_pb2_grpc,
    common_pb2,
    document_pb2,
    knowledge_service_pb2,
    knowledge_service_pb2_grpc,
    reasoning_pb2,
)

pytestmark = pytest.mark.triton

# A loaded test machine must not turn a slow stage into a degraded answer.
AMPLE = BudgetSettings(route_s=60, retrieve_s=60, fast_s=60, deep_s=60, total_s=600, fallback_s=60)
PATIENT = RetrieverSettings(vector_deadline_s=30, keyword_deadline_s=30, graph_deadline_s=30)

RULES = {
    "云川省职工基本医疗保险办法": (
        "第一条 为了规范职工基本医疗保险，制定本办法。",
        "第二条 参保职工在三级医院住院的，医保基金支付比例为百分之八十二。",
        "第三条 参保职工在一级医院住院的，医保基金支付比例为百分之九十五。",
        "第四条 异地就医备案应当在三个工作日内办结。",
    ),
    "云川省医疗救助规定": (
        "第一条 特困人员的个人自付部分由医疗救助资金支付百分之百。",
        "第二条 低保对象的年度救助限额为二万元。",
    ),
}
QUESTION = "职工在三级医院住院的医保支付比例是多少？"


def request_for(title: str, texts: Sequence[str], vectors: Any, fingerprint: str) -> Any:
    document_id = f"d-{title}"
    clauses = []
    for ordinal, text in enumerate(texts):
        label = text.split(" ", 1)[0]
        clauses.append(
            document_pb2.Clause(
                source_id=f"{document_id}-{ordinal}",
                document_id=document_id,
                label=label,
                path=[document_pb2.PathElement(level="条", label=label)],
                clause_type=document_pb2.CLAUSE_TYPE_ARTICLE,
                position=document_pb2.POSITION_BODY,
                text=text,
                ordinal=ordinal,
            )
        )
    return knowledge_service_pb2.ApplyDocumentRequest(
        document=document_pb2.Document(
            document_id=document_id,
            doc_source=f"{title}.md",
            title=title,
            content_hash=f"hash of {title}",
            publish_date="2024-01-01",
            effective_date="2024-02-01",
            authority_level=document_pb2.AUTHORITY_LEVEL_PROVINCIAL,
            status=document_pb2.DOCUMENT_STATUS_IN_FORCE,
            region="云川省",
        ),
        clauses=clauses,
        vectors=vectors.astype("<f4").tobytes(),
        dimension=vectors.shape[1],
        embedder_fingerprint=fingerprint,
    )


def settings_for(data: Path, repository: Path, address: str, **sections: Any) -> Settings:
    return Settings(
        paths=PathSettings(data=data, model_repository=repository),
        server=ServerSettings(port=0),
        budget=AMPLE,
        router=RouterSettings(embed_timeout_s=60, titles_timeout_s=60, warm_up_timeout_s=120),
        retriever=PATIENT,
        inference=InferenceSettings(endpoints={"*": address}, deadline_s=30),
        **sections,
    )


async def fill(server: RunningServer, embedder: TritonEmbedder) -> None:
    async with grpc.aio.insecure_channel(server.address) as channel:
        knowledge: Any = knowledge_service_pb2_grpc.KnowledgeServiceStub(channel)
        for title, texts in RULES.items():
            embedding = await embedder.embed(texts, kind="passage")
            await knowledge.ApplyDocument(request_for(title, texts, embedding.vectors, embedding.fingerprint))


async def ask(server: RunningServer, question: str, **options: Any) -> answer_service_pb2.AskOnceResponse:
    async with grpc.aio.insecure_channel(server.address) as channel:
        stub: Any = answer_service_pb2_grpc.AnswerServiceStub(channel)
        response = await stub.AskOnce(answer_service_pb2.AskOnceRequest(question=question, options=options))
    assert isinstance(response, answer_service_pb2.AskOnceResponse)
    return response


@pytest_asyncio.fixture
async def embedder(tiny_triton: TritonServer) -> AsyncIterator[TritonEmbedder]:
    settings = InferenceSettings(endpoints={"*": tiny_triton.grpc_address}, deadline_s=30)
    async with TritonEmbedder(settings, tiny_triton.repository) as opened:
        yield opened


@pytest_asyncio.fixture
async def whole(tmp_path: Path, tiny_triton: TritonServer, embedder: TritonEmbedder) -> AsyncIterator[RunningServer]:
    settings = settings_for(tmp_path, tiny_triton.repository, tiny_triton.grpc_address)
    async with running_server(settings) as server:
        await fill(server, embedder)
        yield server


async def test_a_question_is_answered_with_evidence(whole: RunningServer) -> None:
    async with grpc.aio.insecure_channel(whole.address) as channel:
        stub: Any = answer_service_pb2_grpc.AnswerServiceStub(channel)
        request = answer_service_pb2.AskRequest(question=QUESTION, options={"explain": True})
        responses = [response async for response in stub.Ask(request)]
        assert [response.WhichOneof("event") for response in responses][:2] == ["plan", "retrieved"]
        deep = responses[-1].answered
        traced = await stub.TraceEvidence(answer_service_pb2.TraceEvidenceRequest(answer_id=responses[-1].answer_id))
    answer = deep.answer
    assert answer.tier == common_pb2.TIER_DEEP
    assert answer.status == reasoning_pb2.ANSWER_STATUS_ANSWERED
    assert not answer.degraded
    assert answer.citations[0].sentence in RULES["云川省职工基本医疗保险办法"][1]
    assert deep.timing.model_ms >= 0
    assert deep.timing.index_ms > 0
    assert any(chain.source_id == "d-云川省职工基本医疗保险办法-1" for chain in traced.chains)
    assert any(passage.clause.label == "第二条" for passage in traced.passages)


async def test_what_no_document_says_is_refused(whole: RunningServer) -> None:
    answer = (await ask(whole, "火星移民的签证怎么办理？")).answered.answer
    assert answer.status in {
        reasoning_pb2.ANSWER_STATUS_REFUSED,
        reasoning_pb2.ANSWER_STATUS_NEEDS_CLARIFICATION,
    }


async def test_an_unknown_domain_names_the_field(whole: RunningServer) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await ask(whole, QUESTION, domain="no_such_pack")
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "options.domain" in str(caught.value.details())


async def test_the_library_can_be_looked_at_and_changed_while_it_serves(
    whole: RunningServer, embedder: TritonEmbedder
) -> None:
    async with grpc.aio.insecure_channel(whole.address) as channel:
        knowledge: Any = knowledge_service_pb2_grpc.KnowledgeServiceStub(channel)
        held = await knowledge.GetStatistics(knowledge_service_pb2.GetStatisticsRequest())
        assert (held.documents, held.clauses, held.vectors, held.keyword_entries) == (2, 6, 6, 6)
        assert held.embedder_fingerprint == await embedder.fingerprint()

        first = await knowledge.ListDocuments(knowledge_service_pb2.ListDocumentsRequest(page_size=1))
        second = await knowledge.ListDocuments(
            knowledge_service_pb2.ListDocumentsRequest(page_size=1, page_token=first.next_page_token)
        )
        titles = [document.title for page in (first, second) for document in page.documents]
        assert sorted(titles) == sorted(RULES)
        assert not second.next_page_token

        document_id = "d-云川省医疗救助规定"
        got = await knowledge.GetDocument(knowledge_service_pb2.GetDocumentRequest(document_id=document_id))
        assert [clause.text for clause in got.clauses] == list(RULES["云川省医疗救助规定"])

        texts = RULES["云川省医疗救助规定"]
        embedding = await embedder.embed(texts, kind="passage")
        again = request_for("云川省医疗救助规定", texts, embedding.vectors, embedding.fingerprint)
        assert (await knowledge.ApplyDocument(again)).unchanged

        states = [
            knowledge_service_pb2.DocumentState(document_id=document_id, content_hash="hash of 云川省医疗救助规定"),
            knowledge_service_pb2.DocumentState(document_id="d-none", content_hash="x"),
        ]
        checked = await knowledge.CheckDocuments(knowledge_service_pb2.CheckDocumentsRequest(documents=states))
        assert list(checked.live_document_ids) == [document_id]

        again.embedder_fingerprint = "another embedder"
        again.document.document_id = "d-new"
        for clause in again.clauses:
            clause.document_id = "d-new"
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await knowledge.ApplyDocument(again)
        assert caught.value.code() is grpc.StatusCode.FAILED_PRECONDITION

        gone = await knowledge.DeleteDocument(knowledge_service_pb2.DeleteDocumentRequest(document_id=document_id))
        assert gone.clauses == 2
        for request, code in (
            (knowledge_service_pb2.GetDocumentRequest(document_id=document_id), grpc.StatusCode.NOT_FOUND),
            (knowledge_service_pb2.GetDocumentRequest(), grpc.StatusCode.INVALID_ARGUMENT),
        ):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await knowledge.GetDocument(request)
            assert caught.value.code() is code
        for wrong in ({"page_size": 1001}, {"page_size": -1}, {"page_token": "!"}):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await knowledge.ListDocuments(knowledge_service_pb2.ListDocumentsRequest(**wrong))
            assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def comparable(response: answer_service_pb2.AskOnceResponse) -> answer_service_pb2.AskOnceResponse:
    """Without what differs from run to run: ids and times."""
    response.answer_id = ""
    response.plan.plan_id = ""
    for estimate in response.plan.estimates:
        estimate.milliseconds = 0
    response.answered.ClearField("timing")
    response.answered.elapsed_ms = 0
    return response


@pytest.mark.parametrize("remote", ["router,retriever,reasoner", "retriever,reasoner", "router", "reasoner"])
async def test_agents_in_another_process_give_the_same_answers(
    remote: str, whole: RunningServer, tmp_path: Path, tiny_triton: TritonServer
) -> None:
    there = dict.fromkeys(remote.split(","), whole.address)
    if "retriever" not in there:
        # The library has one owner; here it is the other process.
        there["retriever"] = whole.address
    settings = settings_for(
        tmp_path / "front", tiny_triton.repository, tiny_triton.grpc_address, agents=AgentSettings(**there)
    )
    questions = [
        QUESTION,
        "异地就医备案几个工作日办结？",
        "低保对象一年最多救助多少钱？",
        "你好",
        "火星移民怎么办签证？",
    ]
    async with running_server(settings) as front:
        assert "trias.v1.RetrieverService" not in front.services
        for question in questions:
            here = comparable(await ask(whole, question, explain=True, as_of_date="2025-06-01"))
            through = comparable(await ask(front, question, explain=True, as_of_date="2025-06-01"))
            assert str(here) == str(through)


async def test_it_starts_without_a_model_and_recovers_when_one_comes(
    tmp_path: Path, tiny_repository: Any, tiny_triton: TritonServer, embedder: TritonEmbedder
) -> None:
    tiny_repository.publish("embedder")  # the same model as the one that fills the library
    port = choose_ports("127.0.0.1", {"grpc_port": 0})["grpc_port"]
    settings = settings_for(tmp_path, tiny_repository.path, f"127.0.0.1:{port}")
    settings = settings.model_copy(
        update={
            "retriever": settings.retriever.model_copy(update={"vector_deadline_s": 2}),
            "router": settings.router.model_copy(update={"embed_timeout_s": 2}),
            "budget": AMPLE.model_copy(update={"route_s": 5}),
        }
    )
    launcher = LauncherSettings(grpc_port=port, http_port=0, metrics_port=0, start_timeout_s=120, exit_timeout_s=5)
    running = running_server(settings)
    opening = asyncio.ensure_future(running.__aenter__())
    server = await opening
    try:
        await fill(server, embedder)
        answer = (await ask(server, QUESTION)).answered.answer
        assert answer.degraded
        assert "embedder" in {entry.component for entry in answer.degradations}
        assert answer.citations[0].sentence in RULES["云川省职工基本医疗保险办法"][1]
        async with TritonServer(launcher, repository=tiny_repository.path, data=tmp_path / "triton"):
            while (await ask(server, QUESTION)).answered.answer.degraded:
                await asyncio.sleep(0.2)
    finally:
        await running.__aexit__(None, None, None)


async def test_killing_the_models_process_under_load_costs_no_answer_and_heals_by_itself(
    tmp_path: Path, tiny_repository: Any, embedder: TritonEmbedder
) -> None:
    tiny_repository.publish("embedder")
    settings = settings_for(
        tmp_path,
        tiny_repository.path,
        "127.0.0.1:1",
        launcher=LauncherSettings(grpc_port=0, http_port=0, metrics_port=0, start_timeout_s=120, exit_timeout_s=5),
    )
    # A vector that is kept in memory would hide the fault.
    settings = settings.model_copy(update={"inference": settings.inference.model_copy(update={"cache_entries": 0})})
    async with served_models(settings) as models, running_server(models.settings) as server:
        assert models.own
        await fill(server, embedder)
        outcomes: list[bool] = []
        stop = asyncio.Event()

        async def caller() -> None:
            while not stop.is_set():
                answer = (await ask(server, QUESTION)).answered.answer
                assert answer.status == reasoning_pb2.ANSWER_STATUS_ANSWERED
                outcomes.append(answer.degraded)

        callers = [asyncio.ensure_future(caller()) for _ in range(4)]

        def ours() -> set[int]:
            return {stub.pid for stub in stubs_below(os.getpid()) if str(tiny_repository.path) in stub.command}

        def failed() -> bool:
            return any(task.done() for task in callers)

        try:
            await until(lambda: len(outcomes) >= 8 or failed())
            killed = ours()
            assert killed
            for pid in killed:
                os.kill(pid, signal.SIGKILL)
            await until(lambda: bool(ours() - killed) or failed())
            # Whether an answer was degraded meanwhile depends on how soon that was; from now on none may be.
            healed = len(outcomes)
            await until(lambda: (len(outcomes) >= healed + 8 and not any(outcomes[-8:])) or failed())
        finally:
            stop.set()
            await asyncio.gather(*callers)


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that must happen; the test's own timeout ends the wait."""
    while not condition():
        await asyncio.sleep(0.05)


@dataclass(frozen=True)
class Process:
    pid: int
    parent: int
    command: str


def stubs_below(root: int) -> list[Process]:
    """Triton's Python stubs among the descendants of a process."""
    processes = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                status = dict(
                    line.split(":\t", 1) for line in (folder / "status").read_text().splitlines() if ":\t" in line
                )
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            except OSError:
                continue
            processes[int(folder.name)] = Process(int(folder.name), int(status["PPid"]), command)

    def descends(process: Process) -> bool:
        while process.parent in processes:
            if process.parent == root:
                return True
            process = processes[process.parent]
        return False

    return [process for process in processes.values() if "python_backend_stub" in process.command and descends(process)]
