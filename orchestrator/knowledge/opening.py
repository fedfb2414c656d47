"""Opens a library: its folder is taken, its indexes are opened, and what an interrupted write left is removed."""

from __future__ import annotations

import asyncio
import shutil

from orchestrator.knowledge.adapters import check_vector_adapter, open_graph, open_keyword_index, open_vector_index
from orchestrator.knowledge.library import Library
from orchestrator.knowledge.ownership import Ownership
from orchestrator.knowledge.ports import ClauseGraph, KeywordIndex
from orchestrator.knowledge.vectors import VectorSet
from orchestrator.settings import Settings

__all__ = ["open_library"]


async def open_library(settings: Settings, *, name: str | None = None) -> Library:
    """Open a library, or make an empty one, and remove what an interrupted write left in it.

    Args:
        settings: says where the data lies and which adapters hold it.
        name: of the library; the configured one where None. Its folder is ``<data>/<name>``.

    Raises:
        LibraryLockedError: another process owns it; names that process.
        ConfigurationError: an adapter is not installed, or not to be had.
        IndexCorruptError: what lies in the folder cannot be opened.
    """
    check_vector_adapter(settings.knowledge)
    folder = settings.paths.data / (name or settings.knowledge.name)
    ownership = await asyncio.to_thread(Ownership.take, folder)
    opened: list[VectorSet | KeywordIndex | ClauseGraph] = []
    try:
        opened.append(graph := await open_graph(settings.knowledge, folder / "graph"))
        opened.append(
            vectors := await VectorSet.open(
                graph,
                lambda name: open_vector_index(settings.knowledge, folder / name),
                lambda name: asyncio.to_thread(shutil.rmtree, folder / name, ignore_errors=True),
            )
        )
        opened.append(keyword := await open_keyword_index(settings.knowledge, folder / "keyword"))
        adapters = {key: getattr(settings.knowledge, key) for key in ("vector", "keyword", "graph")}
        library = Library(vectors=vectors, keyword=keyword, graph=graph, adapters=adapters, ownership=ownership)
        await library.recover()
    except BaseException:
        await asyncio.gather(*(index.close() for index in opened), return_exceptions=True)
        ownership.release()
        raise
    return library
