"""Damaged files of every format give a document or a `DocumentError`, and never the last net's guess at what it was."""

from __future__ import annotations

import io
import os
import random
import re
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.parse.docx import read_docx
from ingest.parse.html import read_html
from ingest.parse.markdown import read_markdown
from ingest.parse.reader import parse_file
from ingest.parse.text import read_text
from orchestrator.errors import DocumentError

DATA = Path(os.environ.get("TRIAS_SHARED_DATA", Path(__file__).parents[4] / "shared" / "data"))
FUZZ = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


def survives(read, path: Path) -> None:
    try:
        outcome = read(path, path.name)
    except DocumentError as error:
        outcome = error
    if isinstance(outcome, DocumentError):
        assert outcome.hint
    else:
        assert [block.index for block in outcome.blocks] == list(range(len(outcome.blocks)))
        assert outcome.blocks


@pytest.fixture
def rich_docx(docx) -> Path:
    """A document with one of everything."""
    numbering = (
        '<w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="chineseCounting"/>'
        '<w:lvlText w:val="第%1条"/></w:lvl></w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
    )
    styles = (
        '<w:style w:type="paragraph" w:styleId="A"><w:name w:val="heading 1"/><w:basedOn w:val="B"/></w:style>'
        '<w:style w:type="paragraph" w:styleId="B"><w:name w:val="B"/><w:rPr><w:sz w:val="32"/></w:rPr></w:style>'
    )
    merged = '<w:tcPr><w:gridSpan w:val="2"/><w:vMerge/></w:tcPr>'
    footnotes = f'<w:footnote w:id="2">{docx.p("释")}</w:footnote>'
    body = (
        docx.p("总则", '<w:pStyle w:val="A"/><w:jc w:val="center"/>')
        + docx.p("甲", '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>')
        + docx.p(docx.run("注") + '<w:r><w:footnoteReference w:id="2"/></w:r>', '<w:rPr><w:del w:id="1"/></w:rPr>')
        + docx.p('<w:r><w:sym w:font="Symbol" w:char="F0B3"/><w:fldChar w:fldCharType="begin"/></w:r>')
        + docx.table(["药", f"<w:tc>{merged}{docx.p('比例')}</w:tc>"], ["一", "二"])
        + f"<w:sdt><w:sdtPr/><w:sdtContent>{docx.p('控')}</w:sdtContent></w:sdt>"
    )
    return docx.write(body, numbering=numbering, styles=styles, footnotes=footnotes)


@FUZZ
@given(data=st.data())
def test_damaged_package(rich_docx, data):
    content = bytearray(rich_docx.read_bytes())
    for _ in range(data.draw(st.integers(0, 20))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.one_of(st.just(len(content)), st.integers(1, len(content))))
    damaged = rich_docx.with_name("damaged.docx")
    damaged.write_bytes(bytes(content[:cut]))
    survives(read_docx, damaged)


@FUZZ
@given(data=st.data())
def test_absurd_but_well_formed_parts(rich_docx, data):
    """Values that no writer makes, elements in places where they do not belong."""
    values = st.sampled_from(["-1", "99999999999999999999", "", "x", "0", "true"])
    changed = io.BytesIO()
    with zipfile.ZipFile(rich_docx) as package, zipfile.ZipFile(changed, "w") as out:
        for name in package.namelist():
            text = package.read(name).decode()
            if name.startswith("word/") and name.endswith(".xml"):
                tokens = re.findall(r"<[^>]+>|[^<]+", text)
                empty = [place for place, token in enumerate(tokens) if token.endswith("/>")]
                for place in data.draw(st.lists(st.sampled_from(empty), max_size=6)) if empty else ():
                    if data.draw(st.booleans()):
                        tokens[place] = re.sub(r'"[^"]*"', lambda _: f'"{data.draw(values)}"', tokens[place])
                    else:
                        tokens[place] = tokens[data.draw(st.sampled_from(empty))]
                text = "".join(tokens)
            out.writestr(name, text)
    damaged = rich_docx.with_name("absurd.docx")
    damaged.write_bytes(changed.getvalue())
    survives(read_docx, damaged)


TAGS = (
    "<table> <tr> <td+rowspan=3> <th+colspan=0> </table> <ol+start=-5> <li> <p> <br> <div+hidden> </div> <h1> "
    "<main> <pre> <script> </script> <!-- --> &#0; 甲 第一条"
)
MARKUP = st.lists(st.sampled_from([tag.replace("+", " ") for tag in TAGS.split(" ")]), max_size=40)
LINES = ["# 题", "---", "| 甲 | 乙 |", "|---|---|", "1. 甲", "- ", "> ", "```", "<table>", "甲  ", "\t乙", "[x]: y"]


@FUZZ
@given(pieces=MARKUP)
def test_tag_soup(tmp_path, pieces):
    path = tmp_path / "soup.html"
    path.write_text("<html><body>" + "".join(pieces), encoding="utf-8")
    survives(read_html, path)


@FUZZ
@given(lines=st.lists(st.sampled_from(LINES), max_size=20))
def test_markdown_soup(tmp_path, lines):
    path = tmp_path / "soup.md"
    path.write_text("\n".join(lines), encoding="utf-8")
    survives(read_markdown, path)


@FUZZ
@given(content=st.binary(min_size=1, max_size=400))
def test_any_bytes_as_text(tmp_path, content):
    path = tmp_path / "any.txt"
    path.write_bytes(content)
    survives(read_text, path)


@pytest.fixture
def plain_pdf(pdf) -> bytes:
    pdf.lines(90, 100, ["第一条　目的。", "第二条　范围。"])
    pdf.grid([90, 200, 300], [200, 220, 240])
    pdf.line(95, 215, "甲")
    return pdf.document.tobytes()


@FUZZ
@given(data=st.data())
def test_damaged_pdf(tmp_path, plain_pdf, data):
    # MuPDF repairs much and has errors of its own on what it cannot: here the last net may catch.
    content = bytearray(plain_pdf)
    for _ in range(data.draw(st.integers(0, 30))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.one_of(st.just(len(content)), st.integers(1, len(content))))
    path = tmp_path / "damaged.pdf"
    path.write_bytes(bytes(content[:cut]))
    survives(lambda file, source: parse_file(file, source=source), path)


@pytest.mark.data
@pytest.mark.parametrize("seed", range(4))
def test_damaged_real_files(tmp_path, seed):
    files = sorted(path for path in (DATA / "legal_dc/docx").glob("*.docx") if path.stat().st_size < 60_000)
    files += sorted(path for path in (DATA / "pdf").glob("*.pdf") if path.stat().st_size < 120_000)
    if not files:
        pytest.skip(f"the shared data are not at {DATA}; name their folder in TRIAS_SHARED_DATA")
    chance = random.Random(seed)  # the same files and the same damage in each run
    for original in chance.sample(files, 12):
        content = bytearray(original.read_bytes())
        for _ in range(chance.choice([0, 1, 10, 100])):
            content[chance.randrange(len(content))] = chance.randrange(256)
        damaged = tmp_path / f"damaged{original.suffix}"
        damaged.write_bytes(bytes(content[: chance.choice([len(content), chance.randrange(1, len(content))])]))
        survives(lambda file, source: parse_file(file, source=source), damaged)
