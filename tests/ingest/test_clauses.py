"""Cutting into clauses: which lines are labels, what belongs together, and that nothing is lost."""

from __future__ import annotations

import re

import pytest

from ingest.clauses import Cut, cut_clauses
from ingest.outline import read_outline
from ingest.parse.layout import Block, BlockKind
from orchestrator.knowledge.clause import Box, Clause, ClauseType, Position, Table


def blocks_of(*parts: str | Table | Block) -> tuple[Block, ...]:
    """Paragraphs (str), tables and ready blocks, numbered in order."""
    blocks = []
    for index, part in enumerate(parts):
        if isinstance(part, Block):
            blocks.append(Block(part.kind, part.text, index, level=part.level, centered=part.centered, page=part.page))
        elif isinstance(part, Table):
            rows = (part.headers, *part.rows)
            blocks.append(Block(BlockKind.TABLE, "\n".join(" | ".join(row) for row in rows), index, table=part))
        else:
            blocks.append(Block(BlockKind.PARAGRAPH, part, index))
    return tuple(blocks)


def cut(*parts: str | Table | Block, max_chars: int = 1200) -> Cut:
    return cut_clauses("d1", read_outline(blocks_of(*parts)), max_chars=max_chars)


def labels(*parts: str | Table | Block) -> list[str]:
    return [clause.label for clause in cut(*parts).clauses if clause.clause_type is ClauseType.ARTICLE]


def heading(clause: Clause) -> list[tuple[str, str, str]]:
    return [(step.level, step.label, step.heading) for step in clause.path]


# --- which lines are labels ---


def test_an_article_holds_its_paragraphs_and_items() -> None:
    clauses = cut(
        "第一章　总则",
        "第一条　为了…，制定本办法。",
        "第二条　下列人员参保：",
        "（一）职工；",
        "（二）居民。",
        "其他人员自愿。",
    ).clauses
    assert [clause.text for clause in clauses] == [
        "第一条　为了…，制定本办法。",
        "第二条　下列人员参保：\n（一）职工；\n（二）居民。\n其他人员自愿。",
    ]
    assert heading(clauses[1]) == [("章", "第一章", "总则"), ("条", "第二条", "")]
    assert clauses[1].place.first_block == 2
    assert clauses[1].place.last_block == 5


@pytest.mark.parametrize(
    "reference",
    [
        "第二条规定的人员，不适用本条。",
        "第二条、第三条所称人员，不适用本条。",
        "第二条第二款的期限为三年。",
        "第二条至第五条的规定不适用。",
        "第二条第（一）项的人员除外。",
        "第二条和第三条的人员除外。",
        "第二条的规定不适用。",
        "第二条 第二款规定的除外。",
        "第二条中规定的期限为三年。",
    ],
)
def test_a_reference_at_a_lines_start_is_no_label(reference: str) -> None:
    assert labels("第一条 甲。", reference, "第二条 乙。", "第三条 丙。") == ["第一条", "第二条", "第三条"]


@pytest.mark.parametrize(
    "line",
    [
        "第二条 凡是参保的人员。",
        "第二条　凡是参保的人员。",
        "第二条凡是参保的人员。",
        "第 ２ 条 凡是。",
        "第二条：凡是。",
        "第二条　与本办法有关的申请书。",
        "第二条",
    ],
)
def test_a_label_is_one_with_or_without_a_space(line: str) -> None:
    assert labels("第一条 甲。", line, "第三条 丙。") == ["第一条", "第二条", "第三条"]


def test_inserted_articles_follow_the_one_they_extend() -> None:
    found = labels("第一条 甲。", "第一条之一 乙。", "第一条之二丙。", "第二条 丁。")
    assert found == ["第一条", "第一条之一", "第一条之二", "第二条"]


def test_a_missing_article_does_not_lose_the_next() -> None:
    assert labels("第一条 甲。", "第二条 乙。", "第四条 丁。", "第五条 戊。") == [
        "第一条",
        "第二条",
        "第四条",
        "第五条",
    ]


def test_a_slip_in_a_number_is_still_a_label() -> None:
    assert labels("第二十九条 甲。", "第三十条 乙。", "第二十一条 丙。", "第三十二条 丁。") == [
        "第二十九条",
        "第三十条",
        "第二十一条",
        "第三十二条",
    ]


def test_articles_behind_a_full_stop_in_one_paragraph_come_apart() -> None:
    clauses = cut("第一条 甲。第二条 乙。依照第三条 规定。", "第三条 丙。").clauses
    assert [clause.text for clause in clauses] == ["第一条 甲。", "第二条 乙。依照第三条 规定。", "第三条 丙。"]


