from __future__ import annotations

import pytest

CHOICES = '<w:result w:val="1"/><w:listEntry w:val="甲"/><w:listEntry w:val="乙"/>'


def field(instruction: str, result: str | None, begin: str = "") -> str:
    def mark(kind: str, inner: str = "") -> str:
        return f'<w:r><w:fldChar w:fldCharType="{kind}">{inner}</w:fldChar></w:r>'

    shown = "" if result is None else f"{mark('separate')}<w:r><w:t>{result}</w:t></w:r>"
    return f"{mark('begin', begin)}<w:r><w:instrText>{instruction}</w:instrText></w:r>{shown}{mark('end')}"


def test_runs_are_joined_and_blanks_kept_as_word_keeps_them(docx):
    body = docx.p(
        '<w:r><w:t>参保</w:t></w:r><w:r><w:t xml:space="preserve"> 人员 </w:t></w:r><w:r><w:t>  的待遇 </w:t></w:r>'
    )
    assert docx.texts(body) == ["参保 人员 的待遇"]


@pytest.mark.parametrize(
    ("element", "shown"),
    [
        ("<w:tab/>", "\t"),
        ("<w:br/>", "\n"),
        ("<w:cr/>", "\n"),
        ("<w:noBreakHyphen/>", "-"),
        ("<w:softHyphen/>", ""),
        ('<w:sym w:font="Wingdings" w:char="F0FE"/>', "☑"),
        ('<w:sym w:font="Symbol" w:char="F0B3"/>', "≥"),
        ('<w:sym w:font="Segoe UI Symbol" w:char="2611"/>', "☑"),
        ('<w:sym w:font="SomeFont" w:char="F041"/>', "□"),
        ('<w:sym w:font="Wingdings" w:char="zz"/>', ""),
        ("<w:t>软\u00ad连</w:t>", "软连"),
        ("<w:t>甲\n乙</w:t>", "甲 乙"),
        ('<w:rPr><w:rFonts w:ascii="Wingdings"/></w:rPr><w:t>\uf0fe</w:t>', "☑"),
        ("<w:t>\uf0fe</w:t>", "□"),
        ("<w:lastRenderedPageBreak/>", ""),
        ("<w:commentReference w:id='1'/>", ""),
    ],
)
def test_special_characters(docx, element, shown):
    assert docx.texts(docx.p(f"<w:r><w:t>前</w:t>{element}<w:t>后</w:t></w:r>")) == [f"前{shown}后"]


def test_tracked_changes_give_the_final_text(docx):
    body = docx.p(
        docx.run("报销比例为")
        + '<w:del w:id="1"><w:r><w:delText>50%</w:delText></w:r></w:del>'
        + f'<w:ins w:id="2">{docx.run("70%")}<w:del w:id="3"><w:r><w:delText>75%</w:delText></w:r></w:del></w:ins>'
        + f'<w:moveFrom w:id="4">{docx.run("旧处")}</w:moveFrom>'
        + f'<w:moveTo w:id="5">{docx.run("，按年度计算")}</w:moveTo>'
        + docx.run("。", "<w:rPrChange w:id='6'><w:rPr><w:vanish/></w:rPr></w:rPrChange>")
    )
    assert docx.texts(body) == ["报销比例为70%，按年度计算。"]


def test_hidden_text_by_run_style_and_toggle(docx):
    styles = (
        '<w:style w:type="character" w:styleId="H"><w:name w:val="H"/><w:rPr><w:vanish/></w:rPr></w:style>'
        '<w:style w:type="character" w:styleId="H2"><w:name w:val="H2"/><w:basedOn w:val="H"/></w:style>'
        '<w:style w:type="paragraph" w:styleId="P"><w:name w:val="P"/><w:rPr><w:vanish/></w:rPr></w:style>'
    )
    body = docx.p(
        docx.run("一")
        + docx.run("直接", "<w:vanish/>")
        + docx.run("样式", '<w:rStyle w:val="H2"/>')
        + docx.run("二", '<w:rStyle w:val="H"/><w:vanish w:val="0"/>')
    )
    hidden_paragraph = docx.p(
        docx.run("全隐") + docx.run("两次即不隐", '<w:rStyle w:val="H"/>'),
        '<w:pStyle w:val="P"/><w:rPr><w:vanish w:val="0"/></w:rPr>',
    )
    assert docx.texts(body + hidden_paragraph, styles=styles) == ["一二", "两次即不隐"]


