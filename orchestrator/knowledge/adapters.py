"""Which adapter stands behind each port, as the settings say. Adapters are imported when they are chosen."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

from orchestrator.errors import ConfigurationError
from orchestrator.knowledge.ports import ClauseGraph, KeywordIndex, VectorIndex
from orchestrator.settings import KnowledgeSettings

__all__ = ["check_vector_adapter", "open_graph", "open_keyword_index", "open_vector_index"]


def check_vector_adapter(settings: KnowledgeSettings) -> ModuleType:
    """The module of the vector index that ``settings.vector`` names; a library that is empty yet opens no index.

    Raises:
        ConfigurationError: it is not installed, or not to be had in this release.
    """
    if settings.vector != "qdrant-edge":
        raise _not_yet("vector", settings.vector, "qdrant-edge")
    return _import("orchestrator.knowledge.vector.qdrant_edge", "qdrant-edge-py")


async def open_vector_index(settings: KnowledgeSettings, folder: Path) -> VectorIndex:
    """Open the vector index that ``settings.vector`` names.

    Raises:
        ConfigurationError: it is not installed, or not to be had in this release.
        LibraryLockedError: another process owns its folder.
        IndexCorruptError: what lies in the folder cannot be opened.
    """
    module = check_vector_adapter(settings)
    index: VectorIndex = await module.QdrantEdgeIndex.open(folder)
    return index


async def open_keyword_index(settings: KnowledgeSettings, folder: Path) -> KeywordIndex:
    """Open the keyword index that ``settings.keyword`` names; raises as `open_vector_index` does."""
    if settings.keyword != "tantivy":
        raise _not_yet("keyword", settings.keyword, "tantivy")
    module = _import("orchestrator.knowledge.keyword.tantivy_index", "tantivy and rjieba")
    index: KeywordIndex = await module.TantivyIndex.open(
        folder, gram_weight=settings.gram_weight, word_weight=settings.word_weight
    )
    return index


async def open_graph(settings: KnowledgeSettings, folder: Path) -> ClauseGraph:
    """Open the clause graph that ``settings.graph`` names; raises as `open_vector_index` does."""
    if settings.graph != "sqlite":
        raise _not_yet("graph", settings.graph, "sqlite")
    module = _import("orchestrator.knowledge.graph.sqlite", "sqlite3")
    graph: ClauseGraph = await module.SqliteGraph.open(folder)
    return graph


def _not_yet(port: str, chosen: str, embedded: str) -> ConfigurationError:
    return ConfigurationError(
        f"knowledge.{port}: the adapter {chosen!r} is not part of this release.",
        hint=f"Set knowledge.{port} to {embedded!r}.",
    )


def _import(name: str, package: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        if error.name is not None and error.name.partition(".")[0] == "orchestrator":
            raise
        raise ConfigurationError(
            f"The embedded index needs {package}, which cannot be imported: {error}.",
            hint="Install it with `pip install 'trias[local]'`.",
        ) from None
