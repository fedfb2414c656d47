from __future__ import annotations

import pymupdf
import pytest

from ingest.parse.layout import BlockKind
from ingest.parse.pdf import document as document_module
from ingest.parse.reader import parse_file
from orchestrator.errors import DocumentError

PARAGRAPH, HEADING, TITLE, TABLE = BlockKind.PARAGRAPH, BlockKind.HEADING, BlockKind.TITLE, BlockKind.TABLE
LEFT, INDENT, PITCH = 90, 114, 20  # 24 points are two characters of 12 points
WIDE = 35  # characters in a full row: 90 + 35 * 12 = 510
FILLER = "参保人员在定点医疗机构发生的符合规定的住院费用由统筹基金按照规定的比例支付超过限额的部分由个人负担"


def article(label: str, characters: int) -> str:
    return (label + FILLER * 10)[: characters - 1] + "。"


def wrap(text: str) -> list[str]:
    """A paragraph's rows: the first is indented by two characters."""
    return [text[: WIDE - 2], *(text[start : start + WIDE] for start in range(WIDE - 2, len(text), WIDE))]


def draw(pdf, text: str, y: float) -> float:
    """Draw a paragraph; gives where the next one begins."""
    for place, row in enumerate(wrap(text)):
        pdf.line(INDENT if place == 0 else LEFT, y, row)
        y += PITCH
    return y


def texts(parsed) -> list[str]:
    return [block.text for block in parsed.blocks]


def kind_of(path) -> str:
    with pytest.raises(DocumentError) as caught:
        parse_file(path)
    assert str(path) in str(caught.value)
    assert caught.value.hint
    return caught.value.kind


def test_rows_become_paragraphs_with_their_places(pdf):
    paragraphs = [article("第一条　", 100), article("第二条　", 68), article("（一）", 20), article("第三条　", 90)]
    y = 100.0
    for text in paragraphs:
        y = draw(pdf, text, y)
    parsed = pdf.read()
    assert texts(parsed) == paragraphs
    first = parsed.blocks[0]
    assert (first.page, first.kind) == (1, PARAGRAPH)
    assert first.box.x0 == pytest.approx(LEFT, abs=1)
    assert first.box.y1 < parsed.blocks[1].box.y0 + 5


def test_reference_at_a_rows_start_is_no_new_paragraph(pdf):
    head = (article("第九条　", 200)[: WIDE - 2 - 4]) + "依照本法"  # fills the first row
    text = head + "第十二条的规定办理，" + FILLER[:20] + "。"
    assert wrap(text)[1].startswith("第十二条的规定")
    y = draw(pdf, text, 100)
    draw(pdf, article("第十条　", 80), y)
    assert texts(pdf.read()) == [text, article("第十条　", 80)]


def test_indent_parts_paragraphs_where_the_last_row_is_full(pdf):
    full = article("", WIDE * 2 - 2)  # its last row ends at the column's edge
    y = draw(pdf, full, 100)
    draw(pdf, article("", 80), y)
    assert texts(pdf.read()) == [full, article("", 80)]


def test_hanging_item_is_one_paragraph(pdf):
    rows = ["1. " + FILLER[:33], FILLER[:33], "到此为止。"]
    for item in range(2):
        for place, row in enumerate(rows):
            pdf.line(LEFT if place == 0 else LEFT + 18, 100 + (3 * item + place) * PITCH, row)
    assert texts(pdf.read()) == ["".join(rows)] * 2


def test_paragraph_goes_on_over_pages_and_furniture_is_dropped(pdf):
    paragraphs = [article("第一条　", 90), article("第二条　", 170), article("第三条　", 60)]
    rows = [(place == 0, row) for text in paragraphs for place, row in enumerate(wrap(text))]
    pages = [rows[:5], rows[5:8], rows[8:]]
    for number, page in enumerate(pages, start=1):
        if number > 1:
            pdf.new_page()
        pdf.line(200, 50, "某省医疗保障办法", 9)
        pdf.line(290, 800, f"— {number} —", 9)
        for place, (is_first, row) in enumerate(page):
            pdf.line(INDENT if is_first else LEFT, 120 + place * PITCH, row)
    parsed = pdf.read()
    assert texts(parsed) == paragraphs
    assert [block.page for block in parsed.blocks] == [1, 1, 3]
    assert parsed.blocks[1].box.y1 < 300  # the first part only


def test_bare_page_numbers_and_changing_headers(pdf):
    for number in range(1, 6):
        if number > 1:
            pdf.new_page()
        pdf.line(250, 50, "第一章" if number < 3 else "第二章", 9)
        pdf.line(290, 800, str(number + 6), 9)
        draw(pdf, article(f"第{'一二三四五'[number - 1]}条　", 50), 150)
    shown = texts(pdf.read())
    assert [text for text in shown if text[:1].isdigit()] == []
    assert shown.count("第二章") == 0
    assert shown.count("第一章") == 2  # on two pages of five it may as well be text


