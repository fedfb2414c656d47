"""References: what is named, where, and whether it is repealed or amended."""

from __future__ import annotations

import pytest

from ingest.abbreviations import read_abbreviations
from ingest.citations import find_citations
from ingest.references import find_references
from orchestrator.knowledge.clause import Clause, ClauseType, PathElement, Reference, ReferenceType


def article(number: str, text: str) -> Clause:
    return Clause(
        f"c{number}",
        "d",
        text,
        0,
        label=number,
        path=(PathElement("条", number),),
        clause_type=ClauseType.ARTICLE,
    )


def references(text: str, *, title: str = "甲办法", label: str = "第五条") -> list[Reference]:
    others = [article("第三条", "丙。"), article("第四条", "丁。")]
    found = find_references(title, [*others, article(label, text)])
    assert all(text[reference.start : reference.end] == reference.text for reference in found)
    return found


def targets(text: str, **kwargs: str) -> list[tuple[str, str]]:
    return [(reference.target_title, reference.target_label) for reference in references(text, **kwargs)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("违反本办法第三条规定的", [("", "第三条")]),
        ("违反本办法第三条、第四条第一款和第二款规定的", [("", "第三条"), ("", "第四条第一款"), ("", "第四条第二款")]),
        ("依照第七条至第九条的规定", [("", "第七条"), ("", "第八条"), ("", "第九条")]),
        ("依照《乙条例》第十二条之一第二款的规定", [("乙条例", "第十二条之一第二款")]),
        ("依照《乙条例》（国务院令第5号）第１２条", [("乙条例", "第十二条")]),
        ("《乙条例》第五条第（一）至（三）项", [("乙条例", f"第五条第{n}项") for n in "一二三"]),
        ("根据《乙条例》制定", [("乙条例", "")]),
        ("依照刑法第一百六十二条、第一百六十三条", [("刑法", "第一百六十二条"), ("刑法", "第一百六十三条")]),
        ("持《营业执照》和《申请表》", []),
        ("前款规定的期限", [("", "第五条")]),
        ("依照前条规定", [("", "第四条")]),
        ("依照前两条规定", [("", "第三条"), ("", "第四条")]),
        ("本条第二款所称", [("", "第五条第二款")]),
        ("第一款所列情形", [("", "第五条第一款")]),
        ("按照本办法附件1执行", [("", "附件1")]),
        ("第五条 依照第五条规定", [("", "第五条")]),
        ("《甲办法》第三条", [("", "第三条")]),
        ("香港特别行政区基本法第一条", [("香港特别行政区基本法", "第一条")]),
        ("提前条件、目前项目、附近的医院、基本法律", []),
        ("", []),
    ],
)
def test_targets(text: str, expected: list[tuple[str, str]]) -> None:
    assert targets(text) == expected


def test_a_title_inside_a_title_is_one_reference() -> None:
    assert targets("根据《国务院关于修改〈乙条例〉的决定》修订") == [("国务院关于修改〈乙条例〉的决定", "")]


def test_a_short_name_means_the_title_that_it_was_given_to() -> None:
    text = "根据《乙省基本医疗保险条例》（以下简称《条例》）制定。违反《条例》第八条的，处罚。"
    assert targets(text) == [("乙省基本医疗保险条例", ""), ("乙省基本医疗保险条例", "第八条")]


def test_short_names_go_in_pairs() -> None:
    text = "根据《药品管理法》、《药品实施条例》（以下分别简称《药品法》、《药品条例》）"
    assert read_abbreviations([text]) == {"药品法": "药品管理法", "药品条例": "药品实施条例"}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("《乙办法》同时废止。", ReferenceType.REPEALS),
        ("2003年公布的《乙办法》（令第5号）自本办法施行之日起废止。", ReferenceType.REPEALS),
        ("现决定废止《乙办法》。", ReferenceType.REPEALS),
        ("将《乙办法》第三条修改为：", ReferenceType.AMENDS),
        ("对《乙办法》作如下修改：", ReferenceType.AMENDS),
        ("依照《乙办法》执行。原规定同时废止。", ReferenceType.CITES),
        ("根据《关于废止和修改乙办法的决定》修订", ReferenceType.CITES),
    ],
)
def test_what_repeals_and_what_amends(text: str, kind: ReferenceType) -> None:
    assert references(text)[0].type is kind


def test_what_repeals_its_older_namesake_names_it() -> None:
    (reference,) = references("2015年公布的《甲办法》同时废止。")
    assert reference.type is ReferenceType.REPEALS
    assert reference.target_title == "甲办法"


def test_the_bare_articles_of_an_amending_decision_are_those_of_the_amended_document() -> None:
    found = references("将第三条修改为：", title="关于修改《乙办法》的决定", label="")
    assert (found[0].type, found[0].target_title, found[0].target_label) == (ReferenceType.AMENDS, "乙办法", "第三条")


def test_hostile_text_is_read_in_reasonable_time() -> None:
    text = "《" * 2000 + "第一条、" * 2000 + "本" * 2000 + "（" * 2000
    assert len(list(find_citations(text, {}))) >= 2000
