"""What every keyword index promises (see the docstrings of `ports.KeywordIndex`)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from orchestrator.errors import LibraryLockedError
from orchestrator.knowledge.ports import KeywordEntry, KeywordIndex

Open = Callable[[], Awaitable[KeywordIndex]]

TEXTS = [
    "参保人员在三级医院住院的，统筹基金支付比例为百分之七十。",
    "参保人员在二级医院住院的，统筹基金支付比例为百分之八十。",
    "门诊慢性病患者应当在定点医疗机构就医。",
    "异地就医备案有效期为十二个月。",
]


def _entries(texts: list[str], prefix: str = "c", title: str = "某省医疗保障办法") -> list[KeywordEntry]:
    return [KeywordEntry(f"{prefix}{at}", title, "第一章 总则", text) for at, text in enumerate(texts)]


async def test_an_empty_index_finds_nothing(keyword: KeywordIndex) -> None:
    assert await keyword.search("住院", 5) == []
    await keyword.delete("nothing")
    assert await keyword.count() == 0
    assert await keyword.revisions() == {}


async def test_the_best_match_comes_first(keyword: KeywordIndex) -> None:
    await keyword.upsert("d1", "r1", _entries(TEXTS))
    for query, best in (("二级医院住院报多少", "c1"), ("慢性病去哪里看门诊", "c2"), ("异地就医备案多久有效", "c3")):
        hits = await keyword.search(query, 4)
        assert hits[0].source_id == best
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        assert all(hit.score > 0 and (hit.document_id, hit.revision) == ("d1", "r1") for hit in hits)


async def test_more_of_the_query_means_a_higher_score(keyword: KeywordIndex) -> None:
    await keyword.upsert("d1", "r1", _entries(TEXTS))
    few, many = await keyword.search("住院", 1), await keyword.search("住院支付比例", 1)
    assert many[0].score > few[0].score


@pytest.mark.parametrize("query", ["", "  \n", "，。！？", "zzz", "鱻"])
async def test_a_blank_or_unmatched_query_finds_nothing(keyword: KeywordIndex, query: str) -> None:
    await keyword.upsert("d1", "r1", _entries(TEXTS))
    assert await keyword.search(query, 5) == []


@pytest.mark.parametrize(
    "query", ["AND OR NOT", 'text:"住院', "住院^3 +(", "\x00住院\x1f", "住院" * 5000, "\ud800住院"]
)
async def test_a_query_is_text_and_no_syntax(keyword: KeywordIndex, query: str) -> None:
    await keyword.upsert("d1", "r1", _entries(TEXTS))
    hits = await keyword.search(query, 5)
    assert {hit.source_id for hit in hits} <= {"c0", "c1", "c2", "c3"}
    assert bool(hits) == ("住院" in query)


async def test_a_pasted_page_still_finds_its_clause(keyword: KeywordIndex) -> None:
    await keyword.upsert("d1", "r1", _entries(TEXTS))
    page = TEXTS[3] + "".join(chr(code) for code in range(0x4E00, 0x5800))
    assert (await keyword.search(page, 1))[0].source_id == "c3"


async def test_width_and_case_do_not_matter(keyword: KeywordIndex) -> None:
    await keyword.upsert("d1", "r1", _entries(["入住ＩＣＵ的费用", "普通病房的费用"]))
    assert [hit.source_id for hit in await keyword.search("icu", 5)] == ["c0"]


async def test_title_and_heading_are_searched(keyword: KeywordIndex) -> None:
    await keyword.upsert("d1", "r1", [KeywordEntry("a", "生育保险条例", "附则", "自公布之日起施行。")])
    await keyword.upsert("d2", "r1", [KeywordEntry("b", "工伤保险条例", "基金", "自公布之日起施行。")])
    assert (await keyword.search("生育", 5))[0].source_id == "a"
    assert (await keyword.search("基金", 5))[0].source_id == "b"


async def test_the_same_upsert_twice_leaves_one_copy(keyword: KeywordIndex) -> None:
    for _ in range(2):
        await keyword.upsert("d1", "r1", _entries(TEXTS))
    assert await keyword.count() == 4
    assert await keyword.revisions() == {("d1", "r1"): 4}
    assert sorted(hit.source_id for hit in await keyword.search("医疗保障", 10)) == ["c0", "c1", "c2", "c3"]


async def test_a_second_upsert_of_a_revision_replaces_it(keyword: KeywordIndex) -> None:
    await keyword.upsert("d1", "r1", _entries(TEXTS))
    await keyword.upsert("d1", "r1", _entries(["护理费用"]))
    assert await keyword.revisions() == {("d1", "r1"): 1}
    assert [hit.source_id for hit in await keyword.search("护理", 10)] == ["c0"]
    assert await keyword.search("住院", 10) == []


async def test_two_revisions_of_a_clause_stand_side_by_side(keyword: KeywordIndex) -> None:
    for revision in ("r1", "r2"):
        await keyword.upsert("d1", revision, _entries(TEXTS[:1]))
    hits = await keyword.search("住院", 10)
    assert sorted(hit.revision for hit in hits) == ["r1", "r2"]


@pytest.mark.parametrize(
    ("chosen", "found"), [(["d1"], {"d1"}), (["d2", "d1"], {"d1", "d2"}), (["?"], set()), ([], set())]
)
async def test_only_the_chosen_documents_are_searched(
    keyword: KeywordIndex, chosen: list[str], found: set[str]
) -> None:
    for document_id in ("d1", "d2", "d3"):
        await keyword.upsert(document_id, "r", _entries(TEXTS, prefix=document_id))
    hits = await keyword.search("统筹基金支付", 10, chosen)
    assert {hit.document_id for hit in hits} == found


async def test_the_filter_leaves_scores_as_they_are(keyword: KeywordIndex) -> None:
    for document_id in ("d1", "d2"):
        await keyword.upsert(document_id, "r", _entries(TEXTS, prefix=document_id))
    scores = {hit.source_id: hit.score for hit in await keyword.search("统筹基金支付", 10)}
    for hit in await keyword.search("统筹基金支付", 10, ["d2"]):
        assert hit.score == pytest.approx(scores[hit.source_id])


async def test_delete_keeps_the_named_revision_and_other_documents(keyword: KeywordIndex) -> None:
    for document_id, revision in (("d1", "r1"), ("d1", "r2"), ("d2", "r1")):
        await keyword.upsert(document_id, revision, _entries(TEXTS[:3]))
    await keyword.delete("d1", keep_revision="r2")
    assert await keyword.revisions() == {("d1", "r2"): 3, ("d2", "r1"): 3}
    await keyword.delete("d1")
    assert await keyword.revisions() == {("d2", "r1"): 3}
    assert {hit.document_id for hit in await keyword.search("住院", 10)} == {"d2"}


async def test_upsert_and_delete_that_share_a_commit_keep_their_order(keyword: KeywordIndex) -> None:
    await asyncio.gather(
        keyword.upsert("d1", "r1", _entries(TEXTS)),
        keyword.upsert("d1", "r2", _entries(TEXTS[:2])),
    )
    await asyncio.gather(keyword.delete("d1", keep_revision="r2"), keyword.delete("d2"))
    assert await keyword.revisions() == {("d1", "r2"): 2}


async def test_what_was_written_is_there_after_reopening(open_keyword: Open) -> None:
    index = await open_keyword()
    await index.upsert("d1", "r1", _entries(TEXTS))
    await index.close()
    again = await open_keyword()
    hits = await again.search("异地就医备案", 1)
    await again.close()
    assert hits[0].source_id == "c3"


@pytest.mark.parametrize("limit", [0, -1])
async def test_a_limit_below_one_finds_nothing(keyword: KeywordIndex, limit: int) -> None:
    await keyword.upsert("d1", "r1", _entries(TEXTS))
    assert await keyword.search("住院", limit) == []


async def test_writes_and_searches_side_by_side(keyword: KeywordIndex) -> None:
    await keyword.upsert("d0", "r", _entries(TEXTS))

    async def write(number: int) -> None:
        await keyword.upsert(f"d{number}", "r", _entries(TEXTS))

    async def search() -> int:
        return len(await keyword.search("异地就医", 1))

    results = await asyncio.gather(*(write(number) for number in range(1, 20)), *(search() for _ in range(40)))
    assert [found for found in results if found is not None] == [1] * 40
    assert await keyword.count() == 80


async def test_an_index_has_one_owner(open_keyword: Open) -> None:
    index = await open_keyword()
    with pytest.raises(LibraryLockedError, match="in use"):
        await open_keyword()
    await index.close()
