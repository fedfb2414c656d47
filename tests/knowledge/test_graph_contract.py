"""What every clause graph promises (see the docstrings of `ports.ClauseGraph`)."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import pytest

from orchestrator.errors import NotFoundError
from orchestrator.knowledge.clause import (
    AuthorityLevel,
    Box,
    Clause,
    ClauseType,
    Document,
    DocumentStatus,
    PathElement,
    Place,
    Position,
    Provenance,
    Reference,
    ReferenceType,
    Table,
    source_id_for,
)
from orchestrator.knowledge.ports import ClauseGraph

Open = Callable[[], Awaitable[ClauseGraph]]

TITLES = [
    "中华人民共和国社会保险法",
    "中华人民共和国刑法",
    "江南省门诊慢性病管理办法",
    "江南省门诊慢性病管理办法实施细则（试行）",
]


class Making(Protocol):
    """What these tests use of the factory in conftest.py."""

    def document(self, title: str, **fields: object) -> Document: ...
    def clauses(self, document: Document, texts: list[str], chapter: str = ...) -> tuple[Clause, ...]: ...
    def reference(self, clause: Clause, *arguments: Any, **fields: Any) -> Reference: ...


async def _publish(
    graph: ClauseGraph,
    document: Document,
    clauses: tuple[Clause, ...],
    references: tuple[Reference, ...] = (),
    revision: str = "r1",
) -> None:
    await graph.stage(document, revision, clauses, references)
    await graph.publish(document.document_id, revision)


async def _ranks_when(
    graph: ClauseGraph, ids: list[str], wanted: Callable[[dict[str, float]], bool]
) -> dict[str, float]:
    """Ranks follow a publish within moments."""
    for _ in range(200):
        ranks = await graph.ranks(ids)
        if wanted(ranks):
            return ranks
        await asyncio.sleep(0.02)
    raise AssertionError(f"the ranks stayed {ranks}")


async def test_an_empty_graph_answers_everything(graph: ClauseGraph) -> None:
    assert await graph.entry("?") is None
    assert await graph.entries() == []
    assert await graph.staged() == []
    assert dict(await graph.live_revisions()) == {}
    assert await graph.documents(["?"]) == {}
    assert await graph.clauses(["?"]) == {}
    assert await graph.document_clauses("?") == []
    assert await graph.references(["?"]) == {}
    assert await graph.neighbours(["?"], 5) == []
    assert await graph.ranks(["?"]) == {"?": 0.0}
    assert await graph.find_titles("任何条例") == []
    assert await graph.find_label("?", "第一条") == []
    assert await graph.get_value("?") is None
    assert await graph.delete("?") == 0
    assert set((await graph.statistics()).values()) == {0}


async def test_every_field_comes_back(graph: ClauseGraph) -> None:
    document = Document(
        document_id="d1",
        doc_source="源/文件.docx",
        title="某省办法",
        content_hash="hash",
        doc_number="医保发〔2024〕12号",
        publish_date="2024-01-01",
        effective_date="2024-02-01",
        expiry_date="2029-01-31",
        authority="某省医保局",
        authority_level=AuthorityLevel.PROVINCIAL,
        version="2024版",
        status=DocumentStatus.IN_FORCE,
        region="某省",
        superseded_by=("d0",),
        provenance=(Provenance("title", "heading", "某省办法"),),
    )
    table = Table(("药品", "比例"), (("甲", "70%"), ("乙", "")), "表1 药品")
    clause = Clause(
        source_id="c1",
        document_id="d1",
        text="药品|比例\n甲|70%",
        ordinal=0,
        label="表1",
        path=(PathElement("附件", "附件1", "目录"), PathElement("表", "表1")),
        clause_type=ClauseType.TABLE,
        position=Position.APPENDIX,
        place=Place(3, Box(1.25, 2, 3, 4.5), 7, 9),
        table=table,
    )
    plain = Clause("c2", "d1", '无结构的"一段"\\，\x00\x07\u2028𠮷。\u3000', 1)
    await _publish(graph, document, (clause, plain))
    assert await graph.documents(["d1", "?"]) == {"d1": document}
    assert await graph.clauses(["c1", "c2", "?"]) == {"c1": clause, "c2": plain}
    assert await graph.document_clauses("d1") == [clause, plain]
    entry = await graph.entry("d1")
    assert entry is not None
    assert (entry.document, entry.revision, entry.live, entry.clauses) == (document, "r1", True, 2)


async def test_a_staged_revision_is_invisible(graph: ClauseGraph, factory: Making) -> None:
    document = factory.document("某省办法")
    clauses = factory.clauses(document, ["甲", "乙"])
    for _ in range(2):
        await graph.stage(document, "r1", clauses, (factory.reference(clauses[0], "", "第2条"),))
    assert [(entry.revision, entry.live, entry.clauses) for entry in await graph.staged()] == [("r1", False, 2)]
    entry = await graph.entry(document.document_id)
    assert entry is not None
    assert not entry.live
    assert dict(await graph.live_revisions()) == {}
    assert await graph.entries() == []
    assert await graph.documents([document.document_id]) == {}
    assert await graph.clauses([clauses[0].source_id]) == {}
    assert await graph.references([clauses[0].source_id]) == {}
    assert await graph.neighbours([clauses[0].source_id], 5) == []
    assert await graph.find_titles("某省办法") == []
    assert await graph.find_label(document.document_id, "第1条") == []
    assert (await graph.statistics())["documents"] == 0


async def test_publish_replaces_the_live_revision_at_once(graph: ClauseGraph, factory: Making) -> None:
    document = factory.document("某省办法")
    old, new = factory.clauses(document, ["旧", "同"]), factory.clauses(document, ["新", "同"])
    await _publish(graph, document, old)
    await graph.stage(document, "r2", new, ())
    assert [clause.text for clause in await graph.document_clauses(document.document_id)] == ["旧", "同"]
    await graph.publish(document.document_id, "r2")
    assert [clause.text for clause in await graph.document_clauses(document.document_id)] == ["新", "同"]
    assert await graph.clauses([old[0].source_id]) == {}
    assert dict(await graph.live_revisions()) == {document.document_id: "r2"}
    assert await graph.staged() == []
    assert (await graph.statistics())["clauses"] == 2


async def test_publishing_twice_changes_nothing_and_nothing_staged_is_an_error(
    graph: ClauseGraph, factory: Making
) -> None:
    document = factory.document("某省办法")
    await _publish(graph, document, factory.clauses(document, ["甲"]))
    await graph.publish(document.document_id, "r1")
    await graph.stage(document, "r1", (), ())
    assert (await graph.statistics())["clauses"] == 1
    assert await graph.staged() == []
    with pytest.raises(NotFoundError, match="r9"):
        await graph.publish(document.document_id, "r9")


async def test_discard_removes_what_is_staged_only(graph: ClauseGraph, factory: Making) -> None:
    document = factory.document("某省办法")
    clauses = factory.clauses(document, ["甲"])
    await _publish(graph, document, clauses)
    await graph.stage(document, "r2", clauses, ())
    await graph.discard(document.document_id, "r1")
    await graph.discard(document.document_id, "r3")
    assert len(await graph.staged()) == 1
    await graph.discard(document.document_id, "r2")
    assert await graph.staged() == []
    assert dict(await graph.live_revisions()) == {document.document_id: "r1"}


async def test_delete_removes_live_and_staged(graph: ClauseGraph, factory: Making) -> None:
    document, other = factory.document("某省办法"), factory.document("另一办法")
    clauses = factory.clauses(document, ["甲", "乙"])
    await _publish(graph, document, clauses)
    await _publish(graph, other, factory.clauses(other, ["丙"]))
    await graph.stage(document, "r2", clauses[:1], ())
    assert await graph.delete(document.document_id) == 2
    assert await graph.delete(document.document_id) == 0
    assert await graph.entry(document.document_id) is None
    assert await graph.staged() == []
    assert await graph.find_titles("某省办法") == []
    assert (await graph.statistics())["clauses"] == 1


async def test_entries_come_in_order_of_id_in_pages(graph: ClauseGraph, factory: Making) -> None:
    documents = [factory.document(f"办法{number}") for number in range(7)]
    for document in documents:
        await _publish(graph, document, ())
    seen: list[str] = []
    while page := await graph.entries(after=seen[-1] if seen else "", limit=3):
        assert len(page) <= 3
        seen += [entry.document.document_id for entry in page]
    assert seen == sorted(document.document_id for document in documents)


async def test_references_resolve_by_title_and_label(graph: ClauseGraph, factory: Making) -> None:
    law = factory.document("中华人民共和国社会保险法（2018修正）", doc_number="主席令〔2018〕25号")
    articles = factory.clauses(law, ["一", "二", "三"])
    rules = factory.document("某省实施办法")
    clauses = factory.clauses(rules, ["甲", "乙"])
    wanted = [
        ("中华人民共和国社会保险法", "第２条", articles[1].source_id),
        ("《社会保险法》", "第二条", articles[1].source_id),
        ("社会保险法（2018年修正）", "第2条第一款第（三）项", articles[1].source_id),
        ("社会保险法", "", ""),
        ("社会保险法", "第九条", ""),
        ("主席令[2018]25号", "第三条", articles[2].source_id),
    ]
    references = tuple(
        factory.reference(clauses[0], title, label, start=at) for at, (title, label, _) in enumerate(wanted)
    )
    inside = factory.reference(clauses[1], "", "第一条")
    unknown = factory.reference(clauses[1], "没有的法", "第一条", start=5)
    await _publish(graph, rules, clauses, (*references, inside, unknown))
    await _publish(graph, law, articles)
    found = await graph.references([clause.source_id for clause in clauses])
    for reference, (title, label, target) in zip(found[clauses[0].source_id], wanted, strict=True):
        assert (reference.target_title, reference.target_label) == (title, label)
        assert reference.target_document_id == law.document_id
        assert reference.target_source_id == target
    local, missing = found[clauses[1].source_id]
    assert (local.target_document_id, local.target_source_id) == (rules.document_id, clauses[0].source_id)
    assert (missing.target_document_id, missing.target_source_id) == ("", "")
    statistics = await graph.statistics()
    assert (statistics["references"], statistics["resolved_references"]) == (8, 7)


async def test_resolution_does_not_depend_on_the_order_of_arrival(open_graph: Open, factory: Making) -> None:
    old = factory.document("某法（2010年修订）", doc_source="old", effective_date="2010-01-01")
    new = factory.document("某法（2020年修订）", doc_source="new", effective_date="2020-01-01")
    rules = factory.document("细则", effective_date="2015-01-01")
    of_old, of_new = factory.clauses(old, ["旧一", "旧二"]), factory.clauses(new, ["新一"])
    of_rules = factory.clauses(rules, ["甲"])
    references = (
        factory.reference(of_rules[0], "某法", "第一条", start=0),
        factory.reference(of_rules[0], "某法（2010年修订）", "第二条", start=1),
        factory.reference(of_rules[0], "某法", "", ReferenceType.REPEALS, start=2),
    )
    documents = [(old, of_old, ()), (new, of_new, ()), (rules, of_rules, references)]
    graph = await open_graph()
    for order in itertools.permutations(documents):
        for document, clauses, made in order:
            await _publish(graph, document, clauses, made)
        found = await graph.references([of_rules[0].source_id])
        targets = [(item.target_document_id, item.target_source_id) for item in found[of_rules[0].source_id]]
        # What cites means the newest; what repeals means none that is newer than itself.
        assert targets == [
            (new.document_id, of_new[0].source_id),
            (old.document_id, of_old[1].source_id),
            (old.document_id, ""),
        ]
        for document, _, _ in order:
            await graph.delete(document.document_id)
    await graph.close()


async def test_targets_that_leave_are_forgotten_and_found_again(graph: ClauseGraph, factory: Making) -> None:
    law, rules = factory.document("某法"), factory.document("细则")
    articles, clauses = factory.clauses(law, ["一"]), factory.clauses(rules, ["甲"])
    await _publish(graph, law, articles)
    await _publish(graph, rules, clauses, (factory.reference(clauses[0], "某法", "第一条"),))

    async def target() -> str:
        return (await graph.references([clauses[0].source_id]))[clauses[0].source_id][0].target_source_id

    assert await target() == articles[0].source_id
    changed = factory.clauses(law, ["改过的一"])
    await _publish(graph, law, changed, revision="r2")
    assert await target() == changed[0].source_id
    await graph.delete(law.document_id)
    assert await target() == ""
    await _publish(graph, law, articles)
    assert await target() == articles[0].source_id


async def test_a_repeal_shows_on_the_document_that_it_repeals(graph: ClauseGraph, factory: Making) -> None:
    old = factory.document("某省办法", doc_source="old", publish_date="2015-01-01", status=DocumentStatus.IN_FORCE)
    amending = factory.document("关于修改某省办法的决定", publish_date="2018-01-01")
    new = factory.document("某省办法", doc_source="new", publish_date="2020-01-01")
    later = factory.document("将来的通知", publish_date="2020-06-01", effective_date="2999-01-01")
    old_clauses = factory.clauses(old, ["甲"])
    await _publish(graph, old, old_clauses)
    clauses = factory.clauses(amending, ["将第一条修改为"])
    await _publish(
        graph, amending, clauses, (factory.reference(clauses[0], "某省办法", "第一条", ReferenceType.AMENDS),)
    )
    read = (await graph.documents([old.document_id]))[old.document_id]
    assert (read.status, read.superseded_by) == (DocumentStatus.AMENDED, (amending.document_id,))
    clauses = factory.clauses(new, ["2015年的《某省办法》同时废止"])
    await _publish(graph, new, clauses, (factory.reference(clauses[0], "某省办法", "", ReferenceType.REPEALS),))
    read = (await graph.documents([old.document_id]))[old.document_id]
    assert (read.status, read.superseded_by) == (DocumentStatus.REPEALED, (amending.document_id, new.document_id))
    entry = await graph.entry(old.document_id)
    assert entry is not None
    assert entry.document == read
    assert (await graph.documents([new.document_id]))[new.document_id].status is DocumentStatus.UNKNOWN
    clauses = factory.clauses(later, ["废止"])
    await _publish(graph, later, clauses, (factory.reference(clauses[0], "某省办法", "", ReferenceType.REPEALS),))
    read = (await graph.documents([new.document_id]))[new.document_id]
    # Not in force yet: named, but the document stands.
    assert (read.status, read.superseded_by) == (DocumentStatus.UNKNOWN, (later.document_id,))
    await graph.delete(new.document_id)
    read = (await graph.documents([old.document_id]))[old.document_id]
    assert read.status is DocumentStatus.AMENDED


async def test_neighbours_follow_references_both_ways_then_the_tree(graph: ClauseGraph, factory: Making) -> None:
    document = factory.document("某省办法")
    articles = factory.clauses(document, [f"第{number}条的内容" for number in range(6)])
    path = (*articles[2].path, PathElement("项", "（一）"))
    item = Clause(source_id_for(document.document_id, path, "项"), document.document_id, "项", 6, "（一）", path)
    references = (factory.reference(articles[2], "", "第6条"), factory.reference(articles[5], "", "第1条"))
    await _publish(graph, document, (*articles, item), references)
    ids = [article.source_id for article in articles]
    hits = await graph.neighbours([ids[2]], 10)
    assert [(hit.relation, hit.source_id) for hit in hits] == [
        ("references", ids[5]),
        ("child", item.source_id),
        ("sibling", ids[1]),
        ("sibling", ids[3]),
        ("sibling", ids[0]),
        ("sibling", ids[4]),
    ]
    assert {hit.from_source_id for hit in hits} == {ids[2]}
    assert [(hit.relation, hit.source_id) for hit in await graph.neighbours([ids[0]], 1)] == [("referenced_by", ids[5])]
    assert ("parent", ids[2]) in [(hit.relation, hit.source_id) for hit in await graph.neighbours([item.source_id], 9)]
    both = await graph.neighbours([ids[2], ids[5]], 3)
    assert len(both) == 3
    assert not {hit.source_id for hit in both} & {ids[2], ids[5]}
    assert await graph.neighbours([ids[2]], 0) == []


async def test_ranks_are_percentiles_of_what_is_referred_to(graph: ClauseGraph, factory: Making) -> None:
    document = factory.document("某省办法")
    articles = factory.clauses(document, [f"条文{number}" for number in range(6)])
    ids = [article.source_id for article in articles]
    references = [factory.reference(articles[at], "", "第1条") for at in (1, 2, 3)]
    references += [factory.reference(articles[4], "", "第2条")]
    await _publish(graph, document, articles, tuple(references))
    ranks = await _ranks_when(graph, ids, lambda ranks: ranks[ids[0]] == 1)
    assert ranks[ids[0]] == 1
    assert 0 < ranks[ids[1]] < 1
    assert [ranks[ids[at]] for at in (2, 3, 4, 5)] == [0, 0, 0, 0]
    await graph.delete(document.document_id)
    await _ranks_when(graph, ids, lambda ranks: not any(ranks.values()))


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ("中华人民共和国社会保险法", ["中华人民共和国社会保险法"]),
        ("《社会保险法》", ["中华人民共和国社会保险法"]),
        ("社会保险法第十二条怎么规定的？", ["中华人民共和国社会保险法"]),
        ("请问中华人民共和国社会保险法和刑法有何不同", ["中华人民共和国社会保险法", "中华人民共和国刑法"]),
        ("江南省门诊慢性病管理办法里的病种", ["江南省门诊慢性病管理办法"]),
        ("门诊慢性病管理办法", ["江南省门诊慢性病管理办法", "江南省门诊慢性病管理办法实施细则（试行）"]),
        (
            "江南省门诊慢性病管理办法实施细则（试行）",
            ["江南省门诊慢性病管理办法实施细则（试行）"],
        ),
        ("有通知吗", []),
        ("请看江医保发[2024]12号第三条", ["通知"]),
        ("完全无关的问题", []),
        ("", []),
        ("《》", []),
    ],
)
async def test_titles_are_found_in_a_question(
    graph: ClauseGraph, factory: Making, text: str, titles: list[str]
) -> None:
    for title in TITLES:
        await _publish(graph, factory.document(title), ())
    await _publish(graph, factory.document("通知", doc_number="江医保发〔2024〕12号"), ())
    found = [document.title for document in await graph.find_titles(text)]
    assert found[: len(titles)] == titles
    assert bool(found) == bool(titles)


async def test_versions_of_a_title_come_newest_first_and_limited(graph: ClauseGraph, factory: Making) -> None:
    for year in ("2010", "2020", "2015"):
        await _publish(graph, factory.document("某省办法", doc_source=year, effective_date=f"{year}-01-01"), ())
    found = await graph.find_titles("某省办法怎么说", limit=2)
    assert [document.effective_date[:4] for document in found] == ["2020", "2015"]


@pytest.mark.parametrize("label", ["第2条", "第二条", "第２条", " 第 二 条 ", "第二条第三款"])
async def test_a_label_is_found_however_it_is_written(graph: ClauseGraph, factory: Making, label: str) -> None:
    document = factory.document("某省办法")
    clauses = factory.clauses(document, ["甲", "乙", "丙"])
    await _publish(graph, document, clauses)
    assert await graph.find_label(document.document_id, label) == [clauses[1]]
    assert await graph.find_label(document.document_id, "第一章") == list(clauses)
    assert await graph.find_label(document.document_id, "第二十条") == []
    assert await graph.find_label(document.document_id, "") == []
    assert await graph.find_label("?", label) == []


async def test_values_and_documents_are_there_after_reopening(open_graph: Open, factory: Making) -> None:
    document = factory.document("某省办法")
    clauses = factory.clauses(document, ["甲"])
    graph = await open_graph()
    await graph.set_value("fingerprint", "一")
    await graph.set_value("fingerprint", "二")
    await _publish(graph, document, clauses)
    await graph.close()
    again = await open_graph()
    assert await again.get_value("fingerprint") == "二"
    assert await again.document_clauses(document.document_id) == list(clauses)
    assert [found.title for found in await again.find_titles("某省办法")] == ["某省办法"]
    await again.close()


async def test_a_failing_write_leaves_its_neighbours_alone(graph: ClauseGraph, factory: Making) -> None:
    documents = [factory.document(f"办法{number}") for number in range(4)]
    for document in documents[:3]:
        await graph.stage(document, "r1", factory.clauses(document, ["甲"]), ())
    results = await asyncio.gather(
        *(graph.publish(document.document_id, "r1") for document in documents), return_exceptions=True
    )
    assert [type(result) for result in results] == [type(None)] * 3 + [NotFoundError]
    assert (await graph.statistics())["documents"] == 3


async def test_large_sets_of_ids_are_read(graph: ClauseGraph, factory: Making) -> None:
    document = factory.document("长文件")
    clauses = factory.clauses(document, [f"第{number}段" for number in range(3000)])
    await _publish(graph, document, clauses)
    found = await graph.clauses([clause.source_id for clause in clauses] + [f"x{number}" for number in range(40_000)])
    assert len(found) == 3000
