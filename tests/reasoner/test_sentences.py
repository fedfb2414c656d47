"""Clauses are cut into sentences whose offsets are exact."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.reasoner.sentences import split_clause
from trias.v1 import document_pb2


def clause(text: str, table: document_pb2.Table | None = None) -> document_pb2.Clause:
    made = document_pb2.Clause(text=text)
    if table is not None:
        made.table.CopyFrom(table)
    return made


def test_sentences_have_exact_offsets_and_no_label() -> None:
    text = "第十二条　参保人员应当备案。未备案的，不予报销！\n逾期不补办的，按照（第三条。）处理。"
    found = split_clause(clause(text))
    assert [item.text for item in found] == [
        "参保人员应当备案。",
        "未备案的，不予报销！",
        "逾期不补办的，按照（第三条。）处理。",
    ]
    assert all(text[item.start : item.end] == item.source for item in found)


@pytest.mark.parametrize("label", ["第十二条之一", "第１２条", "第 十二 条", "第一百○二条"])
def test_labels_as_people_write_them(label: str) -> None:
    (sentence,) = split_clause(clause(f"{label}　本办法由省医疗保障局负责解释。"))
    assert sentence.text == "本办法由省医疗保障局负责解释。"


def test_items_carry_their_lead_in() -> None:
    text = "第五条　有下列情形之一的，备案终止：\n（一）参保人员申请取消的；\n（二）有效期满的。\n其他情形另行规定。"
    lead, first, second, last = split_clause(clause(text))
    assert (lead.kind, first.kind, second.kind, last.kind) == ("lead", "item", "item", "sentence")
    assert first.lead == second.lead == "有下列情形之一的，备案终止："
    assert text[first.lead_start :].startswith(first.lead)
    assert lead.list_id == first.list_id == second.list_id == 0
    assert last.list_id == -1


def test_an_item_keeps_all_of_its_statements() -> None:
    text = "应当符合以下要求：\n（一）附有证书；未经检验的，附有质量凭证；\n（二）按照批次标识。"
    _, first, second = split_clause(clause(text))
    assert first.text == "（一）附有证书；未经检验的，附有质量凭证；"
    assert second.list_id == first.list_id


def test_a_list_within_one_line() -> None:
    found = split_clause(clause("申请人应当提交下列材料：（一）申请书；（二）身份证明。"))
    assert [item.kind for item in found] == ["lead", "item", "item"]


def test_a_short_heading_is_context_not_a_sentence() -> None:
    found = split_clause(clause("一、关于支付比例\n参保职工住院的支付比例为70%。"))
    assert [(item.text, item.lead) for item in found] == [("参保职工住院的支付比例为70%。", "一、关于支付比例")]


def test_a_chapter_line_says_nothing() -> None:
    assert split_clause(clause("第一章　总　则")) == []


def test_table_rows_are_read_under_their_headers() -> None:
    table = document_pb2.Table(
        headers=["药品名称", "支付标准（元）"],
        rows=[
            document_pb2.TableRow(cells=["甲注射液", "3800"]),
            document_pb2.TableRow(cells=["乙片", "12.5"]),
        ],
    )
    text = "药品名称 | 支付标准（元）\n甲注射液 | 3800\n乙片 | 12.5"
    first, second = split_clause(clause(text, table))
    assert first.text == "药品名称：甲注射液，支付标准（元）：3800"
    assert (first.source, second.source) == ("甲注射液 | 3800", "乙片 | 12.5")
    assert text[second.start : second.end] == second.source


@settings(deadline=None)
@given(st.text(alphabet="第一条、（）()。；：！\n甲乙丙1.2 「」《》，", max_size=120))
def test_any_text_keeps_its_offsets(text: str) -> None:
    found = split_clause(clause(text))
    assert all(text[item.start : item.end] == item.source for item in found)
    assert all(first.end <= second.start for first, second in pairwise(found))
