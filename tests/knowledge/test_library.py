from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator.errors import (
    ConfigurationError,
    FingerprintMismatchError,
    IndexCorruptError,
    InvalidFieldError,
    KnowledgeError,
    LibraryLockedError,
)
from orchestrator.knowledge.clause import IndexedDocument
from orchestrator.knowledge.library import Library
from orchestrator.knowledge.opening import open_library
from orchestrator.settings import KnowledgeSettings, PathSettings, Settings

Factory = Any


async def _finds(library: Library, document: IndexedDocument, at: int = 0) -> tuple[bool, bool]:
    """Whether vector and keyword search find a clause by its own vector and text."""
    clause = document.clauses[at]
    vector = await library.search_vector(document.vectors[at], 1, fingerprint=document.embedder_fingerprint)
    keyword = await library.search_keyword(clause.text, 1)
    return (
        [hit.source_id for hit in vector] == [clause.source_id],
        [hit.source_id for hit in keyword] == [clause.source_id],
    )


async def test_a_document_is_found_by_all_three(library: Library, factory: Factory) -> None:
    document = factory.indexed("某省办法", ["住院支付比例", "门诊慢性病"], [(0, "", "第2条")])
    assert await library.apply(document)
    assert await _finds(library, document, 1) == (True, True)
    assert await library.graph.document_clauses(document.document.document_id) == list(document.clauses)
    statistics = await library.statistics()
    assert (statistics.documents, statistics.clauses, statistics.vectors, statistics.keyword_entries) == (1, 2, 2, 2)
    assert (statistics.references, statistics.resolved_references) == (1, 1)
    assert statistics.embedder_fingerprint == "embedder-1" == await library.fingerprint()
    assert statistics.adapters == {"vector": "qdrant-edge", "keyword": "tantivy", "graph": "sqlite"}


async def test_the_same_content_is_written_once(library: Library, factory: Factory) -> None:
    document = factory.indexed("某省办法", ["甲", "乙"])
    assert await library.apply(document)
    before = await library.digest()
    assert not await library.apply(document)
    assert await library.digest() == before
    assert await library.apply(replace(document, document=replace(document.document, region="某省")))
    assert await library.digest() != before


async def test_a_changed_document_replaces_itself(library: Library, factory: Factory) -> None:
    old = factory.indexed("某省办法", ["住院比例七成", "保持不变"])
    new = factory.indexed("某省办法", ["住院比例八成", "保持不变", "新增一条"])
    await library.apply(old)
    assert await library.apply(new)
    assert await _finds(library, new, 2) == (True, True)
    hits = await library.search_keyword("住院比例", 10)
    assert old.clauses[0].source_id not in {hit.source_id for hit in hits}
    statistics = await library.statistics()
    assert (statistics.clauses, statistics.vectors, statistics.keyword_entries) == (3, 3, 3)


async def test_delete_removes_a_document_everywhere(library: Library, factory: Factory) -> None:
    document, other = factory.indexed("甲办法", ["住院"]), factory.indexed("乙办法", ["门诊"])
    await library.apply_many([document, other])
    assert await library.delete(document.document.document_id) == 1
    assert await library.delete(document.document.document_id) == 0
    statistics = await library.statistics()
    assert (statistics.documents, statistics.vectors, statistics.keyword_entries) == (1, 1, 1)
    assert await _finds(library, document) == (False, False)
    assert await library.apply(document)


async def test_check_says_what_is_live_with_the_same_content(library: Library, factory: Factory) -> None:
    documents = [factory.indexed(f"办法{number}", ["甲"]) for number in range(3)]
    await library.apply_many(documents[:2])
    states = {document.document.document_id: document.document.content_hash for document in documents}
    states[documents[1].document.document_id] = "another"
    assert await library.check(states) == {documents[0].document.document_id}
    assert await library.check({}) == set()