def test_number_that_belongs_to_the_text_stays(pdf):
    pdf.line(100, 60, "2024")
    draw(pdf, article("第一条　", 80), 150)
    assert "2024" in texts(pdf.read())[0]


def test_title_and_headings(pdf):
    pdf.line(157, 100, "某省医疗保障基金使用办法", 22)
    pdf.line(252, 150, "第一章　总则", 15)
    draw(pdf, article("第一条　", 80), 200)
    pdf.line(252, 300, "第二章　待遇", 15)
    draw(pdf, article("第二条　", 80), 350)
    parsed = pdf.read()
    assert [(block.kind, block.level) for block in parsed.blocks] == [
        (TITLE, 0),
        (HEADING, 1),
        (PARAGRAPH, 0),
        (HEADING, 1),
        (PARAGRAPH, 0),
    ]
    assert parsed.blocks[0].centered


def test_two_columns_below_a_heading_that_spans_them(pdf):
    pdf.line(200, 80, "某省医疗保障公报第一期目的", 16)
    left = [FILLER[start : start + 16] for start in range(0, 48, 16)] + ["左栏到此为止。"]
    right = ["右栏" + FILLER[start : start + 14] for start in range(0, 42, 14)] + ["右栏到此为止。"]
    pdf.lines(90, 130, left)
    pdf.lines(310, 130, right)
    shown = texts(pdf.read())
    assert shown == ["某省医疗保障公报第一期目的", "".join(left), "".join(right)]


def test_table_with_merged_cells_is_not_text_as_well(pdf):
    draw(pdf, article("第一条　", 60), 100)
    xs, ys = [90, 210, 330, 450], [200, 225, 250, 275]
    pdf.grid([90, 210, 330, 450], ys)
    for row, y in enumerate(ys[:-1]):
        for column, x in enumerate(xs[:-1]):
            pdf.line(x + 5, y + 17, f"{'级职居'[column]}{row}")
    draw(pdf, article("第二条　", 60), 320)
    parsed = pdf.read()
    assert [block.kind for block in parsed.blocks] == [PARAGRAPH, TABLE, PARAGRAPH]
    table = parsed.blocks[1]
    assert table.table.headers == ("级0", "职0", "居0")
    assert table.table.rows == (("级1", "职1", "居1"), ("级2", "职2", "居2"))
    assert table.text.splitlines()[0] == "级0 | 职0 | 居0"
    assert table.box.y0 == pytest.approx(200, abs=2)


def test_merged_cells(pdf):
    draw(pdf, article("第一条　", 60), 100)
    page = pdf.page
    for x in (90, 450):
        page.draw_line((x, 200), (x, 275))
    page.draw_line((210, 200), (210, 275))
    page.draw_line((330, 225), (330, 275))
    for y in (200, 275):
        page.draw_line((90, y), (450, y))
    page.draw_line((210, 225), (450, 225))
    page.draw_line((90, 250), (450, 250))
    pdf.line(95, 228, "级别")
    pdf.line(300, 217, "比例")
    for x, y, text in [(215, 242, "职工"), (335, 242, "居民"), (95, 267, "三级"), (215, 267, "85%"), (335, 267, "60%")]:
        pdf.line(x, y, text)
    table = next(block for block in pdf.read().blocks if block.kind is TABLE)
    assert table.table.headers == ("级别", "比例", "比例")
    assert table.table.rows == (("级别", "职工", "居民"), ("三级", "85%", "60%"))


def test_paragraph_cut_by_a_table_runs_on(pdf):
    rows = wrap(article("第一条　", 200))
    for place, row in enumerate(rows[:3]):
        pdf.line(INDENT if place == 0 else LEFT, 100 + place * PITCH, row)
    pdf.grid([90, 300, 510], [180, 205, 230])
    for x, y in [(95, 197), (305, 197), (95, 222), (305, 222)]:
        pdf.line(x, y, f"格{x}")
    pdf.lines(LEFT, 270, rows[3:])
    blocks = pdf.read().blocks
    assert [(block.kind, block.runs_on) for block in blocks] == [(PARAGRAPH, True), (TABLE, False), (PARAGRAPH, False)]


def test_footnote(pdf):
    y = draw(pdf, article("第一条　", 100), 100)
    y = draw(pdf, article("第二条　", 100), y)
    pdf.line(LEFT, 700, "① 本办法所称三级医院以卫生健康部门的评审为准。", 9)
    pdf.line(LEFT, 714, "② 含中医医院。", 9)
    pdf.new_page()
    draw(pdf, article("第三条　", 100), 100)
    found = [(block.kind, block.text[:3]) for block in pdf.read().blocks]
    note = BlockKind.FOOTNOTE
    assert found == [
        (PARAGRAPH, "第一条"),
        (PARAGRAPH, "第二条"),
        (note, "① 本"),
        (note, "② 含"),
        (PARAGRAPH, "第三条"),
    ]