def test_articles_on_lines_of_one_paragraph_come_apart() -> None:
    clauses = cut("第一条　甲。\n　　第二条　乙：\n（一）丙；\n第三条　丁。").clauses
    assert [clause.label for clause in clauses] == ["第一条", "第二条", "第三条"]
    assert {(clause.place.first_block, clause.place.last_block) for clause in clauses} == {(0, 0)}


def test_quoted_articles_belong_to_the_item_that_quotes_them() -> None:
    clauses = cut(
        "关于修改《甲办法》的决定",
        "决定对《甲办法》作如下修改：",
        "一、将第十二条修改为：“第十二条　三级医院支付比例为百分之七十五，二级医院支付比例为百分之八十五。",
        "第十三条　一级医院支付比例为百分之九十五，社区卫生服务机构的支付比例按照一级医院的支付比例执行。”",
        "二、增加一条，作为第十四条：",
        "第十四条　本办法自公布之日起施行，原办法同时停止执行，此前的规定与本办法不一致的按照本办法执行。",
        "三、本决定自公布之日起施行，甲办法根据本决定作相应修改，重新公布。",
    ).clauses
    assert [clause.label for clause in clauses] == ["", "一、", "二、", "三、"]
    assert "第十三条" in clauses[1].text
    assert "第十四条　本办法" in clauses[2].text


def test_a_missing_quotation_mark_does_not_swallow_the_rest() -> None:
    assert labels("第一条 所称“甲是指乙。", "第二条 丙。", "第三条：“丁。", "第四条 戊。") == [
        "第一条",
        "第二条",
        "第三条",
        "第四条",
    ]


# --- divisions, contents, preamble, closing ---


def test_divisions_nest_and_close_what_is_below_them() -> None:
    clauses = cut(
        "第一编 总则",
        "第一章 甲",
        "第一节 乙",
        "第一条 一。",
        "第二章　丙",
        "第二条 二。",
        "第二编",
        "分则",
        "第三条 三。",
    ).clauses
    assert heading(clauses[0])[:-1] == [("编", "第一编", "总则"), ("章", "第一章", "甲"), ("节", "第一节", "乙")]
    assert heading(clauses[1])[:-1] == [("编", "第一编", "总则"), ("章", "第二章", "丙")]
    assert heading(clauses[2])[:-1] == [("编", "第二编", "分则")]


def test_a_reference_to_a_chapter_is_no_heading() -> None:
    clauses = cut("第一章 总则", "第一条 甲。", "第二章规定的处罚，由县级机关作出。", "第二条 乙。").clauses
    assert [heading(clause)[0][1] for clause in clauses] == ["第一章", "第一章"]
    assert "第二章规定的处罚" in clauses[0].text


def test_a_contents_list_is_dropped() -> None:
    result = cut(
        "甲法",
        "目　　录",
        "第一章　总则",
        "第二章　罚则",
        "第一章　总则",
        "第一条　一。",
        "第二章　罚则",
        "第二条　二。",
    )
    assert [clause.label for clause in result.clauses] == ["第一条", "第二条"]
    assert heading(result.clauses[1])[0] == ("章", "第二章", "罚则")
    assert [line.text for line in result.headings].count("第一章　总则") == 2


def test_what_stands_above_the_first_article_is_the_preamble() -> None:
    clauses = cut("甲省医疗保险办法", "（2020年1月1日甲省人民政府令第1号公布）", "第一章 总则", "第一条 一。").clauses
    assert clauses[0].clause_type is ClauseType.PREAMBLE
    assert clauses[0].text == "甲省医疗保险办法\n（2020年1月1日甲省人民政府令第1号公布）"


def test_a_title_alone_is_no_clause() -> None:
    assert [clause.clause_type for clause in cut("甲省医疗保险办法", "第一条 一。").clauses] == [ClauseType.ARTICLE]


def test_signature_and_attachment_list_stay_out_of_the_last_article() -> None:
    clauses = cut(
        "第一条 甲。",
        "第二条 本办法自2024年1月1日起施行。",
        "附件：1.病种目录",
        "2.申请表",
        "甲省医疗保障局",
        "2023年12月1日",
    ).clauses
    assert clauses[1].text == "第二条 本办法自2024年1月1日起施行。"
    assert clauses[2].clause_type is ClauseType.TEXT
    assert clauses[2].text == "附件：1.病种目录\n2.申请表\n甲省医疗保障局\n2023年12月1日"


