from __future__ import annotations

import pytest

from ingest.parse.layout import BlockKind
from ingest.parse.reader import parse_file
from orchestrator.errors import DocumentError

DELETED_MARK = '<w:rPr><w:del w:id="9"/></w:rPr>'
LIST = '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>'
NUMBERING = (
    '<w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="chineseCounting"/>'
    '<w:lvlText w:val="第%1条"/></w:lvl></w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
)


def style(style_id: str, name: str, properties: str = "", kind: str = "paragraph", more: str = "") -> str:
    return (
        f'<w:style w:type="{kind}" w:styleId="{style_id}"><w:name w:val="{name}"/>{more}<w:pPr>{properties}</w:pPr>'
        "</w:style>"
    )


def styled(style_id: str, more: str = "") -> str:
    return f'<w:pStyle w:val="{style_id}"/>{more}'


def text_box(docx, *texts: str) -> str:
    inner = "".join(docx.p(text) for text in texts)
    return (
        '<w:r><mc:AlternateContent><mc:Choice Requires="wps"><w:drawing><wp:anchor><a:graphic><a:graphicData><wps:wsp>'
        f"<wps:txbx><w:txbxContent>{inner}</w:txbxContent></wps:txbx></wps:wsp></a:graphicData></a:graphic></wp:anchor>"
        "</w:drawing></mc:Choice><mc:Fallback><w:pict><v:shape><v:textbox>"
        f"<w:txbxContent>{inner}</w:txbxContent></v:textbox></v:shape></w:pict></mc:Fallback></mc:AlternateContent></w:r>"
    )


def test_blocks_are_in_order_and_indexed_without_gaps(docx):
    blocks = docx.read(docx.p("甲") + docx.p() + docx.p("　") + docx.p("　　乙")).blocks
    assert [(block.index, block.text) for block in blocks] == [(0, "甲"), (1, "　　乙")]


def test_deleted_marks_join_paragraphs(docx):
    body = docx.p("第一条 甲", DELETED_MARK) + docx.p("乙", DELETED_MARK) + docx.p("丙") + docx.p("丁")
    assert docx.texts(body) == ["第一条 甲乙丙", "丁"]


def test_deleted_paragraph_takes_no_number(docx):
    gone = '<w:del w:id="1"><w:r><w:delText>删去的条</w:delText></w:r></w:del>'
    body = docx.p("甲", LIST) + docx.p(gone, LIST + DELETED_MARK) + docx.p("乙", LIST)
    assert docx.texts(body, numbering=NUMBERING) == ["第一条 甲", "第二条 乙"]


def test_moved_paragraph_stands_where_it_went(docx):
    away = f'<w:moveFrom w:id="1">{docx.run("移动")}</w:moveFrom>'
    there = f'<w:moveTo w:id="2">{docx.run("移动")}</w:moveTo>'
    body = (
        docx.p(away, '<w:rPr><w:moveFrom w:id="3"/></w:rPr>')
        + docx.p("甲")
        + docx.p(there, '<w:rPr><w:moveTo w:id="4"/></w:rPr>')
    )
    assert docx.texts(body) == ["甲", "移动"]


def test_deleted_mark_before_a_table_ends_the_paragraph_all_the_same(docx):
    body = docx.p("甲", DELETED_MARK) + docx.table(["一", "二"], ["三", "四"]) + docx.p("乙")
    assert [text.splitlines()[0] for text in docx.texts(body)] == ["甲", "一 | 二", "乙"]


def test_hidden_paragraph_has_no_text_and_no_number(docx):
    hidden = docx.p(docx.run("隐", "<w:vanish/>"), LIST + "<w:rPr><w:vanish/></w:rPr>")
    body = docx.p("甲", LIST) + hidden + docx.p("乙", LIST)
    assert docx.texts(body, numbering=NUMBERING) == ["第一条 甲", "第二条 乙"]


def test_style_separator_keeps_the_heading_before_its_text(docx):
    styles = style("H", "heading 1", '<w:outlineLvl w:val="0"/>')
    body = docx.p("总则。", styled("H", LIST + "<w:rPr><w:vanish/><w:specVanish/></w:rPr>")) + docx.p("正文。")
    (block,) = docx.read(body, styles=styles, numbering=NUMBERING).blocks
    assert (block.text, block.kind) == ("第一条 总则。正文。", BlockKind.HEADING)


def test_headings_by_outline_level_name_and_paragraph(docx):
    styles = (
        style("C", "章", '<w:outlineLvl w:val="0"/>')
        + style("D", "节", more='<w:basedOn w:val="C"/>')
        + style("3", "heading 3")
        + style("B", "正文", '<w:outlineLvl w:val="9"/>', more='<w:basedOn w:val="C"/>')
    )
    body = (
        docx.p("第一章", styled("C"))
        + docx.p("第一节", styled("D"))
        + docx.p("三级", styled("3"))
        + docx.p("正文", styled("B"))
        + docx.p("直接", '<w:outlineLvl w:val="1"/>')
    )
    found = [(block.kind, block.level) for block in docx.read(body, styles=styles).blocks]
    heading, paragraph = BlockKind.HEADING, BlockKind.PARAGRAPH
    assert found == [(heading, 1), (heading, 1), (heading, 3), (paragraph, 0), (heading, 2)]