async def test_the_digest_does_not_depend_on_the_order(tmp_path: Path, factory: Factory) -> None:
    documents = [
        factory.indexed(f"办法{number}", [f"条文{number}", "共同的条文"], [(0, f"办法{(number + 1) % 9}", "第1条")])
        for number in range(9)
    ]
    digests = []
    for run, order in enumerate((documents, documents[::-1])):
        library = await open_library(Settings(paths=PathSettings(data=tmp_path / str(run))))
        if run:
            for document in order:
                await library.apply(document)
            await library.apply(factory.indexed("办法3", ["变了"]))
            await library.apply(documents[3])
            await library.apply(factory.indexed("多余", ["会走的"]))
            await library.delete(factory.indexed("多余", []).document.document_id)
        else:
            assert await library.apply_many(order) == [True] * 9
        digests.append(await library.digest())
        assert await library.apply_many(order) == [False] * 9
        await library.close()
    assert digests[0] == digests[1]


async def test_vectors_of_another_embedder_are_refused(library: Library, factory: Factory) -> None:
    first, second = factory.indexed("甲", ["一"]), factory.indexed("乙", ["二"], fingerprint="embedder-2")
    await library.apply(first)
    with pytest.raises(FingerprintMismatchError, match=r"embedder-1.*embedder-2"):
        await library.apply(second)
    with pytest.raises(FingerprintMismatchError):
        await library.search_vector(second.vectors[0], 1, fingerprint="embedder-2")
    assert await library.search_keyword("一", 1)
    await library.delete(first.document.document_id)
    wider = replace(second, vectors=factory.vectors(["二"], dimension=16))
    assert await library.apply(wider)
    assert await library.fingerprint() == "embedder-2"
    assert await _finds(library, wider) == (True, True)


async def test_of_two_first_embedders_at_once_one_is_refused(library: Library, factory: Factory) -> None:
    documents = [factory.indexed(f"办法{number}", ["甲"], fingerprint=f"embedder-{number % 2}") for number in range(6)]
    results = await asyncio.gather(*map(library.apply, documents), return_exceptions=True)
    refused = [number % 2 for number, result in enumerate(results) if isinstance(result, FingerprintMismatchError)]
    assert len(refused) == 3
    assert len(set(refused)) == 1
    assert (await library.statistics()).documents == 3


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"vectors": np.zeros((1, 8), np.float32)}, "vectors"),
        ({"vectors": np.zeros(16, np.float32)}, "vectors"),
        ({"vectors": np.full((2, 8), np.nan, np.float32)}, "vectors"),
        ({"embedder_fingerprint": ""}, "embedder_fingerprint"),
    ],
)
async def test_what_does_not_fit_together_is_refused(
    library: Library, factory: Factory, change: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidFieldError) as caught:
        await library.apply(replace(factory.indexed("某省办法", ["甲", "乙"]), **change))
    assert caught.value.field == field
    assert (await library.statistics()).documents == 0


async def test_clauses_and_references_must_belong_to_the_document(library: Library, factory: Factory) -> None:
    document, other = factory.indexed("甲", ["一"], [(0, "", "第1条")]), factory.indexed("乙", ["二"], [(0, "", "")])
    with pytest.raises(InvalidFieldError, match="clauses"):
        await library.apply(replace(document, clauses=other.clauses, references=()))
    with pytest.raises(InvalidFieldError, match="source_id"):
        await library.apply(replace(document, clauses=document.clauses * 2))
    with pytest.raises(InvalidFieldError, match="references"):
        await library.apply(replace(document, references=other.references))


