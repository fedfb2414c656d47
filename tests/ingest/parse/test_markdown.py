from __future__ import annotations

import pytest

from ingest.parse.layout import BlockKind
from ingest.parse.reader import parse_file
from orchestrator.errors import DocumentError

PARAGRAPH, HEADING, TITLE, TABLE = BlockKind.PARAGRAPH, BlockKind.HEADING, BlockKind.TITLE, BlockKind.TABLE


def blocks(write, text):
    return [(block.kind, block.level, block.text) for block in parse_file(write("a.md", text)).blocks]


def texts(write, text):
    return [text for _, _, text in blocks(write, text)]


def test_title_headings_and_paragraphs(write):
    assert blocks(write, "# 某办法\n\n## 第一章 总则\n\n第一条 目的。\n\n第一节\n------\n") == [
        (TITLE, 0, "某办法"),
        (HEADING, 2, "第一章 总则"),
        (PARAGRAPH, 0, "第一条 目的。"),
        (HEADING, 2, "第一节"),
    ]


def test_two_first_headings_are_no_title(write):
    assert [kind for kind, _, _ in blocks(write, "# 甲\n\n# 乙\n")] == [HEADING, HEADING]


def test_lists_keep_their_numbers(write):
    assert texts(write, "3. 甲\n4. 乙\n   续行\n\n   次段\n\n- 点\n\n1) 子\n") == [
        "3. 甲",
        "4. 乙续行",
        "次段",
        "点",
        "1) 子",
    ]


def test_escaped_number_is_as_typed(write):
    assert texts(write, "1\\. 甲") == ["1. 甲"]


def test_wrapped_lines_join_and_clauses_part(write):
    assert texts(write, "第一条 为了规范\n管理。\n第二条 按照\n第三条的规定办理。\n") == [
        "第一条 为了规范管理。",
        "第二条 按照第三条的规定办理。",
    ]


def test_inline_markup(write):
    assert texts(write, "**第一条** 见[办法](http://x/)与`代码`，甲<br>乙  \n丙<b>丁</b>") == [
        "第一条 见办法与代码，甲\n乙\n丙丁"
    ]


def test_table(write):
    (block,) = parse_file(write("a.md", "| 药品 | 比例 |\n|---|---|\n| 甲类 | 90% |\n| 乙类 |\n")).blocks
    assert block.kind is TABLE
    assert block.table.headers == ("药品", "比例")
    assert block.table.rows == (("甲类", "90%"), ("乙类", ""))
    assert block.text == "药品 | 比例\n甲类 | 90%\n乙类 | "


def test_indented_lines_are_text(write):
    assert texts(write, "    第一条 甲。\n    第二条 乙。\n") == ["第一条 甲。", "第二条 乙。"]


def test_html_is_read_not_run(write):
    table = "<table><tr><th>甲</th><th>乙</th></tr><tr><td>1</td><td>2</td></tr></table>"
    found = parse_file(write("a.md", f"前\n\n<script>alert(1)</script>\n\n<!-- 注 -->\n\n{table}\n")).blocks
    assert [block.text for block in found] == ["前", "甲 | 乙\n1 | 2"]
    assert found[1].table.rows == (("1", "2"),)


def test_front_matter(write):
    text = "---\ntitle: 某办法\npublish_date: 2024-01-02\ntags: [医保, 药品]\nempty:\n---\n正文\n"
    parsed = parse_file(write("a.md", text))
    assert [block.text for block in parsed.blocks] == ["正文"]
    assert parsed.properties == {
        "encoding": "utf-8",
        "title": "某办法",
        "publish_date": "2024-01-02",
        "tags": "医保, 药品",
    }


@pytest.mark.parametrize(
    "front", ["只是文字", "a: &x [1]\nb: [*x, *x]", "!!python/object/apply:os.system ['echo']", "a: [", "- 甲\n- 乙"]
)
def test_what_is_no_front_matter_is_text(write, front):
    parsed = parse_file(write("a.md", f"---\n{front}\n---\n\n正文\n"))
    assert set(parsed.properties) == {"encoding"}
    assert parsed.blocks[-1].text == "正文"
    assert len(parsed.blocks) > 1


def test_nothing_to_read(write):
    with pytest.raises(DocumentError) as caught:
        parse_file(write("a.md", "<!-- 只有注释 -->\n\n---\n"))
    assert caught.value.kind == "NO_TEXT"


def test_deep_nesting(write):
    assert "甲" in "".join(texts(write, "> " * 5000 + "甲\n\n甲"))