@pytest.mark.parametrize("rotation", [90, 180, 270])
def test_rotated_page_reads_like_any_other(pdf, rotation):
    paragraphs = [article("第一条　", 100), article("第二条　", 60)]
    y = 100.0
    for text in paragraphs:
        y = draw(pdf, text, y)
    upright = pdf.read().blocks[0].box
    pdf.page.set_rotation(rotation)
    parsed = pdf.read()
    assert texts(parsed) == paragraphs
    box = parsed.blocks[0].box
    sides = sorted([round(box.x1 - box.x0), round(box.y1 - box.y0)])
    assert sides == sorted([round(upright.x1 - upright.x0), round(upright.y1 - upright.y0)])
    assert (box.y1 - box.y0 > box.x1 - box.x0) == (rotation in {90, 270})


def test_page_typeset_sideways(pdf):
    rows = ["第一条　" + FILLER[:26], FILLER[:30], "到此为止。", "第二条　" + FILLER[:20] + "。"]
    for place, row in enumerate(rows):
        pdf.line(100 + place * PITCH, 700, row, rotate=90)
    parsed = pdf.read()
    assert texts(parsed) == ["".join(rows[:3]), rows[3]]
    assert parsed.blocks[0].box.y1 == pytest.approx(700, abs=5)


def test_watermark_is_left_out(pdf):
    draw(pdf, article("第一条　", 100), 100)
    where = pymupdf.Point(200, 400)
    pdf.page.insert_text(where, "INTERNAL USE", fontsize=40, morph=(where, pymupdf.Matrix(45)))
    parsed = pdf.read()
    assert texts(parsed) == [article("第一条　", 100)]
    assert "watermark" in parsed.warnings[0]


def test_text_drawn_twice_is_read_once(pdf):
    pdf.line(90, 100, "第一条　目的。")
    pdf.line(90.3, 100, "第一条　目的。")
    assert texts(pdf.read()) == ["第一条　目的。"]


def test_latin_text(pdf):
    pdf.lines(
        90, 100, ["Article 1 The fund pays inpatient expenses of insured per-", "sons at the rate set by the city."]
    )
    assert texts(pdf.read()) == [
        "Article 1 The fund pays inpatient expenses of insured persons at the rate set by the city."
    ]


def test_properties(pdf):
    pdf.line(90, 100, "第一条")
    pdf.document.set_metadata({"title": "某办法", "author": "某局", "creationDate": "D:20240102030405+08'00'"})
    properties = pdf.read().properties
    assert properties == {"title": "某办法", "author": "某局", "created": "2024-01-02T03:04:05+08:00"}


class TestRefused:
    def test_encrypted(self, pdf):
        pdf.line(90, 100, "第一条")
        path = pdf.save(encryption=pymupdf.PDF_ENCRYPT_AES_256, owner_pw="o", user_pw="u")
        assert kind_of(path) == "ENCRYPTED"

    def test_owner_password_only_may_be_read(self, pdf):
        pdf.line(90, 100, "第一条")
        path = pdf.save(encryption=pymupdf.PDF_ENCRYPT_AES_256, owner_pw="o", user_pw="")
        assert texts(parse_file(path)) == ["第一条"]

    def picture(self, pdf):
        pixmap = pymupdf.Pixmap(pymupdf.csRGB, pymupdf.IRect(0, 0, 50, 50))
        pixmap.clear_with(200)
        pdf.page.insert_image(pymupdf.Rect(0, 0, 595, 842), pixmap=pixmap)

    def test_scan(self, pdf):
        self.picture(pdf)
        path = pdf.save()
        assert kind_of(path) == "NO_TEXT"
        with pytest.raises(DocumentError, match="OCR"):
            parse_file(path)

    def test_scanned_page_among_others_is_a_warning(self, pdf):
        pdf.line(90, 100, "第一条")
        pdf.new_page()
        self.picture(pdf)
        pdf.new_page()  # blank, nothing is lost
        parsed = pdf.read()
        assert texts(parsed) == ["第一条"]
        assert parsed.warnings == ("Without a text layer, left out until OCR: page 2.",)

    def test_too_many_pages(self, pdf, monkeypatch):
        monkeypatch.setattr(document_module, "MAX_PAGES", 2)
        for _ in range(3):
            pdf.new_page()
        assert kind_of(pdf.save()) == "TOO_LARGE"

    def test_no_pdf_behind_the_mark(self, write):
        assert kind_of(write("a.pdf", b"%PDF-1.7\nnothing follows")) in {"TRUNCATED", "NO_TEXT"}

    def test_nothing_on_stderr(self, write, capfd):
        kind_of(
            write("a.pdf", b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\ntrailer << /Root 1 0 R >>")
        )
        assert capfd.readouterr() == ("", "")
