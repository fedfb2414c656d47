from __future__ import annotations

from typing import Any

import pytest

from orchestrator.knowledge.graph.titles import TitleCatalogue, title_key, version_key


@pytest.mark.parametrize(
    "title",
    [
        "中华人民共和国社会保险法",
        "《社会保险法》",
        "社会保险法(2018修正)",
        "中华人民共和国社会保险法（2018年12月29日修正）",
        " 社会 保险法 ",
    ],
)
def test_spellings_of_one_title(title: str) -> None:
    assert title_key(title) == "社会保险法"


def test_what_is_part_of_the_name_stays() -> None:
    assert title_key("某办法（试行）") != title_key("某办法")
    assert title_key("中华人民共和国") == "中华人民共和国"
    assert title_key("《》") == title_key("") == ""
    assert title_key("医保发〔2024〕12号") == title_key("医保发[2024]12号") == title_key("医保发【２０２４】12号")


def test_versions() -> None:
    assert version_key("某法（2018修正）") == "2018"
    assert version_key("某法（2018修正）", "2020版") == "2018"
    assert version_key("某法", "2020版") == "2020"
    assert version_key("某法") == version_key("某办法（试行）") == ""


def test_a_removed_or_renamed_document_is_not_found(factory: Any) -> None:
    document = factory.document("门诊管理办法", doc_source="a")
    catalogue = TitleCatalogue([document])
    assert catalogue.find("门诊管理办法", 5) == [document.document_id]
    catalogue.put(factory.document("住院管理办法", doc_source="a"))
    assert catalogue.find("门诊管理办法", 5) == []
    assert catalogue.find("住院管理办法", 5) == [document.document_id]
    catalogue.remove(document.document_id)
    catalogue.remove(document.document_id)
    assert catalogue.find("住院管理办法", 5) == []


def test_a_title_inside_a_longer_one_counts_only_where_it_also_stands_alone(factory: Any) -> None:
    short, long = factory.document("慢性病管理办法"), factory.document("江南省慢性病管理办法")
    catalogue = TitleCatalogue([short, long])
    assert catalogue.find("江南省慢性病管理办法怎么说", 5) == [long.document_id]
    both = catalogue.find("江南省慢性病管理办法和慢性病管理办法有何不同", 5)
    assert both == [long.document_id, short.document_id]


def test_a_long_question_is_searched_in_full(factory: Any) -> None:
    documents = [factory.document(f"某省第{number}号管理办法") for number in range(2000)]
    catalogue = TitleCatalogue(documents)
    text = "这是一个很长的问题。" * 300 + "某省第1234号管理办法"
    assert catalogue.find(text, 5) == [documents[1234].document_id]
