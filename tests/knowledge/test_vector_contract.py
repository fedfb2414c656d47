"""What every vector index promises (see the docstrings of `ports.VectorIndex`)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import numpy as np
import pytest

from orchestrator.errors import KnowledgeError, LibraryLockedError
from orchestrator.knowledge.ports import VectorIndex

Open = Callable[[], Awaitable[VectorIndex]]


def _unit(rows: int, dimension: int = 8, seed: int = 0) -> np.ndarray[Any, np.dtype[np.float32]]:
    made = np.random.default_rng(seed).normal(size=(rows, dimension)).astype(np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    return made


def _ids(prefix: str, rows: int) -> list[str]:
    return [f"{prefix}{row}" for row in range(rows)]


async def test_an_empty_index_finds_nothing_and_deletes_nothing(vector: VectorIndex) -> None:
    assert await vector.search(_unit(1)[0], 5) == []
    await vector.delete("nothing")
    assert await vector.count() == 0
    assert await vector.revisions() == {}


async def test_the_nearest_come_first_with_their_cosine(vector: VectorIndex) -> None:
    rows = _unit(300)
    await vector.upsert("d1", "r1", _ids("c", 300), rows)
    query = _unit(1, seed=7)[0]
    cosines = rows @ query
    hits = await vector.search(query, 200)
    expected = np.argsort(-cosines)[:200]
    assert [hit.source_id for hit in hits] == [f"c{row}" for row in expected]
    assert np.allclose([hit.score for hit in hits], cosines[expected], atol=1e-5)
    assert {(hit.document_id, hit.revision) for hit in hits} == {("d1", "r1")}


async def test_the_length_of_the_query_does_not_matter(vector: VectorIndex) -> None:
    rows = _unit(20)
    await vector.upsert("d1", "r1", _ids("c", 20), rows)
    short, long = await vector.search(rows[3], 5), await vector.search(rows[3] * 9, 5)
    assert [hit.source_id for hit in short] == [hit.source_id for hit in long]
    assert short[0].score == pytest.approx(1, abs=1e-5) == long[0].score


async def test_the_same_upsert_twice_leaves_one_copy(vector: VectorIndex) -> None:
    for _ in range(2):
        await vector.upsert("d1", "r1", _ids("c", 5), _unit(5))
    assert await vector.count() == 5
    assert await vector.revisions() == {("d1", "r1"): 5}
    assert len(await vector.search(_unit(1)[0], 50)) == 5


async def test_a_second_upsert_replaces_vectors(vector: VectorIndex) -> None:
    first, second = _unit(2, seed=1), _unit(2, seed=2)
    await vector.upsert("d1", "r1", ["a", "b"], first)
    await vector.upsert("d1", "r1", ["a", "b"], second)
    hits = await vector.search(second[1], 1)
    assert hits[0].source_id == "b"
    assert hits[0].score == pytest.approx(1, abs=1e-5)


async def test_two_revisions_of_a_clause_stand_side_by_side(vector: VectorIndex) -> None:
    rows = _unit(1)
    await vector.upsert("d1", "r1", ["a"], rows)
    await vector.upsert("d1", "r2", ["a"], rows)
    hits = await vector.search(rows[0], 10)
    assert {hit.revision for hit in hits} == {"r1", "r2"}
    assert {hit.source_id for hit in hits} == {"a"}


@pytest.mark.parametrize(
    ("chosen", "found"), [(["d1"], {"d1"}), (["d1", "d2"], {"d1", "d2"}), (["?"], set()), ([], set())]
)
async def test_only_the_chosen_documents_are_searched(vector: VectorIndex, chosen: list[str], found: set[str]) -> None:
    for seed, document_id in enumerate(("d1", "d2", "d3")):
        await vector.upsert(document_id, "r", _ids(document_id, 30), _unit(30, seed=seed))
    hits = await vector.search(_unit(1, seed=9)[0], 100, chosen)
    assert {hit.document_id for hit in hits} == found
    assert len(hits) == 30 * len(found)


async def test_delete_keeps_the_named_revision_and_other_documents(vector: VectorIndex) -> None:
    for document_id, revision in (("d1", "r1"), ("d1", "r2"), ("d2", "r1")):
        await vector.upsert(document_id, revision, _ids("c", 3), _unit(3))
    await vector.delete("d1", keep_revision="r2")
    assert await vector.revisions() == {("d1", "r2"): 3, ("d2", "r1"): 3}
    await vector.delete("d1")
    assert await vector.revisions() == {("d2", "r1"): 3}
    await vector.delete("d2", keep_revision="another")
    assert await vector.count() == 0


async def test_what_was_written_is_there_after_reopening(open_vector: Open) -> None:
    index = await open_vector()
    rows = _unit(4)
    await index.upsert("d1", "r1", _ids("c", 4), rows)
    await index.delete("d1", keep_revision="r1")
    await index.close()
    again = await open_vector()
    hits = await again.search(rows[2], 1)
    await again.close()
    assert hits[0].source_id == "c2"


async def test_an_emptied_index_takes_another_dimension(open_vector: Open) -> None:
    index = await open_vector()
    await index.upsert("d1", "r1", ["a"], _unit(1))
    with pytest.raises(KnowledgeError, match="8 dimensions"):
        await index.upsert("d2", "r1", ["b"], _unit(1, dimension=16))
    with pytest.raises(KnowledgeError, match="8 dimensions"):
        await index.search(_unit(1, dimension=16)[0], 1)
    await index.delete("d1")
    await index.upsert("d2", "r1", ["b"], _unit(1, dimension=16))
    await index.close()
    again = await open_vector()
    hits = await again.search(_unit(1, dimension=16)[0], 1)
    await again.close()
    assert [hit.source_id for hit in hits] == ["b"]


@pytest.mark.parametrize("limit", [0, -1])
async def test_a_limit_below_one_finds_nothing(vector: VectorIndex, limit: int) -> None:
    await vector.upsert("d1", "r1", ["a"], _unit(1))
    assert await vector.search(_unit(1)[0], limit) == []


async def test_an_upsert_of_nothing_is_allowed(vector: VectorIndex) -> None:
    await vector.upsert("d1", "r1", [], _unit(0))
    assert await vector.count() == 0


async def test_writes_and_searches_side_by_side(vector: VectorIndex) -> None:
    await vector.upsert("d0", "r", _ids("d0-", 50), _unit(50))

    async def write(number: int) -> None:
        await vector.upsert(f"d{number}", "r", _ids(f"d{number}-", 50), _unit(50, seed=number))

    async def search() -> int:
        return len(await vector.search(_unit(1)[0], 50))

    results = await asyncio.gather(*(write(number) for number in range(1, 20)), *(search() for _ in range(40)))
    assert [found for found in results if found is not None] == [50] * 40
    assert await vector.count() == 1000


async def test_an_index_has_one_owner(open_vector: Open) -> None:
    index = await open_vector()
    await index.upsert("d1", "r1", ["a"], _unit(1))
    with pytest.raises(LibraryLockedError, match="in use"):
        await open_vector()
    await index.close()
