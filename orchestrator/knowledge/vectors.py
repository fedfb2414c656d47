"""The vector indexes of a library, one an embedder: the active one answers, another may be in the making beside it.

Which one is active is one value of the catalogue, so the switch from one embedder to another is one write: before it
every query meets the old vectors, after it the new ones. A query that was embedded just before the switch still finds
the index that its vector belongs to.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass

from orchestrator.errors import FingerprintMismatchError, IndexCorruptError, NotFoundError
from orchestrator.knowledge.ports import ClauseGraph, VectorIndex

__all__ = ["VectorSet"]

_STATE = "vector_indexes"
# Before there could be several indexes, this value alone named the embedder, and the folder was always the same.
_FIRST_STATE, _FIRST_FOLDER = "embedder_fingerprint", "vector"
# Of a fingerprint, in a folder's name.
_SHOWN = 16


@dataclass(frozen=True, slots=True)
class _State:
    """As the catalogue keeps it: the active fingerprint, and the folder of each index."""

    active: str
    folders: Mapping[str, str]

    def folder_of(self, fingerprint: str) -> str:
        return self.folders[fingerprint]


class VectorSet:
    """The vector indexes of one library. Made by `VectorSet.open`.

    Args:
        graph: keeps which index is which.
        open_index: opens the index in a folder of this name, or makes an empty one there.
        remove: deletes the folder of an index that is closed.
    """

    def __init__(
        self,
        graph: ClauseGraph,
        open_index: Callable[[str], Awaitable[VectorIndex]],
        remove: Callable[[str], Awaitable[None]],
    ) -> None:
        self._graph = graph
        self._open_index = open_index
        self._remove = remove
        self._state = _State("", {})
        self._indexes: dict[str, VectorIndex] = {}

    @classmethod
    async def open(
        cls,
        graph: ClauseGraph,
        open_index: Callable[[str], Awaitable[VectorIndex]],
        remove: Callable[[str], Awaitable[None]],
    ) -> VectorSet:
        """Open every index that the catalogue knows.

        Raises:
            IndexCorruptError: the catalogue's value, or an index, cannot be read.
        """
        indexes = cls(graph, open_index, remove)
        try:
            indexes._state = await _read_state(graph)
            for fingerprint, folder in indexes._state.folders.items():
                indexes._indexes[fingerprint] = await open_index(folder)
        except BaseException:
            await indexes.close()
            raise
        return indexes

    @property
    def active_fingerprint(self) -> str:
        """Of the embedder whose vectors answer; empty while the library never held a document."""
        return self._state.active

    @property
    def fingerprints(self) -> tuple[str, ...]:
        """Of all indexes, the active one first."""
        others = [key for key in self._state.folders if key != self._state.active]
        return tuple(key for key in (self._state.active, *others) if key)

    @property
    def active(self) -> VectorIndex:
        """The index that answers.

        Raises:
            NotFoundError: no embedder has filled the library yet.
        """
        return self.index(self._state.active)

    def __iter__(self) -> Iterator[VectorIndex]:
        return iter(list(self._indexes.values()))

    def index(self, fingerprint: str) -> VectorIndex:
        """The index of one embedder.

        Raises:
            NotFoundError: there is none.
        """
        if fingerprint not in self._indexes:
            raise NotFoundError(
                f"The library has no vectors of embedder {fingerprint or '(none)'}.",
                hint="Build them with `trias ingest reindex`.",
            )
        return self._indexes[fingerprint]

    def index_for(self, fingerprint: str) -> VectorIndex | None:
        """The index that a query's vector belongs to; None while there is none at all.

        Raises:
            FingerprintMismatchError: the library was filled by other embedders only.
        """
        if not self._indexes:
            return None
        if fingerprint not in self._indexes:
            raise FingerprintMismatchError(
                f"The library was filled by embedder {self._state.active}, the vectors come from "
                f"{fingerprint or 'an unnamed embedder'}.",
                hint="Serve the embedder that filled it, run `trias ingest reindex`, or ingest into a new library.",
                metadata={"indexed": self._state.active, "given": fingerprint},
            )
        return self._indexes[fingerprint]

    async def start_with(self, fingerprint: str) -> None:
        """Make the first embedder of an empty library the active one; indexes of others are removed."""
        stale = dict(self._state.folders)
        await self._keep(_State(fingerprint, {fingerprint: _FIRST_FOLDER}))
        for old in stale:
            await self._indexes.pop(old).close()
        for folder in stale.values():
            await self._remove(folder)
        self._indexes[fingerprint] = await self._open_index(_FIRST_FOLDER)

    async def add(self, fingerprint: str) -> VectorIndex:
        """The index of a further embedder, made where there is none; it does not answer yet."""
        if fingerprint not in self._indexes:
            folder = f"{_FIRST_FOLDER}-{fingerprint[:_SHOWN]}"
            await self._keep(_State(self._state.active, {**self._state.folders, fingerprint: folder}))
            self._indexes[fingerprint] = await self._open_index(folder)
        return self._indexes[fingerprint]

    async def switch(self, fingerprint: str) -> None:
        """Let another index answer; the caller has seen to it that it is complete."""
        self.index(fingerprint)
        await self._keep(_State(fingerprint, self._state.folders))

    async def drop(self, fingerprint: str) -> None:
        """Forget and delete an index that does not answer.

        Raises:
            NotFoundError: there is none.
            FingerprintMismatchError: it is the active one.
        """
        index = self.index(fingerprint)
        if fingerprint == self._state.active:
            raise FingerprintMismatchError(f"The vectors of embedder {fingerprint} answer queries at present.")
        folder = self._state.folder_of(fingerprint)
        await self._keep(_State(self._state.active, {k: v for k, v in self._state.folders.items() if k != fingerprint}))
        del self._indexes[fingerprint]
        await index.close()
        await self._remove(folder)

    async def close(self) -> None:
        """Flush and give up ownership of all."""
        for index in self:
            await index.close()
        self._indexes.clear()

    async def _keep(self, state: _State) -> None:
        tree = {"active": state.active, "folders": dict(state.folders)}
        await self._graph.set_value(_STATE, json.dumps(tree, sort_keys=True))
        self._state = state


async def _read_state(graph: ClauseGraph) -> _State:
    text = await graph.get_value(_STATE)
    if text is None:
        first = await graph.get_value(_FIRST_STATE)
        return _State(first, {first: _FIRST_FOLDER}) if first else _State("", {})
    try:
        tree = json.loads(text)
        return _State(str(tree["active"]), {str(key): str(value) for key, value in tree["folders"].items()})
    except (ValueError, LookupError, TypeError, AttributeError):
        raise IndexCorruptError(
            f"The catalogue's list of vector indexes cannot be read: {text[:200]!r}.",
            hint="Delete the library's folder and ingest the documents again.",
        ) from None