def test_title_by_style(docx):
    styles = style("T", "Title", '<w:jc w:val="center"/>')
    first, _ = docx.read(docx.p("某办法", styled("T")) + docx.p("正文"), styles=styles).blocks
    assert (first.kind, first.centered) == (BlockKind.TITLE, True)


def test_title_by_size_and_place_over_two_lines(docx):
    big = '<w:sz w:val="44"/>'
    centre = '<w:jc w:val="center"/>'
    body = (
        docx.p("医保发〔2024〕12号")
        + docx.p(docx.run("关于印发某省", big), centre)
        + docx.p(docx.run("医疗保障办法的通知", big), centre)
        + docx.p("第一章", centre)
        + docx.p("各市：现将有关事项通知如下，请遵照执行。")
    )
    kinds = [block.kind for block in docx.read(body).blocks]
    paragraph, title = BlockKind.PARAGRAPH, BlockKind.TITLE
    assert kinds == [paragraph, title, title, paragraph, paragraph]


def test_centred_by_the_default_style_and_undone(docx):
    styles = (
        '<w:style w:type="paragraph" w:default="1" w:styleId="N"><w:name w:val="Normal"/>'
        '<w:pPr><w:jc w:val="center"/></w:pPr></w:style>'
    )
    body = docx.p("居中") + docx.p("不居中", '<w:jc w:val="left"/>')
    assert [block.centered for block in docx.read(body, styles=styles).blocks] == [True, False]


def test_text_box_once_after_its_paragraph(docx):
    body = docx.p(docx.run("锚点") + text_box(docx, "框内一", "框内二")) + docx.p("其后")
    assert docx.texts(body) == ["锚点", "框内一", "框内二", "其后"]


def test_text_box_in_a_box_and_in_a_cell(docx):
    nested = docx.p(text_box(docx, "内"))
    inner = text_box(docx, "外").replace(docx.p("外"), docx.p("外") + nested)
    assert docx.texts(docx.p(inner)) == ["外", "内"]
    table = docx.table(["甲", f"<w:tc>{docx.p(docx.run('文') + text_box(docx, '框'))}</w:tc>"], ["乙", "丙"])
    (block,) = docx.read(table).blocks
    assert block.table.headers == ("甲", "文\n框")


def test_fallback_is_read_where_the_choice_holds_no_text(docx):
    body = (
        '<w:r><mc:AlternateContent><mc:Choice Requires="wpx"><w:drawing/></mc:Choice><mc:Fallback><w:pict><v:shape>'
        f"<v:textbox><w:txbxContent>{docx.p('只在后备')}</w:txbxContent></v:textbox></v:shape></w:pict></mc:Fallback>"
        "</mc:AlternateContent></w:r>"
    )
    assert docx.texts(docx.p(body)) == ["只在后备"]


def test_alternatives_of_runs_and_of_blocks_are_read_once(docx):
    def either(content: str) -> str:
        return (
            f'<mc:AlternateContent><mc:Choice Requires="w14">{content}</mc:Choice>'
            f"<mc:Fallback>{content}</mc:Fallback></mc:AlternateContent>"
        )

    body = docx.p(docx.run("前") + either(docx.run("中")) + docx.run("后")) + either(docx.p("整段"))
    assert docx.texts(body) == ["前中后", "整段"]


def test_word_art_is_text(docx):
    art = '<w:r><w:pict><v:shape><v:textpath string="某省文件"/></v:shape></w:pict></w:r>'
    assert docx.texts(docx.p(art)) == ["某省文件"]


def test_notes_follow_their_paragraph_and_separators_are_none(docx):
    footnotes = (
        f'<w:footnote w:type="separator" w:id="-1">{docx.p("————")}</w:footnote>'
        f'<w:footnote w:id="2">{docx.p("<w:r><w:footnoteRef/></w:r>" + docx.run(" 指三级医院。"))}</w:footnote>'
        f'<w:footnote w:id="3">{docx.p("没有人引用。")}</w:footnote>'
    )
    endnotes = f'<w:endnote w:id="2">{docx.p("见附件。")}</w:endnote>'
    marked = (
        docx.run("医院")
        + '<w:r><w:footnoteReference w:id="2"/></w:r>'
        + docx.run("名单")
        + '<w:r><w:endnoteReference w:id="2"/></w:r>'
    )
    blocks = docx.read(docx.p(marked) + docx.p("后文"), footnotes=footnotes, endnotes=endnotes).blocks
    note = BlockKind.FOOTNOTE
    assert [(block.kind, block.text) for block in blocks] == [
        (BlockKind.PARAGRAPH, "医院名单"),
        (note, "指三级医院。"),
        (note, "见附件。"),
        (BlockKind.PARAGRAPH, "后文"),
    ]