async def test_any_id_of_a_sensible_length_will_do(library: Library, factory: Factory) -> None:
    document = factory.indexed("某省办法", ["住院"])
    for name in ("a\x1fb", "有空 格/与/斜线", "x" * 256):
        clause = replace(document.clauses[0], document_id=name, source_id=f"{name[:200]}\x1f1")
        odd = replace(document, document=replace(document.document, document_id=name), clauses=(clause,))
        assert await library.apply(odd)
        hits = await library.search_keyword("住院", 5, [name])
        assert [(hit.document_id, hit.source_id) for hit in hits] == [(name, clause.source_id)]
        assert await library.delete(name) == 1
    for name in ("", "x" * 257):
        clause = replace(document.clauses[0], document_id=name)
        odd = replace(document, document=replace(document.document, document_id=name), clauses=(clause,))
        with pytest.raises(InvalidFieldError, match="document_id"):
            await library.apply(odd)


async def test_a_document_without_clauses_is_in_the_catalogue(library: Library, factory: Factory) -> None:
    document = factory.indexed("空文件", [])
    assert await library.apply(document)
    assert not await library.apply(document)
    assert (await library.statistics()).documents == 1


async def test_stale_hits_are_dropped_and_others_fetched_instead(library: Library, factory: Factory) -> None:
    """An index may hold a revision that was never published; the limit counts live hits only."""
    document = factory.indexed("某省办法", ["住院"])
    await library.apply(document)
    ghost = [f"ghost{number}" for number in range(50)]
    await library._vectors.active.upsert("ghost", "r", ghost, np.repeat(document.vectors[:1], 50, axis=0))
    hits = await library.search_vector(document.vectors[0], 1, fingerprint="embedder-1")
    assert [hit.source_id for hit in hits] == [document.clauses[0].source_id]
    assert await library.search_vector(document.vectors[0], 0, fingerprint="embedder-1") == []


