from __future__ import annotations

import pytest


def level(place: int, text: str, number_format: str = "decimal", *, start: int | None = 1, more: str = "") -> str:
    begin = "" if start is None else f'<w:start w:val="{start}"/>'
    return (
        f'<w:lvl w:ilvl="{place}">{begin}<w:numFmt w:val="{number_format}"/>{more}<w:lvlText w:val="{text}"/></w:lvl>'
    )


def abstract(*levels: str, number: int = 0, more: str = "") -> str:
    return f'<w:abstractNum w:abstractNumId="{number}">{more}{"".join(levels)}</w:abstractNum>'


def num(number: int, of: int = 0, overrides: str = "") -> str:
    return f'<w:num w:numId="{number}"><w:abstractNumId w:val="{of}"/>{overrides}</w:num>'


def listed(number: int = 1, place: int = 0) -> str:
    return f'<w:numPr><w:ilvl w:val="{place}"/><w:numId w:val="{number}"/></w:numPr>'


def test_label_is_in_text_and_named(docx):
    numbering = abstract(level(0, "第%1条", "chineseCountingThousand")) + num(1)
    first, second = docx.read(docx.p("目的", listed()) + docx.p("范围", listed()), numbering=numbering).blocks
    assert (first.text, first.numbering) == ("第一条 目的", "第一条")
    assert (second.text, second.numbering) == ("第二条 范围", "第二条")


@pytest.mark.parametrize(("suffix", "expected"), [("tab", "1. 甲"), ("space", "1. 甲"), ("nothing", "1.甲")])
def test_suffix(docx, suffix, expected):
    numbering = abstract(level(0, "%1.", more=f'<w:suff w:val="{suffix}"/>')) + num(1)
    assert docx.texts(docx.p("甲", listed()), numbering=numbering) == [expected]


def test_label_that_ends_in_a_blank_gets_no_second_one(docx):
    numbering = abstract(level(0, "第%1章　", "chineseCounting")) + num(1)
    assert docx.texts(docx.p("总则", listed()), numbering=numbering) == ["第一章　总则"]


def test_levels_restart_and_compose(docx):
    numbering = abstract(level(0, "%1."), level(1, "%1.%2"), level(2, "%1.%2.%3")) + num(1)
    places = [0, 1, 1, 2, 0, 1, 2]
    body = "".join(docx.p("x", listed(place=place)) for place in places)
    assert [text.split()[0] for text in docx.texts(body, numbering=numbering)] == [
        "1.", "1.1", "1.2", "1.2.1", "2.", "2.1", "2.1.1",
    ]  # fmt: skip


def test_level_that_never_restarts(docx):
    numbering = abstract(
        level(0, "第%1章", "chineseCounting"), level(1, "第%2条", "chineseCounting", more='<w:lvlRestart w:val="0"/>')
    ) + num(1)
    body = "".join(docx.p("", listed(place=place)) for place in [0, 1, 1, 0, 1])
    assert docx.texts(body, numbering=numbering) == ["第一章", "第一条", "第二条", "第二章", "第三条"]


def test_level_that_restarts_after_a_given_level_only(docx):
    numbering = abstract(level(0, "%1"), level(1, "%2"), level(2, "%3", more='<w:lvlRestart w:val="1"/>')) + num(1)
    body = "".join(docx.p("", listed(place=place)) for place in [0, 1, 2, 1, 2, 0, 2])
    assert docx.texts(body, numbering=numbering) == ["1", "1", "1", "2", "2", "2", "1"]


def test_unused_outer_level_shows_its_start(docx):
    numbering = abstract(level(0, "%1."), level(1, "%1.%2")) + num(1)
    body = docx.p("", listed(place=1)) + docx.p("", listed(place=0))
    assert docx.texts(body, numbering=numbering) == ["1.1", "1."]


def test_lists_of_one_abstract_go_on_and_start_override_counts_anew_once(docx):
    override = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride>'
    numbering = abstract(level(0, "%1.")) + num(1) + num(2) + num(3, overrides=override)
    body = "".join(docx.p("", listed(number)) for number in [1, 1, 2, 3, 3, 1])
    assert docx.texts(body, numbering=numbering) == ["1.", "2.", "3.", "1.", "2.", "3."]


def test_override_replaces_a_level(docx):
    override = f'<w:lvlOverride w:ilvl="0">{level(0, "（%1）", "chineseCounting", start=4)}</w:lvlOverride>'
    numbering = abstract(level(0, "%1.")) + num(1, overrides=override)
    assert docx.texts(docx.p("甲", listed()), numbering=numbering) == ["（四） 甲"]


def test_missing_start_is_zero(docx):
    numbering = abstract(level(0, "%1.", start=None)) + num(1)
    assert docx.texts(docx.p("", listed()), numbering=numbering) == ["0."]