def test_note_in_deleted_or_hidden_text_is_left_out(docx):
    notes = "".join(f'<w:footnote w:id="{number}">{docx.p("注")}</w:footnote>' for number in (2, 3))
    body = docx.p(
        docx.run("文")
        + '<w:del w:id="1"><w:r><w:footnoteReference w:id="2"/></w:r></w:del>'
        + '<w:r><w:rPr><w:vanish/></w:rPr><w:footnoteReference w:id="3"/></w:r>'
    )
    assert docx.texts(body, footnotes=notes) == ["文"]


def test_content_controls_round_blocks(docx):
    body = (
        f"<w:sdt><w:sdtPr/><w:sdtContent>{docx.p('甲')}<w:sdt><w:sdtContent>{docx.p('乙')}</w:sdtContent></w:sdt>"
        f"{docx.table(['一', '二'], ['三', '四'])}</w:sdtContent></w:sdt><w:customXml>{docx.p('丙')}</w:customXml>"
    )
    assert [text.splitlines()[0] for text in docx.texts(body)] == ["甲", "乙", "一 | 二", "丙"]


class TestContentsLists:
    def mark(self, kind: str) -> str:
        return f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>'

    def test_field_over_several_paragraphs_with_its_title(self, docx):
        entry = (
            f'<w:hyperlink w:anchor="_Toc1">{docx.run("第一章 总则")}<w:r><w:tab/></w:r>{docx.run("1")}</w:hyperlink>'
        )
        body = (
            docx.p("目　录")
            + docx.p(
                self.mark("begin")
                + '<w:r><w:instrText> TOC \\o "1-3" \\h </w:instrText></w:r>'
                + self.mark("separate")
                + entry
            )
            + docx.p(docx.run("第二章 待遇"))
            + docx.p(self.mark("end"))
            + docx.p("第一章 总则")
        )
        assert docx.texts(body) == ["第一章 总则"]

    def test_styles(self, docx):
        styles = style("11", "toc 1") + style("T", "TOC Heading")
        body = docx.p("目录", styled("T")) + docx.p("第一章\t1", styled("11")) + docx.p("正文")
        assert docx.texts(body, styles=styles) == ["正文"]

    def test_gallery(self, docx):
        control = (
            '<w:sdt><w:sdtPr><w:docPartObj><w:docPartGallery w:val="Table of Contents"/></w:docPartObj></w:sdtPr>'
            f"<w:sdtContent>{docx.p('目录')}{docx.p('第一章')}</w:sdtContent></w:sdt>"
        )
        assert docx.texts(docx.p("某办法") + control + docx.p("正文")) == ["某办法", "正文"]

    def test_bare_links_to_headings_but_not_references_in_a_sentence(self, docx):
        link = f'<w:hyperlink w:anchor="_Toc2">{docx.run("第二章")}</w:hyperlink>'
        body = docx.p(link + docx.run("……3")) + docx.p(docx.run("按照") + link + docx.run("的规定办理。"))
        assert docx.texts(body) == ["按照第二章的规定办理。"]


def test_header_footer_and_comments_are_no_text(docx):
    members = {
        "word/header1.xml": "<w:hdr xmlns:w='x'/>",
        "word/comments.xml": "<w:comments xmlns:w='x'>批注</w:comments>",
    }
    body = (
        docx.p('<w:commentRangeStart w:id="1"/>' + docx.run("正文"))
        + '<w:sectPr><w:headerReference r:id="r1"/></w:sectPr>'
    )
    assert docx.texts(body, members=members) == ["正文"]


def test_embedded_file_is_a_warning(docx):
    parsed = docx.read(docx.p("甲") + '<w:altChunk r:id="r5"/>')
    assert len(parsed.warnings) == 1
    assert "left out" in parsed.warnings[0]


def test_core_properties(docx):
    core = (
        "<dc:title>某办法</dc:title><dc:creator>某局</dc:creator><cp:keywords/>"
        "<dcterms:created>2024-01-02T03:04:05Z</dcterms:created>"
    )
    parsed = docx.read(docx.p("甲"), core=core)
    assert parsed.properties == {"title": "某办法", "author": "某局", "created": "2024-01-02T03:04:05Z"}


def test_strict_vocabulary(docx):
    body = docx.p("甲", LIST) + docx.table(["一", "二"], ["三", "四"])
    texts = docx.texts(body, strict=True, numbering=NUMBERING)
    assert texts == ["第一条 甲", "一 | 二\n三 | 四"]


def test_document_without_text(docx):
    with pytest.raises(DocumentError) as caught:
        docx.read(docx.p() + docx.p("<w:r><w:drawing/></w:r>"))
    assert caught.value.kind == "NO_TEXT"


def test_document_without_body(docx):
    path = docx.write("", members={"word/document.xml": "<x/>"})
    with pytest.raises(DocumentError) as caught:
        parse_file(path)
    assert caught.value.kind == "TRUNCATED"


def test_styles_in_a_circle_end(docx):
    styles = style("A", "A", more='<w:basedOn w:val="B"/>') + style("B", "B", more='<w:basedOn w:val="A"/>')
    assert docx.texts(docx.p("甲", styled("A")), styles=styles) == ["甲"]