def test_an_appendix_restarts_the_numbering_and_has_its_own_position() -> None:
    clauses = cut(
        "第一条 甲。",
        "第二条 乙。",
        "附件1",
        "经办规程",
        "第一条 丙。",
        "附件2：目录",
        "一、高血压、糖尿病、冠心病等慢性疾病。",
    ).clauses
    assert [(clause.label, clause.position) for clause in clauses] == [
        ("第一条", Position.BODY),
        ("第二条", Position.BODY),
        ("第一条", Position.APPENDIX),
        ("一、", Position.APPENDIX),
    ]
    assert heading(clauses[2])[0] == ("附件", "附件1", "经办规程")
    assert heading(clauses[3])[0] == ("附件", "附件2", "目录")
    assert len({clause.source_id for clause in clauses}) == 4


def test_the_chapter_fuze_is_no_appendix() -> None:
    clauses = cut("第一条 甲。", "第二章 附则", "第二条 乙。").clauses
    assert {clause.position for clause in clauses} == {Position.BODY}


# --- documents without articles ---


def test_numbered_items_keep_their_parents_in_the_path() -> None:
    long = (
        "参保人员在定点医疗机构发生的符合规定的医疗费用，由统筹基金按照规定的比例支付，超过最高支付限额的部分由大病保险支付。"
        * 5
    )
    clauses = cut(
        "关于甲的通知",
        "各市医保局：",
        "一、待遇标准",
        f"（一）住院。{long}",
        f"（二）门诊。{long}",
        "二、本通知自印发之日起执行。",
    ).clauses
    assert [clause.label for clause in clauses] == ["", "（一）", "（二）", "二、"]
    assert heading(clauses[1]) == [("项", "一、", "待遇标准"), ("项", "（一）", "")]
    assert clauses[0].text == "关于甲的通知\n各市医保局："


def test_short_items_are_joined_under_their_parent() -> None:
    clauses = cut(
        "关于甲的通知",
        "一、申请材料：",
        "1.身份证；",
        "2.收据；",
        "3.病历。",
        "二、本通知自印发之日起执行，由省局负责解释。",
    ).clauses
    assert clauses[0].text == "一、申请材料：\n1.身份证；\n2.收据；\n3.病历。"
    assert heading(clauses[0]) == [("项", "一、", "申请材料：")]


def test_a_number_out_of_order_is_text() -> None:
    clauses = cut(
        "一、甲方应当按照约定的期限支付费用。", "五、乙方", "三、丙方应当按照约定的期限支付费用。", "二、丁"
    ).clauses
    assert "二、丁" in clauses[-1].text


def test_paragraphs_without_numbers_are_merged_to_a_useful_size() -> None:
    paragraph = "参保人员应当如实申报。" * 8
    clauses = cut(*[paragraph] * 12).clauses
    assert all(clause.clause_type is ClauseType.TEXT for clause in clauses)
    assert 1 < len(clauses) < 12
    assert all(len(clause.text) <= 400 for clause in clauses)
    assert "\n".join(clause.text for clause in clauses) == "\n".join([paragraph] * 12)


def test_headings_of_the_word_processor_are_in_the_path() -> None:
    clauses = cut(
        Block(BlockKind.TITLE, "指南", 0), Block(BlockKind.HEADING, "报销", 0, level=2), "带上收据到窗口。"
    ).clauses
    assert heading(clauses[0]) == [("标题", "", "报销")]


# --- tables and footnotes ---

RATES = Table(headers=("级别", "比例"), rows=(("三级", "70%"), ("二级", "80%")))


def test_a_table_is_a_clause_of_its_own_in_the_path_of_its_article() -> None:
    clauses = cut(
        "第一条 按下表支付：", "表1 支付比例", RATES, "注：比例含个人账户。", "不足的不补。", "第二条 乙。"
    ).clauses
    article, table, _ = clauses
    assert article.text == "第一条 按下表支付：\n不足的不补。"
    assert table.clause_type is ClauseType.TABLE
    assert table.text == "表1 支付比例\n级别: 三级；比例: 70%\n级别: 二级；比例: 80%\n注：比例含个人账户。"
    assert heading(table) == [("条", "第一条", ""), ("表", "表1", "支付比例")]
    assert table.label == "表1"
    assert table.table is not None
    assert table.table.headers == ("级别", "比例")


def test_a_long_table_is_cut_between_rows_and_keeps_its_headers() -> None:
    rows = tuple((f"药品{number}", "70%") for number in range(100))
    clauses = cut("第一条 甲。", Table(headers=("药品", "比例"), rows=rows), max_chars=200).clauses[1:]
    assert len(clauses) > 2
    assert all(len(clause.text) <= 220 for clause in clauses)
    assert all(clause.table is not None and clause.table.headers == ("药品", "比例") for clause in clauses)
    assert sum(len(clause.table.rows) for clause in clauses if clause.table) == 100


