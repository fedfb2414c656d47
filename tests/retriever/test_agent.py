"""The retriever over a real library on disk; only the vectors are made up (hashed character bigrams)."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import numpy as np
import pytest
import pytest_asyncio

from orchestrator.errors import BackendUnavailableError, InvalidFieldError, ModelUnavailableError
from orchestrator.inference.models import Embedding, TextKind
from orchestrator.knowledge.clause import (
    Clause,
    Document,
    IndexedDocument,
    PathElement,
    Position,
    Reference,
    ReferenceType,
    document_id_for,
    source_id_for,
)
from orchestrator.knowledge.library import Library
from orchestrator.knowledge.opening import open_library
from orchestrator.retriever.agent import RetrieverAgent
from orchestrator.settings import RetrieverSettings, ScoringSettings, Settings
from trias.v1 import common_pb2, passage_pb2, plan_pb2, retriever_service_pb2

DIMENSION = 512
FINGERPRINT = "bigrams"


class BigramEmbedder:
    """Unit vectors of hashed bigrams: texts with the same words are near each other."""

    def __init__(self) -> None:
        self.down = False

    async def embed(self, texts: Sequence[str], *, kind: TextKind, timeout_s: float | None = None) -> Embedding:
        if self.down:
            raise ModelUnavailableError("The embedder is down.")
        return Embedding(np.stack([vector(text) for text in texts]), FINGERPRINT, 0.5)

    async def fingerprint(self) -> str:
        return FINGERPRINT


def vector(text: str) -> np.ndarray:
    row = np.full(DIMENSION, 1e-3, dtype=np.float32)
    for place in range(len(text) - 1):
        row[zlib.crc32(text[place : place + 2].encode()) % DIMENSION] += 1
    return np.asarray(row / np.linalg.norm(row), dtype=np.float32)


def document(title: str, *texts: str, references: Sequence[Reference] = (), **fields: object) -> IndexedDocument:
    document_id = document_id_for(title)
    clauses = [clause(document_id, ordinal, text) for ordinal, text in enumerate(texts)]
    return IndexedDocument(
        Document(document_id, title, title, content_hash=title, **fields),  # type: ignore[arg-type]
        tuple(clauses),
        tuple(references),
        np.stack([vector(text) for text in texts]),
        FINGERPRINT,
    )


def clause(document_id: str, ordinal: int, text: str, position: Position = Position.BODY) -> Clause:
    label = f"第{'一二三四五六七八九'[ordinal]}条"
    path = (PathElement("条", label),)
    return Clause(source_id_for(document_id, path, text), document_id, text, ordinal, label, path, position=position)


OLD, NEW, OTHER = "云川省医保待遇通知（2021年）", "云川省医保待遇通知（2024年）", "云川省药店管理办法"


@pytest_asyncio.fixture
async def library(tmp_path: Path) -> AsyncIterator[Library]:
    opened = await open_library(Settings(paths={"data": tmp_path}))  # type: ignore[arg-type]
    await opened.apply(
        document(
            OLD,
            "第一条 三级医院住院报销比例为百分之七十。",
            "第二条 本通知自2021年1月1日起施行。",
            effective_date="2021-01-01",
        )
    )
    new = document_id_for(NEW)
    repealing = Reference(
        source_id=source_id_for(new, (PathElement("条", "第二条"),), f"第二条 《{OLD}》同时废止。"),
        type=ReferenceType.REPEALS,
        text=f"《{OLD}》",
        start=4,
        end=6 + len(OLD),
        target_title=OLD,
    )
    await opened.apply(
        document(
            NEW,
            "第一条 三级医院住院报销比例为百分之七十五。",
            f"第二条 《{OLD}》同时废止。",
            references=[repealing],
            effective_date="2024-01-01",
        )
    )
    await opened.apply(
        document(
            OTHER,
            "第一条 定点药店应当公示药品价格。",
            "第二条 药店违反第一条的，处以罚款。",
            references=[
                Reference(
                    source_id=source_id_for(
                        document_id_for(OTHER), (PathElement("条", "第二条"),), "第二条 药店违反第一条的，处以罚款。"
                    ),
                    type=ReferenceType.CITES,
                    text="第一条",
                    start=8,
                    end=11,
                    target_label="第一条",
                )
            ],
            effective_date="2020-01-01",
        )
    )
    yield opened
    await opened.close()


@pytest.fixture
def embedder() -> BigramEmbedder:
    return BigramEmbedder()


@pytest.fixture
def agent(library: Library, embedder: BigramEmbedder) -> RetrieverAgent:
    return RetrieverAgent(RetrieverSettings(), ScoringSettings(cosine_low=0.1, cosine_high=0.9), library, embedder)


def request(question: str, **fields: object) -> retriever_service_pb2.RetrieveRequest:
    plan = plan_pb2.Plan(question=question, normalized_question=question, **fields)  # type: ignore[arg-type]
    return retriever_service_pb2.RetrieveRequest(plan=plan)


async def test_each_passage_has_its_own_references(agent: RetrieverAgent) -> None:
    response = await agent.retrieve(request("药店违反公示药品价格怎样处罚"))
    told = {passage.clause.text: [one.text for one in passage.references] for passage in response.passages}
    assert told["第二条 药店违反第一条的，处以罚款。"] == ["第一条"]
    assert told["第一条 定点药店应当公示药品价格。"] == []


async def test_the_current_version_comes_first_and_the_repealed_one_says_so(agent: RetrieverAgent) -> None:
    response = await agent.retrieve(request("三级医院住院报销比例是多少"))
    first, second = response.passages[:2]
    assert first.document.title == NEW
    assert first.validity == passage_pb2.VALIDITY_IN_FORCE
    assert first.rank == 1
    assert second.document.title == OLD
    assert second.validity == passage_pb2.VALIDITY_REPEALED
    assert second.superseded_by == document_id_for(NEW)
    assert second.scores.consistency.contribution < 0
    assert response.embedder_fingerprint == FINGERPRINT


async def test_every_score_adds_up(agent: RetrieverAgent) -> None:
    for passage in (await agent.retrieve(request("药店公示药品价格"))).passages:
        scores = passage.scores
        terms = (scores.semantic, scores.bm25, scores.graph, scores.position, scores.consistency)
        assert scores.final == pytest.approx(max(0.0, sum(term.contribution for term in terms)))
        assert 0 <= passage.confidence <= 1
        assert passage.snippet_hash == passage.clause.snippet_hash


async def test_before_the_repeal_the_old_version_still_held(agent: RetrieverAgent) -> None:
    response = await agent.retrieve(request("三级医院住院报销比例是多少", as_of_date="2022-06-01"))
    by_title = {passage.document.title: passage for passage in response.passages if passage.clause.label == "第一条"}
    assert by_title[OLD].validity == passage_pb2.VALIDITY_IN_FORCE
    assert by_title[NEW].validity == passage_pb2.VALIDITY_NOT_YET_EFFECTIVE
    assert by_title[OLD].scores.final > by_title[NEW].scores.final


async def test_a_named_clause_is_reached_through_the_graph(agent: RetrieverAgent) -> None:
    mention = plan_pb2.DocumentMention(text=OTHER, clause_label="第二条", document_ids=[document_id_for(OTHER)])
    response = await agent.retrieve(request("该条怎么规定", named_documents=[mention]))
    assert response.passages[0].document.title == OTHER
    assert response.passages[0].clause.label == "第二条"
    assert response.passages[0].scores.graph.value == 1.0


async def test_what_a_strong_hit_refers_to_is_raised(library: Library, embedder: BigramEmbedder) -> None:
    agent = RetrieverAgent(RetrieverSettings(strong_hits=1), ScoringSettings(), library, embedder)
    response = await agent.retrieve(request("药店处以罚款"))
    referred = next(passage for passage in response.passages if passage.clause.text.startswith("第一条 定点药店"))
    assert referred.scores.graph.origin == "reference"
    assert referred.scores.graph.value > 0


async def test_sub_questions_are_searched_on_their_own(agent: RetrieverAgent) -> None:
    parts = [
        plan_pb2.SubQuestion(sub_question_id="q1", text="三级医院住院报销比例"),
        plan_pb2.SubQuestion(sub_question_id="q2", text="定点药店公示药品价格"),
    ]
    response = await agent.retrieve(request("三级医院报销多少，药店要公示价格吗", sub_questions=parts))
    found = {part for passage in response.passages[:4] for part in passage.sub_question_ids}
    assert found == {"q1", "q2"}


async def test_without_the_embedder_keywords_go_on_and_the_answer_says_so(
    agent: RetrieverAgent, embedder: BigramEmbedder
) -> None:
    embedder.down = True
    response = await agent.retrieve(request("三级医院住院报销比例是多少"))
    assert response.passages[0].document.title == NEW
    (degradation,) = response.degradations
    assert degradation.component == "embedder"
    assert degradation.level == common_pb2.FAULT_LEVEL_DEGRADED
    assert not response.passages[0].scores.semantic.present
    assert [search.search for search in response.searches if search.error] == ["vector"]


async def test_when_every_search_fails_the_caller_is_told(
    agent: RetrieverAgent, embedder: BigramEmbedder, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object) -> None:
        raise BackendUnavailableError("The keyword index is down.")

    embedder.down = True
    monkeypatch.setattr(library, "search_keyword", broken)
    with pytest.raises(BackendUnavailableError, match="No search answered"):
        await agent.retrieve(request("三级医院住院报销比例是多少"))


async def test_a_slow_search_is_given_up_at_its_deadline(
    library: Library, embedder: BigramEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def slow(*_: object, **__: object) -> None:
        await asyncio.sleep(60)

    monkeypatch.setattr(library, "search_vector", slow)
    settings = RetrieverSettings(vector_deadline_s=0.05, keyword_deadline_s=30, graph_deadline_s=30)
    response = await RetrieverAgent(settings, ScoringSettings(), library, embedder).retrieve(request("住院报销比例"))
    assert [degradation.reason for degradation in response.degradations] == ["DEADLINE_EXCEEDED"]
    assert response.passages


async def test_expired_sources_alone_stop_and_lead_to_the_newer_document(
    library: Library, embedder: BigramEmbedder
) -> None:
    settings = RetrieverSettings(expired_stop=1)
    # Without its penalty the repealed version is as good as the new one: the question repeats it word for word.
    scoring = ScoringSettings(cosine_low=0.1, cosine_high=0.9, consistency=0.0)
    agent = RetrieverAgent(settings, scoring, library, embedder)
    response = await agent.retrieve(request("三级医院住院报销比例为百分之七十。本通知自2021年1月1日起施行"))
    assert "SOURCES_EXPIRED" in {degradation.reason for degradation in response.degradations}
    assert NEW in {passage.document.title for passage in response.passages}


async def test_only_these_documents(agent: RetrieverAgent) -> None:
    wanted = request("报销比例和药品价格")
    wanted.document_ids.append(document_id_for(OTHER))
    assert {passage.document.title for passage in (await agent.retrieve(wanted)).passages} == {OTHER}


@pytest.mark.parametrize("question", ["", "  \n"])
async def test_no_question_is_named_as_a_field(agent: RetrieverAgent, question: str) -> None:
    with pytest.raises(InvalidFieldError, match=r"plan\.question"):
        await agent.retrieve(request(question))


@pytest.mark.parametrize("top_k", [-1, 101])
async def test_top_k_out_of_range_is_named_as_a_field(agent: RetrieverAgent, top_k: int) -> None:
    wanted = request("报销比例")
    wanted.top_k = top_k
    with pytest.raises(InvalidFieldError, match="top_k"):
        await agent.retrieve(wanted)


async def test_nothing_found_is_an_empty_answer_with_advice(agent: RetrieverAgent, embedder: BigramEmbedder) -> None:
    embedder.down = True
    response = await agent.retrieve(request("zzz"))
    assert not response.passages
    assert response.confidence == 0.0
    assert response.suggestions
