from __future__ import annotations

import pytest

from ingest.parse.layout import BlockKind
from ingest.parse.reader import parse_file
from orchestrator.errors import DocumentError

PARAGRAPH, HEADING, TITLE, TABLE = BlockKind.PARAGRAPH, BlockKind.HEADING, BlockKind.TITLE, BlockKind.TABLE


@pytest.fixture
def read(write):
    def read_body(body: str, head: str = ""):
        return parse_file(write("a.html", f"<!DOCTYPE html><html><head>{head}</head><body>{body}</body></html>"))

    return read_body


def texts(parsed):
    return [block.text for block in parsed.blocks]


def test_structure(read):
    parsed = read('<h1 align="center">某办法</h1><h2>第一章</h2><div><p>第一条 甲</p>散文<p>第二条 乙</p></div>')
    assert [(block.kind, block.level, block.text) for block in parsed.blocks] == [
        (TITLE, 0, "某办法"),
        (HEADING, 2, "第一章"),
        (PARAGRAPH, 0, "第一条 甲"),
        (PARAGRAPH, 0, "散文"),
        (PARAGRAPH, 0, "第二条 乙"),
    ]
    assert parsed.blocks[0].centered
    assert not parsed.blocks[2].centered


def test_what_is_not_the_text_is_dropped(read):
    parsed = read(
        "<nav>导航</nav><header>页眉</header><div class='top-nav'>菜单</div><script>x</script><style>y</style>"
        "<p hidden>藏</p>"
        "<p style='display: none'>藏</p><p aria-hidden='true'>藏</p><select><option>选</option></select>"
        "<form><p>正文</p></form><aside>旁</aside><footer>页脚</footer><!-- 注 --><template>模</template>"
    )
    assert texts(parsed) == ["正文"]


def test_main_part(read):
    assert texts(read("<div>外围</div><main><header><p>令</p></header><p>正文正文正文</p></main>")) == [
        "令",
        "正文正文正文",
    ]


def test_white_space_and_breaks(read):
    parsed = read("<p>参保\n  人员 the\n insured</p><p>甲<br>乙<br><br>丙<br>　　丁&nbsp;戊</p>")
    assert texts(parsed) == ["参保人员 the insured", "甲\n乙", "丙", "丁\xa0戊"]


def test_lists(read):
    parsed = read(
        "<ol start='3'><li>甲<ol type='a'><li>子</li></ol></li><li value='9'>乙</li><li>（一）丙</li></ol>"
        "<ul><li>点</li></ul>"
    )
    assert [(block.text, block.numbering) for block in parsed.blocks] == [
        ("3. 甲", "3."),
        ("a. 子", "a."),
        ("9. 乙", "9."),
        ("（一）丙", ""),
        ("点", ""),
    ]


def test_table_with_spans(read):
    (block,) = read(
        "<table><caption>表1</caption><thead><tr><th rowspan=2>级别<th colspan=2>比例<tr><th>职工<th>居民</thead>"
        "<tbody><tr><td rowspan=2>三级<td>85%<td>60%<tr><td colspan=2>另定</tbody></table>"
    ).blocks
    assert block.table.caption == "表1"
    assert block.table.headers == ("级别", "比例 职工", "比例 居民")
    assert block.table.rows == (("三级", "85%", "60%"), ("三级", "另定", "另定"))
    assert block.text.splitlines() == ["级别 | 比例", "级别 | 职工 | 居民", "三级 | 85% | 60%", "三级 | 另定"]


def test_table_for_layout_is_read_through(read):
    inner = "<table><tr><td>甲<td>乙<tr><td>1<td>2</table>"
    parsed = read(f"<table><tr><td><h1>某办法</h1><p>第一条</p>{inner}</td></tr></table>")
    assert [block.kind for block in parsed.blocks] == [TITLE, PARAGRAPH, TABLE]
    assert texts(read("<table><tr><td><p>甲</p><p>乙</p></td></tr></table>")) == ["甲", "乙"]


@pytest.mark.parametrize("span", ["999999999", "0", "-3", "x", "1000"])
def test_absurd_spans(read, span):
    (block,) = read(f"<table><tr><td rowspan={span} colspan={span}>甲<td>乙<tr><td>丙</table>").blocks
    assert "乙" in block.text


def test_declared_encoding(write):
    page = "<html><head><meta charset='gb2312'><title>某办法</title></head><body><p>第一条　㐀</p></body></html>"
    parsed = parse_file(write("a.html", page, "gb18030"))
    assert texts(parsed) == ["第一条　㐀"]
    assert parsed.properties == {"encoding": "gb18030", "title": "某办法"}


def test_properties_of_government_pages(read):
    head = (
        "<meta name='PubDate' content='2024-01-02 10:00'><meta name='author' content='某局'><meta name='x' content='y'>"
    )
    assert read("<p>甲</p>", head).properties == {"encoding": "utf-8", "created": "2024-01-02 10:00", "author": "某局"}


def test_ruby_and_deleted_text(read):
    assert texts(read("<p><ruby>医<rp>(</rp><rt>yī</rt><rp>)</rp></ruby>保<del>旧</del><ins>新</ins></p>")) == [
        "医保新"
    ]


def test_preformatted(read):
    assert texts(read("<pre>第一条 甲\n第二条  乙</pre>")) == ["第一条 甲", "第二条 乙"]


def test_page_without_text(read):
    with pytest.raises(DocumentError) as caught:
        read("<script>render()</script><div id='app'></div>")
    assert caught.value.kind == "NO_TEXT"
    assert "script" in caught.value.hint


def test_deep_nesting_is_an_error(read):
    assert texts(read("<div>" * 200 + "甲")) == ["甲"]
    with pytest.raises(DocumentError) as caught:
        read("<div>" * 20_000 + "甲")
    assert caught.value.kind == "TOO_LARGE"