def test_legal_level_shows_digits(docx):
    numbering = abstract(
        level(0, "第%1章", "chineseCounting"), level(1, "%1.%2", "chineseCounting", more="<w:isLgl/>")
    ) + num(1)
    body = docx.p("", listed(place=0)) + docx.p("", listed(place=1))
    assert docx.texts(body, numbering=numbering) == ["第一章", "1.1"]


def test_bullets(docx):
    symbol = '<w:rPr><w:rFonts w:ascii="Symbol"/></w:rPr>'
    bullet = f'<w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/><w:lvlText w:val="&#xF0B7;"/>{symbol}</w:lvl>'
    bare = '<w:lvl w:ilvl="0"><w:numFmt w:val="none"/><w:lvlText w:val=""/></w:lvl>'
    numbering = abstract(bullet) + abstract(bare, number=1) + num(1) + num(2, of=1)
    first, second = docx.read(docx.p("甲", listed(1)) + docx.p("乙", listed(2)), numbering=numbering).blocks
    assert (first.text, first.numbering) == ("• 甲", "•")
    assert (second.text, second.numbering) == ("乙", "")


def test_hidden_label_counts_unseen(docx):
    numbering = abstract(level(0, "%1.", more=""), level(1, "%2)", more="<w:rPr><w:vanish/></w:rPr>")) + num(1)
    assert docx.texts(docx.p("甲", listed(place=1)), numbering=numbering) == ["甲"]


def test_numbering_by_style_and_inheritance(docx):
    styles = (
        '<w:style w:type="paragraph" w:styleId="Article"><w:name w:val="Article"/><w:pPr><w:numPr>'
        '<w:numId w:val="1"/></w:numPr></w:pPr></w:style>'
        '<w:style w:type="paragraph" w:styleId="Special"><w:name w:val="Special"/><w:basedOn w:val="Article"/>'
        "</w:style>"
        '<w:style w:type="paragraph" w:styleId="Chapter"><w:name w:val="Chapter"/><w:pPr><w:numPr>'
        '<w:numId w:val="1"/></w:numPr></w:pPr></w:style>'
    )
    numbering = abstract(
        level(0, "第%1章", "chineseCounting", more='<w:pStyle w:val="Chapter"/>'),
        level(1, "第%2条", "chineseCounting", more='<w:lvlRestart w:val="0"/><w:pStyle w:val="Article"/>'),
    ) + num(1)
    body = "".join(
        docx.p("x", f'<w:pStyle w:val="{style}"/>') for style in ["Chapter", "Article", "Special", "Chapter"]
    )
    texts = docx.texts(body, styles=styles, numbering=numbering)
    assert texts == ["第一章 x", "第一条 x", "第二条 x", "第二章 x"]


def test_num_id_zero_takes_a_paragraph_out_of_its_styles_list(docx):
    styles = (
        '<w:style w:type="paragraph" w:styleId="A"><w:name w:val="A"/><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr>'
        "</w:pPr></w:style>"
    )
    numbering = abstract(level(0, "%1.")) + num(1)
    body = docx.p("甲", '<w:pStyle w:val="A"/><w:numPr><w:numId w:val="0"/></w:numPr>')
    assert docx.texts(body + docx.p("乙", '<w:pStyle w:val="A"/>'), styles=styles, numbering=numbering) == [
        "甲",
        "1. 乙",
    ]


def test_numbering_style_link(docx):
    styles = (
        '<w:style w:type="numbering" w:styleId="L"><w:name w:val="L"/><w:pPr><w:numPr><w:numId w:val="2"/></w:numPr>'
        "</w:pPr></w:style>"
    )
    numbering = (
        abstract(number=0, more='<w:numStyleLink w:val="L"/>')
        + abstract(level(0, "（%1）", "chineseCounting"), number=1, more='<w:styleLink w:val="L"/>')
        + num(1, of=0)
        + num(2, of=1)
    )
    assert docx.texts(docx.p("甲", listed(1)), styles=styles, numbering=numbering) == ["（一） 甲"]


def test_links_in_a_circle_and_unknown_lists_are_no_labels(docx):
    styles = (
        '<w:style w:type="numbering" w:styleId="L"><w:name w:val="L"/><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr>'
        "</w:pPr></w:style>"
    )
    numbering = abstract(number=0, more='<w:numStyleLink w:val="L"/>') + num(1)
    body = docx.p("甲", listed(1)) + docx.p("乙", listed(77))
    assert docx.texts(body, styles=styles, numbering=numbering) == ["甲", "乙"]


def test_custom_format_in_an_alternative(docx):
    custom = (
        '<w:lvl w:ilvl="0"><w:start w:val="1"/><mc:AlternateContent><mc:Choice Requires="w14">'
        '<w:numFmt w:val="custom" w:format="01, 02, 03, ..."/></mc:Choice><mc:Fallback><w:numFmt w:val="decimal"/>'
        '</mc:Fallback></mc:AlternateContent><w:lvlText w:val="%1"/></w:lvl>'
    )
    assert docx.texts(docx.p("甲", listed()), numbering=abstract(custom) + num(1)) == ["01 甲"]
