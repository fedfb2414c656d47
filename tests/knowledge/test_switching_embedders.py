"""A library with the vectors of two embedders: built beside, switched in one write, switched back."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from orchestrator.errors import FingerprintMismatchError, IndexCorruptError, InvalidFieldError, NotFoundError
from orchestrator.knowledge.clause import IndexedDocument
from orchestrator.knowledge.library import Library
from orchestrator.knowledge.opening import open_library
from orchestrator.settings import Settings

Factory = Any
OLD, NEW = "embedder-1", "embedder-2"
WIDE = 12


async def embed_anew(library: Library, documents: Sequence[IndexedDocument], fingerprint: str = NEW) -> None:
    """What a reindex does, with vectors of another dimension."""
    lacking = set(await library.lacking_vectors(fingerprint))
    for document in documents:
        if document.document.document_id in lacking:
            ids = [clause.source_id for clause in document.clauses]
            assert await library.put_vectors(document.document.document_id, ids, wide(document), fingerprint)


def wide(document: IndexedDocument) -> np.ndarray:  # type: ignore[type-arg]
    rows = np.random.default_rng(len(document.clauses)).normal(size=(len(document.clauses), WIDE)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


async def test_the_new_vectors_answer_after_the_switch_and_not_before(library: Library, factory: Factory) -> None:
    documents = [factory.indexed(f"办法{number}", [f"甲{number}", f"乙{number}"]) for number in range(3)]
    await library.apply_many(documents)
    heard: list[str] = []
    library.on_switch(heard.append)
    assert len(await library.lacking_vectors(NEW)) == 3
    await embed_anew(library, documents)
    assert await library.lacking_vectors(NEW) == []
    assert await library.fingerprint() == OLD
    assert not heard
    await library.switch_embedder(NEW)
    assert await library.fingerprint() == NEW
    assert heard == [NEW]
    found = await library.search_vector(wide(documents[0])[0], 3, fingerprint=NEW)
    assert documents[0].clauses[0].source_id in {hit.source_id for hit in found}
    # A query that was embedded just before the switch still meets the index that it belongs to.
    late = await library.search_vector(documents[1].vectors[1], 1, fingerprint=OLD)
    assert [hit.source_id for hit in late] == [documents[1].clauses[1].source_id]
    await library.switch_embedder(OLD)
    assert await library.fingerprint() == OLD


async def test_a_switch_is_refused_while_a_document_lacks_vectors(library: Library, factory: Factory) -> None:
    documents = [factory.indexed("甲办法", ["甲"]), factory.indexed("乙办法", ["乙"])]
    await library.apply_many(documents)
    await embed_anew(library, documents[:1])
    with pytest.raises(FingerprintMismatchError, match="lack 1 documents"):
        await library.switch_embedder(NEW)
    assert await library.fingerprint() == OLD


async def test_what_changes_while_it_is_built_is_lacking_again(library: Library, factory: Factory) -> None:
    old, new = factory.indexed("甲办法", ["旧条文"]), factory.indexed("甲办法", ["新条文", "更多"])
    await library.apply(old)
    await embed_anew(library, [old])
    await library.apply(new)
    assert await library.lacking_vectors(NEW) == [new.document.document_id]
    stale = [clause.source_id for clause in old.clauses]
    assert not await library.put_vectors(old.document.document_id, stale, wide(old), NEW)
    await embed_anew(library, [new])
    await library.delete(new.document.document_id)
    await library.switch_embedder(NEW)
    assert await library.search_vector(wide(new)[0], 5, fingerprint=NEW) == []


async def test_an_apply_with_the_old_embedder_is_refused_after_the_switch(library: Library, factory: Factory) -> None:
    first = factory.indexed("甲办法", ["甲"])
    await library.apply(first)
    await embed_anew(library, [first])
    await library.switch_embedder(NEW)
    with pytest.raises(FingerprintMismatchError):
        await library.apply(factory.indexed("乙办法", ["乙"]))
    assert await library.fingerprint() == NEW


async def test_applies_and_a_switch_at_once_lose_no_vectors(library: Library, factory: Factory) -> None:
    documents = [factory.indexed(f"办法{number}", ["甲"]) for number in range(8)]
    await library.apply_many(documents[:4])
    await embed_anew(library, documents[:4])
    results = await asyncio.gather(
        library.switch_embedder(NEW), *(library.apply(one) for one in documents[4:]), return_exceptions=True
    )
    active = await library.fingerprint()
    refused = [result for result in results if isinstance(result, FingerprintMismatchError)]
    assert refused, "either the switch or the applies came too late"
    live = (await library.statistics()).documents
    assert len(await library.lacking_vectors(active)) == 0
    assert live in (4, 8)


async def test_both_indexes_outlive_a_restart(library_settings: Settings, factory: Factory) -> None:
    documents = [factory.indexed("甲办法", ["甲"]), factory.indexed("乙办法", ["乙"])]
    library = await open_library(library_settings)
    await library.apply_many(documents)
    await embed_anew(library, documents[:1])
    await library.close()
    library = await open_library(library_settings)
    assert await library.fingerprint() == OLD
    assert await library.lacking_vectors(NEW) == [documents[1].document.document_id]
    await embed_anew(library, documents)
    await library.switch_embedder(NEW)
    await library.close()
    library = await open_library(library_settings)
    assert (await library.statistics()).indexed_fingerprints == (NEW, OLD)
    await library.drop_vectors(OLD)
    assert (await library.statistics()).indexed_fingerprints == (NEW,)
    with pytest.raises(FingerprintMismatchError):
        await library.search_vector(documents[0].vectors[0], 1, fingerprint=OLD)
    await library.close()


async def test_what_makes_no_sense_is_refused(library: Library, factory: Factory) -> None:
    document = factory.indexed("甲办法", ["甲"])
    await library.apply(document)
    ids = [clause.source_id for clause in document.clauses]
    with pytest.raises(InvalidFieldError, match="embedder_fingerprint"):
        await library.lacking_vectors("")
    with pytest.raises(NotFoundError, match="no vectors of embedder"):
        await library.put_vectors(document.document.document_id, ids, wide(document), NEW)
    await library.lacking_vectors(NEW)
    for vectors in (wide(document)[:0], np.full((1, WIDE), np.nan, np.float32), np.zeros(3, np.float32)):
        with pytest.raises(InvalidFieldError, match="vectors"):
            await library.put_vectors(document.document.document_id, ids, vectors, NEW)
    with pytest.raises(FingerprintMismatchError, match="answer queries at present"):
        await library.drop_vectors(OLD)
    with pytest.raises(NotFoundError):
        await library.drop_vectors("embedder-3")


async def test_a_damaged_list_of_indexes_is_reported(library_settings: Settings, factory: Factory) -> None:
    library = await open_library(library_settings)
    await library.apply(factory.indexed("甲办法", ["甲"]))
    await library.graph.set_value("vector_indexes", "[]")
    await library.close()
    with pytest.raises(IndexCorruptError, match="list of vector indexes"):
        await open_library(library_settings)