def test_fields_show_results_not_instructions(docx):
    body = docx.p(
        docx.run("见第")
        + field(" REF _Ref1 \\h ", "五")
        + docx.run("条")
        + '<w:fldSimple w:instr=" DATE "><w:r><w:t>2024年</w:t></w:r></w:fldSimple>'
    )
    assert docx.texts(body) == ["见第五条2024年"]


def test_nested_field_in_an_instruction_is_not_shown(docx):
    inner = field(" MERGEFIELD x ", "内")
    body = docx.p(
        '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText> IF </w:instrText></w:r>'
        + inner
        + '<w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>结果</w:t></w:r>'
        + '<w:r><w:fldChar w:fldCharType="end"/></w:r>'
    )
    assert docx.texts(body) == ["结果"]


@pytest.mark.parametrize(
    ("instruction", "begin", "shown"),
    [
        (r" eq \o\ac(○,3) ", "", "③"),
        (r" EQ \o\ac(○,一) ", "", "㊀"),
        (r" EQ \o\ac(○,25) ", "", "○25"),
        (r" EQ \f(3,4) ", "", "3/4"),
        (" FORMCHECKBOX ", "<w:ffData><w:checkBox><w:checked/></w:checkBox></w:ffData>", "☑"),
        (" FORMCHECKBOX ", '<w:ffData><w:checkBox><w:default w:val="0"/></w:checkBox></w:ffData>', "☐"),
        (
            " FORMDROPDOWN ",
            f"<w:ffData><w:ddList>{CHOICES}</w:ddList></w:ffData>",
            "乙",
        ),
        (" XE 索引 ", "", ""),
    ],
)
def test_fields_without_a_stored_result(docx, instruction, begin, shown):
    body = docx.p(docx.run("前") + field(instruction, None, begin) + docx.run("后"))
    assert docx.texts(body) == [f"前{shown}后"]


def test_field_that_never_ends_swallows_nothing(docx):
    body = docx.p('<w:r><w:fldChar w:fldCharType="begin"/></w:r>' + docx.run("第一条")) + docx.p("第二条")
    stray = docx.p('<w:r><w:fldChar w:fldCharType="end"/></w:r>' + docx.run("第三条"))
    assert docx.texts(body) == ["第一条", "第二条"]
    assert docx.texts(stray) == ["第三条"]


def test_ruby_gives_its_base_once(docx):
    ruby = (
        "<w:r><w:ruby><w:rubyPr/><w:rt><w:r><w:t>yī</w:t></w:r></w:rt>"
        "<w:rubyBase><w:r><w:t>医</w:t></w:r></w:rubyBase></w:ruby></w:r>"
    )
    assert docx.texts(docx.p(ruby + docx.run("保"))) == ["医保"]


def test_wrappers_are_read_through(docx):
    body = docx.p(
        f'<w:hyperlink r:id="r9">{docx.run("链接")}</w:hyperlink><w:smartTag>{docx.run("标记")}</w:smartTag>'
        f"<w:sdt><w:sdtPr/><w:sdtContent>{docx.run('控件')}</w:sdtContent></w:sdt><w:bdo>{docx.run('方向')}</w:bdo>"
    )
    assert docx.texts(body) == ["链接标记控件方向"]


def test_prompt_of_an_empty_content_control_is_no_text(docx):
    body = docx.p(
        docx.run("名称：")
        + f"<w:sdt><w:sdtPr><w:showingPlcHdr/></w:sdtPr><w:sdtContent>{docx.run('点击输入')}</w:sdtContent></w:sdt>"
    )
    assert docx.texts(body) == ["名称："]


def test_formula_in_one_line(docx):
    formula = (
        "<m:oMath><m:r><m:t>x=</m:t></m:r><m:f><m:num><m:r><m:t>a+b</m:t></m:r></m:num>"
        "<m:den><m:r><m:t>2</m:t></m:r></m:den></m:f><m:sSup><m:e><m:r><m:t>r</m:t></m:r></m:e>"
        "<m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup><m:d><m:e><m:r><m:t>c</m:t></m:r></m:e></m:d>"
        "<m:rad><m:deg/><m:e><m:r><m:t>n</m:t></m:r></m:e></m:rad></m:oMath>"
    )
    assert docx.texts(docx.p(docx.run("按") + formula + docx.run("计算"))) == ["按x=(a+b)/2r^2(c)√n计算"]
