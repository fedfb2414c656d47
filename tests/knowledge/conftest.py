"""Documents to fill a library with, and each adapter of the three ports behind one opener."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import pytest_asyncio

from orchestrator.knowledge.clause import (
    Clause,
    ClauseType,
    Document,
    IndexedDocument,
    PathElement,
    Reference,
    ReferenceType,
    document_id_for,
    source_id_for,
)
from orchestrator.knowledge.graph.sqlite import SqliteGraph
from orchestrator.knowledge.keyword.tantivy_index import TantivyIndex
from orchestrator.knowledge.library import Library
from orchestrator.knowledge.opening import open_library
from orchestrator.knowledge.ports import ClauseGraph, KeywordIndex, VectorIndex
from orchestrator.knowledge.vector.qdrant_edge import QdrantEdgeIndex
from orchestrator.settings import PathSettings, Settings

DIMENSION = 8


class Factory:
    """Makes documents of articles 第1条, 第2条, … from their texts."""

    def document(self, title: str, **fields: object) -> Document:
        source = str(fields.pop("doc_source", f"{title}.docx"))
        return Document(document_id_for(source), source, title, content_hash=f"hash of {title}", **fields)  # type: ignore[arg-type]

    def clauses(self, document: Document, texts: Sequence[str], chapter: str = "第一章") -> tuple[Clause, ...]:
        made = []
        for ordinal, text in enumerate(texts):
            label = f"第{ordinal + 1}条"
            path = (PathElement("章", chapter, "总则"), PathElement("条", label))
            source_id = source_id_for(document.document_id, path, text)
            made.append(Clause(source_id, document.document_id, text, ordinal, label, path, ClauseType.ARTICLE))
        return tuple(made)

    def reference(
        self,
        clause: Clause,
        title: str = "",
        label: str = "",
        kind: ReferenceType = ReferenceType.CITES,
        start: int = 0,
    ) -> Reference:
        return Reference(clause.source_id, kind, f"《{title}》{label}", start, start + 2, title, label)

    def vectors(self, texts: Sequence[str], dimension: int = DIMENSION) -> npt.NDArray[np.float32]:
        rows = []
        for text in texts:
            seed = int.from_bytes(text.encode()[:64].ljust(8, b"."), "little") % 2**63
            rows.append(np.random.default_rng(seed).normal(size=dimension))
        made = np.array(rows, dtype=np.float32).reshape(len(texts), dimension)
        made /= np.linalg.norm(made, axis=1, keepdims=True)
        return made

    def indexed(
        self,
        title: str,
        texts: Sequence[str],
        references: Sequence[tuple[int, str, str]] = (),
        fingerprint: str = "embedder-1",
        **fields: object,
    ) -> IndexedDocument:
        """``references``: (clause number from 0, target title, target label)."""
        document = self.document(title, **fields)
        clauses = self.clauses(document, texts)
        made = tuple(self.reference(clauses[at], target, label) for at, target, label in references)
        return IndexedDocument(document, clauses, made, self.vectors(texts), fingerprint)


@pytest.fixture(scope="session")
def factory() -> Factory:
    return Factory()


@pytest.fixture(params=["qdrant-edge"])
def open_vector(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Awaitable[VectorIndex]]:
    """Opens the vector index of this test; again after it was closed."""
    assert request.param == "qdrant-edge"
    return lambda: QdrantEdgeIndex.open(tmp_path / "vector")


@pytest.fixture(params=["tantivy"])
def open_keyword(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Awaitable[KeywordIndex]]:
    assert request.param == "tantivy"
    return lambda: TantivyIndex.open(tmp_path / "keyword")


@pytest.fixture(params=["sqlite"])
def open_graph(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Awaitable[ClauseGraph]]:
    assert request.param == "sqlite"
    return lambda: SqliteGraph.open(tmp_path / "graph")


@pytest_asyncio.fixture
async def vector(open_vector: Callable[[], Awaitable[VectorIndex]]) -> AsyncIterator[VectorIndex]:
    index = await open_vector()
    yield index
    await index.close()


@pytest_asyncio.fixture
async def keyword(open_keyword: Callable[[], Awaitable[KeywordIndex]]) -> AsyncIterator[KeywordIndex]:
    index = await open_keyword()
    yield index
    await index.close()


@pytest_asyncio.fixture
async def graph(open_graph: Callable[[], Awaitable[ClauseGraph]]) -> AsyncIterator[ClauseGraph]:
    index = await open_graph()
    yield index
    await index.close()


@pytest.fixture
def library_settings(tmp_path: Path) -> Settings:
    return Settings(paths=PathSettings(data=tmp_path / "data"))


@pytest_asyncio.fixture
async def library(library_settings: Settings) -> AsyncIterator[Library]:
    opened = await open_library(library_settings)
    yield opened
    await opened.close()