async def test_a_failed_apply_leaves_the_library_as_it_was(
    library: Library, factory: Factory, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = factory.indexed("某省办法", ["旧条文"]), factory.indexed("某省办法", ["新条文", "更多"])
    await library.apply(old)
    before = await library.digest()

    async def fail(*arguments: object) -> None:
        raise KnowledgeError("The disk is full.")

    with monkeypatch.context() as patch:
        patch.setattr(library._keyword, "upsert", fail)
        with pytest.raises(KnowledgeError, match="disk is full"):
            await library.apply(new)
    assert await library.digest() == before
    assert await library.graph.staged() == []
    assert await library.apply(new)


async def test_of_many_documents_the_good_ones_are_applied(library: Library, factory: Factory) -> None:
    good = [factory.indexed(f"办法{number}", ["甲"]) for number in range(5)]
    bad = replace(good[2], embedder_fingerprint="")
    with pytest.raises(InvalidFieldError):
        await library.apply_many([*good[:2], bad, *good[3:]])
    assert (await library.statistics()).documents == 4


async def test_a_cancelled_caller_does_not_cut_a_write_short(library: Library, factory: Factory) -> None:
    document = factory.indexed("某省办法", ["甲", "乙"])
    caller = asyncio.create_task(library.apply(document))
    await asyncio.sleep(0.001)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert not await library.apply(document)
    assert (await library.statistics()).vectors == 2


async def test_one_document_applied_from_many_sides_ends_up_once(library: Library, factory: Factory) -> None:
    versions = [factory.indexed("某省办法", [f"第{number}版", "共同"]) for number in range(4)]
    await asyncio.gather(*(library.apply(version) for version in versions * 3))
    statistics = await library.statistics()
    assert (statistics.documents, statistics.clauses, statistics.vectors, statistics.keyword_entries) == (1, 2, 2, 2)
    assert library._locks == {}


async def test_reads_go_on_while_documents_are_written(library: Library, factory: Factory) -> None:
    first = factory.indexed("首个办法", ["独一无二的条文"])
    await library.apply(first)
    writing = asyncio.create_task(
        library.apply_many([factory.indexed(f"办法{number}", ["甲", "乙"]) for number in range(60)])
    )
    reads = 0
    while not writing.done():
        assert await _finds(library, first) == (True, True)
        hits = await library.search_keyword("甲", 100)
        known = await library.graph.clauses([hit.source_id for hit in hits])
        assert set(known) == {hit.source_id for hit in hits}
        reads += 1
    assert all(await writing)
    assert reads


async def test_a_library_has_one_owner(library: Library, library_settings: Settings) -> None:
    with pytest.raises(LibraryLockedError, match=rf"in use by process {os.getpid()}\b.*trias serve"):
        await open_library(library_settings)
    other = await open_library(library_settings, name="another")
    await other.close()


async def test_closing_twice_and_reopening(library_settings: Settings, factory: Factory) -> None:
    library = await open_library(library_settings)
    document = factory.indexed("某省办法", ["甲"])
    await library.apply(document)
    before = await library.digest()
    await library.close()
    await library.close()
    with pytest.raises(RuntimeError, match="closed"):
        await library.apply(document)
    library = await open_library(library_settings)
    assert await library.digest() == before
    assert await library.fingerprint() == "embedder-1"
    await library.close()


async def test_leftovers_are_removed_at_the_next_open(library_settings: Settings, factory: Factory) -> None:
    library = await open_library(library_settings)
    kept, cut_short = factory.indexed("甲", ["一"]), factory.indexed("乙", ["二", "三"])
    await library.apply(kept)
    before = await library.digest()
    for document, revision in ((cut_short, "r-new"), (kept, "r-next")):
        await library._put(document, revision)
    assert (await library.statistics()).vectors == 4
    assert await library.search_keyword("三", 1) == []
    await library.close()
    library = await open_library(library_settings)
    assert await library.digest() == before
    assert await library.graph.staged() == []
    assert (await library.statistics()).keyword_entries == 1
    await library.close()


@pytest.mark.parametrize("index", ["_vector", "_keyword"])
async def test_an_index_that_lacks_live_clauses_is_reported(
    library_settings: Settings, factory: Factory, index: str
) -> None:
    library = await open_library(library_settings)
    document = factory.indexed("某省办法", ["甲"])
    await library.apply(document)
    held = library._vectors.active if index == "_vector" else library._keyword
    await held.delete(document.document.document_id)
    await library.close()
    with pytest.raises(IndexCorruptError, match=rf"{index[1:]} index holds 0 of the 1 clauses of 某省办法.docx"):
        await open_library(library_settings)
    # What failed to open holds no lock.
    with pytest.raises(IndexCorruptError):
        await open_library(library_settings)


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("graph/graph.sqlite3", b"no database" * 500),
        ("keyword/meta.json", b"{}"),
        ("vector/shard/edge_config.json", b"{"),
    ],
)
async def test_a_damaged_file_is_reported(
    library_settings: Settings, factory: Factory, file: str, content: bytes
) -> None:
    library = await open_library(library_settings)
    await library.apply(factory.indexed("某省办法", ["甲"]))
    await library.close()
    folder = library_settings.paths.data / "library"
    (folder / file).write_bytes(content)
    with pytest.raises(IndexCorruptError, match="ingest the documents again"):
        await open_library(library_settings)


@pytest.mark.parametrize(("port", "adapter"), [("vector", "qdrant"), ("keyword", "elasticsearch"), ("graph", "neo4j")])
async def test_a_server_adapter_is_named_as_missing(tmp_path: Path, port: str, adapter: str) -> None:
    knowledge = KnowledgeSettings.model_validate({port: adapter})
    settings = Settings(paths=PathSettings(data=tmp_path), knowledge=knowledge)
    with pytest.raises(ConfigurationError, match=rf"knowledge\.{port}.*{adapter}"):
        await open_library(settings)


async def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ConfigurationError, match=r"paths\.data"):
        await open_library(Settings(paths=PathSettings(data=tmp_path / "file")))


async def test_searching_an_empty_library_finds_nothing(library: Library, factory: Factory) -> None:
    vectors: Sequence[Any] = factory.vectors(["甲"])
    assert await library.search_vector(vectors[0], 5, fingerprint="any") == []
    assert await library.search_keyword("甲", 5) == []
    assert await library.fingerprint() == ""
