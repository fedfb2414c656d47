from __future__ import annotations

from ingest.parse.layout import BlockKind


def cell(docx, content, properties=""):
    inner = content if content.startswith("<") else docx.p(content)
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{inner}</w:tc>"


HEADER = "<w:trPr><w:tblHeader/></w:trPr>"
SPAN = '<w:gridSpan w:val="2"/>'
DOWN, GOES_ON = '<w:vMerge w:val="restart"/>', "<w:vMerge/>"


def test_table_in_its_place(docx):
    table = docx.table(["药品", "比例"], ["甲类", "90%"], ["乙类", "80%"])
    before, block, after = docx.read(docx.p("前") + table + docx.p("后")).blocks
    assert (before.text, after.text, block.kind, block.index) == ("前", "后", BlockKind.TABLE, 1)
    assert block.text == "药品 | 比例\n甲类 | 90%\n乙类 | 80%"
    assert block.table.headers == ("药品", "比例")
    assert block.table.rows == (("甲类", "90%"), ("乙类", "80%"))


def test_merged_cells_are_repeated_where_they_cover(docx):
    table = docx.table(
        [cell(docx, "级别", DOWN), cell(docx, "比例", SPAN)],
        [cell(docx, "", GOES_ON), cell(docx, "职工"), cell(docx, "居民")],
        [cell(docx, "三级", DOWN), cell(docx, "85%"), cell(docx, "60%")],
        [cell(docx, "", GOES_ON), cell(docx, "另定", SPAN)],
    )
    (block,) = docx.read(table).blocks
    assert block.table.headers == ("级别", "比例", "比例")
    assert block.table.rows == (("级别", "职工", "居民"), ("三级", "85%", "60%"), ("三级", "另定", "另定"))
    assert block.text.splitlines()[0] == "级别 | 比例"


def test_several_header_rows(docx):
    rows = [
        f"<w:tr>{HEADER}{cell(docx, '级别', DOWN)}{cell(docx, '比例', SPAN)}</w:tr>",
        f"<w:tr>{HEADER}{cell(docx, '', GOES_ON)}{cell(docx, '职工')}{cell(docx, '居民')}</w:tr>",
        f"<w:tr>{cell(docx, '三级')}{cell(docx, '85%')}{cell(docx, '60%')}</w:tr>",
    ]
    (block,) = docx.read(f"<w:tbl>{''.join(rows)}</w:tbl>").blocks
    assert block.table.headers == ("级别", "比例 职工", "比例 居民")
    assert block.table.rows == (("三级", "85%", "60%"),)


def test_tracked_rows_and_cells(docx):
    removed = '<w:cellDel w:id="3"/>'
    rows = (
        f"<w:tr>{cell(docx, '甲')}{cell(docx, '乙')}</w:tr>"
        f"<w:tr><w:trPr><w:del w:id='1'/></w:trPr>{cell(docx, '删')}{cell(docx, '删')}</w:tr>"
        f"<w:tr><w:trPr><w:ins w:id='2'/></w:trPr>{cell(docx, '增')}{cell(docx, '除', removed)}</w:tr>"
    )
    (block,) = docx.read(f"<w:tbl>{rows}</w:tbl>").blocks
    assert block.table.headers == ("甲", "乙")
    assert block.table.rows == (("增", ""),)


def test_shifted_row_and_older_merge(docx):
    begins = '<w:hMerge w:val="restart"/>'
    rows = (
        f"<w:tr>{cell(docx, '一')}{cell(docx, '二')}{cell(docx, '三')}</w:tr>"
        f'<w:tr><w:trPr><w:gridBefore w:val="1"/></w:trPr>{cell(docx, "乙")}{cell(docx, "丙")}</w:tr>'
        f"<w:tr>{cell(docx, '并', begins)}{cell(docx, '', '<w:hMerge/>')}{cell(docx, '丁')}</w:tr>"
    )
    (block,) = docx.read(f"<w:tbl>{rows}</w:tbl>").blocks
    assert block.table.rows == (("", "乙", "丙"), ("并", "并", "丁"))


def test_nested_table_stands_in_its_cell(docx):
    inner = docx.table(["子一", "子二"], ["1", "2"])
    table = docx.table(["项目", "明细"], ["甲", f"<w:tc>{docx.p('如下')}{inner}{docx.p()}</w:tc>"])
    (block,) = docx.read(table).blocks
    assert block.table.rows == (("甲", "如下\n子一 | 子二\n1 | 2"),)
    assert block.text.count("子一") == 1


def test_controls_round_rows_and_cells(docx):
    row = f"<w:sdt><w:sdtContent><w:tr>{cell(docx, '甲')}{cell(docx, '乙')}</w:tr></w:sdtContent></w:sdt>"
    held = f"<w:tr><w:sdt><w:sdtContent>{cell(docx, '丙')}</w:sdtContent></w:sdt>{cell(docx, '丁')}</w:tr>"
    (block,) = docx.read(f"<w:tbl>{row}{held}</w:tbl>").blocks
    assert (block.table.headers, block.table.rows) == (("甲", "乙"), (("丙", "丁"),))


def test_one_cell_is_a_frame_not_a_table(docx):
    body = docx.table([f"<w:tc>{docx.p('第一条 目的')}{docx.p('第二条 范围')}</w:tc>"])
    blocks = docx.read(body).blocks
    assert [(block.kind, block.text) for block in blocks] == [
        (BlockKind.PARAGRAPH, "第一条 目的"),
        (BlockKind.PARAGRAPH, "第二条 范围"),
    ]


def test_empty_table_is_left_out(docx):
    assert docx.texts(docx.p("文") + docx.table(["", ""], ["", ""])) == ["文"]


def test_absurd_spans_are_bounded(docx):
    table = docx.table([cell(docx, "宽", '<w:gridSpan w:val="2000000000"/>'), "乙"], ["丙", "丁"])
    (block,) = docx.read(table).blocks
    assert len(block.table.headers) < 100


def test_footnote_in_a_cell_follows_the_table(docx):
    notes = f'<w:footnote w:id="2">{docx.p("按年度。")}</w:footnote>'
    marked = f"<w:tc>{docx.p(docx.run('85%') + '<w:r><w:footnoteReference w:id=#2#/></w:r>')}</w:tc>".replace("#", '"')
    table, note = docx.read(docx.table(["甲", marked], ["乙", "丙"]), footnotes=notes).blocks
    assert table.table.headers == ("甲", "85%")
    assert (note.kind, note.text) == (BlockKind.FOOTNOTE, "按年度。")