def test_a_header_of_two_rows_becomes_one() -> None:
    table = Table(headers=("药品", "比例", "比例"), rows=(("药品", "职工", "居民"), ("甲", "75%", "65%")))
    clause = cut("第一条 甲。", table).clauses[1]
    assert clause.text == "药品: 甲；比例 职工: 75%；比例 居民: 65%"


def test_a_table_that_only_frames_text_is_text() -> None:
    frame = Table(headers=(), rows=(("第一条 甲。",), ("第二条 乙。",)))
    block = Block(BlockKind.TABLE, "第一条 甲。\n第二条 乙。", 0, table=frame)
    assert [clause.label for clause in cut_clauses("d", read_outline((block,)), max_chars=1200).clauses] == [
        "第一条",
        "第二条",
    ]


def test_a_footnote_is_a_clause_of_its_own() -> None:
    clauses = cut("第一条 甲。", Block(BlockKind.FOOTNOTE, "甲，是指乙。", 0), "接着。").clauses
    assert clauses[0].text == "第一条 甲。\n接着。"
    assert (clauses[1].clause_type, clauses[1].position) == (ClauseType.FOOTNOTE, Position.FOOTNOTE)
    assert heading(clauses[1]) == [("条", "第一条", "")]


# --- pages, long clauses, ids ---


def test_a_paragraph_cut_by_a_pages_end_is_whole_again() -> None:
    blocks = (
        Block(BlockKind.PARAGRAPH, "第一条 支付比例为百", 0, page=1, box=Box(1, 2, 3, 4), runs_on=True),
        Block(BlockKind.PARAGRAPH, "分之七十。", 1, page=2, box=Box(5, 6, 7, 8)),
    )
    (clause,) = cut_clauses("d1", read_outline(blocks), max_chars=1200).clauses
    assert clause.text == "第一条 支付比例为百分之七十。"
    assert (clause.place.page, clause.place.box) == (1, Box(1, 2, 3, 4))
    assert (clause.place.first_block, clause.place.last_block) == (0, 1)


def test_a_long_article_is_split_and_each_part_keeps_label_and_path() -> None:
    text = "第一条 " + "".join(f"参保人员第{number}次住院的，起付标准减半。" for number in range(60))
    clauses = cut("第一章 甲", text, max_chars=300).clauses
    assert len(clauses) > 3
    assert {clause.label for clause in clauses} == {"第一条"}
    assert all(len(clause.text) <= 300 for clause in clauses)
    assert "".join(clause.text for clause in clauses) == text
    assert len({clause.source_id for clause in clauses}) == len(clauses)


def test_ids_are_the_same_every_time_and_differ_for_equal_texts() -> None:
    parts = ("第一条 甲。", "附件1", "同样的话。", "附件1", "同样的话。")
    first, second = cut(*parts), cut(*parts)
    assert [clause.source_id for clause in first.clauses] == [clause.source_id for clause in second.clauses]
    assert len({clause.source_id for clause in first.clauses}) == len(first.clauses)
    assert [clause.ordinal for clause in first.clauses] == list(range(len(first.clauses)))


@pytest.mark.parametrize(
    "parts",
    [
        (
            "甲办法",
            "（2020年1月1日公布）",
            "第一章 总则",
            "第一条 甲：",
            "（一）乙；",
            "第二条丙。第三条 丁。",
            "附件",
            "目录",
            "一、戊。",
            "二、己",
        ),
        ("通知", "各市：", "一、甲", "（一）乙", "1.丙", "（1）丁", "2.戊", "二、己", "五、庚", "甲局", "2020年1月1日"),
        ("只有一段。",),
        ("标题", "副标题"),
        ("第一条", "第二条", "第一条规定的", "“第三条 引用", "第四条 引用”", "第三条 甲"),
    ],
)
def test_every_line_is_in_exactly_one_clause_or_is_a_heading(parts: tuple[str, ...]) -> None:
    result = cut(*parts)
    squeezed = [
        re.sub(r"\s", "", text) for text in (*(c.text for c in result.clauses), *(h.text for h in result.headings))
    ]
    assert sorted("".join(squeezed)) == sorted(re.sub(r"\s", "", "".join(parts)))
    assert all(clause.text.strip() == clause.text != "" for clause in result.clauses)


def test_nothing_gives_nothing() -> None:
    assert cut().clauses == ()
    assert cut("", "　　\n").clauses == ()
