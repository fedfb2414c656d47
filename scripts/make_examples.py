"""Makes the sample documents in examples/documents from the source texts in scripts/examples: docx, PDF and Markdown.

A source text is a header (``format``, ``title``, ``number``, …), a line ``---``, and lines of these kinds:
``# `` heading, ``* `` automatically numbered article, ``- `` item, ``> `` plain paragraph, ``= `` signature,
``| … |`` table row (``^`` merges with the cell above, ``<`` with the one to the left), ``caption:``, ``appendix:``,
``[^1]:`` footnote, anything else a paragraph. Markdown sources are taken as they are. The same sources always give the
same bytes.
"""

from __future__ import annotations

import argparse
import io
import re
import sys
import zipfile
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import docx
import pymupdf as untyped_pymupdf
from docx.document import Document as WordDocument
from docx.enum.text import WD_ALIGN_PARAGRAPH
from docx.opc.constants import CONTENT_TYPE, RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls, qn
from docx.shared import Pt
from docx.text.paragraph import Paragraph

pymupdf: Any = untyped_pymupdf  # it carries no usable type hints

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "scripts" / "examples"
TARGET = ROOT / "examples" / "documents"

# A zip entry needs a date; a fixed one keeps the bytes the same from run to run.
ZIP_DATE = (2020, 1, 1, 0, 0, 0)
NUMBERING_ID = 77
FOOTNOTE_MARK = re.compile(r"\[\^(\d+)\]")

A4 = (595.0, 842.0)
MARGIN = 72.0
BODY_SIZE = 12.0
LEADING = 20.0


@dataclass(frozen=True)
class Source:
    """One source text, its header and its lines."""

    name: str
    header: dict[str, str]
    lines: tuple[str, ...]

    @property
    def created(self) -> datetime:
        """When the document says that it was written."""
        return datetime.fromisoformat(self.header["created"])


def read_source(path: Path) -> Source:
    """Read a source text."""
    head, _, body = path.read_text(encoding="utf-8").partition("\n---\n")
    header = dict(line.split(": ", 1) for line in head.splitlines())
    return Source(path.stem, header, tuple(body.splitlines()))


def make(source: Source) -> bytes:
    """The document's bytes, in the format that its header names."""
    makers = {"docx": make_docx, "pdf": make_pdf, "md": make_markdown}
    return makers[source.header["format"]](source)


def make_markdown(source: Source) -> bytes:
    """Headings one level down (the title is the first), the rest as it is."""
    lines = [f"# {source.header['title']}", "", source.header["number"], ""]
    lines += [f"#{line}" if line.startswith("# ") else line for line in source.lines]
    return ("\n".join(lines).rstrip() + "\n").encode()


# --- Word ---


def make_docx(source: Source) -> bytes:
    """A Word file; numbering: automatic makes 第一条 a number that Word writes, not text."""
    word = docx.Document()
    properties = word.core_properties
    properties.title = source.header["title"]
    properties.author = source.header["author"]
    properties.created = properties.modified = source.created
    properties.last_modified_by = ""
    _centered(word, source.header["title"], bold=True, size=18)
    _centered(word, source.header["number"])
    if source.header.get("numbering") == "automatic":
        _define_numbering(word)
    footnotes: dict[int, str] = {}
    rows: list[list[str]] = []
    for line in source.lines:
        if line.startswith("| "):
            rows.append([cell.strip() for cell in line.strip("| ").split("|")])
            continue
        if rows:
            _table(word, rows)
            rows = []
        _word_line(word, line, footnotes)
    if rows:
        _table(word, rows)
    if footnotes:
        _add_footnotes(word, footnotes)
    buffer = io.BytesIO()
    word.save(buffer)
    return _with_fixed_dates(buffer.getvalue())


def _word_line(word: WordDocument, line: str, footnotes: dict[int, str]) -> None:
    definition = re.match(r"\[\^(\d+)\]: (.+)", line)
    if definition:
        footnotes[int(definition[1])] = definition[2]
    elif line.startswith("# "):
        word.add_heading(line[2:], level=1)
    elif line.startswith("appendix: "):
        word.add_heading(line.removeprefix("appendix: "), level=1).paragraph_format.page_break_before = True
    elif line.startswith("caption: "):
        _centered(word, line.removeprefix("caption: "), bold=True)
    elif line.startswith("* "):
        _numbered(word.add_paragraph(line[2:]))
    elif line.startswith("= "):
        word.add_paragraph(line[2:]).alignment = WD_ALIGN_PARAGRAPH.RIGHT
    elif line.strip():
        _with_footnote_marks(word.add_paragraph(), line.removeprefix("> ").removeprefix("- "))


def _centered(word: WordDocument, text: str, *, bold: bool = False, size: int = 12) -> None:
    paragraph = word.add_paragraph()
    paragraph.alignment = WD_ALIGN_PARAGRAPH.CENTER
    run = paragraph.add_run(text)
    run.bold = bold
    run.font.size = Pt(size)


def _define_numbering(word: WordDocument) -> None:
    """Add a list that numbers its paragraphs 第一条, 第二条 and so on."""
    numbering = word.part.numbering_part.element
    abstract = parse_xml(
        f'<w:abstractNum {nsdecls("w")} w:abstractNumId="{NUMBERING_ID}"><w:multiLevelType w:val="singleLevel"/>'
        '<w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="chineseCountingThousand"/><w:suff w:val="space"/>'
        '<w:lvlText w:val="第%1条"/><w:lvlJc w:val="left"/></w:lvl></w:abstractNum>'
    )
    # The schema wants every abstractNum before the first num.
    first_number = numbering.find(qn("w:num"))
    if first_number is None:
        numbering.append(abstract)
    else:
        first_number.addprevious(abstract)
    numbering.append(
        parse_xml(f'<w:num {nsdecls("w")} w:numId="{NUMBERING_ID}"><w:abstractNumId w:val="{NUMBERING_ID}"/></w:num>')
    )


def _numbered(paragraph: Paragraph) -> None:
    properties = paragraph._p.get_or_add_pPr()
    properties.append(
        parse_xml(f'<w:numPr {nsdecls("w")}><w:ilvl w:val="0"/><w:numId w:val="{NUMBERING_ID}"/></w:numPr>')
    )


def _table(word: WordDocument, rows: list[list[str]]) -> None:
    table = word.add_table(rows=len(rows), cols=len(rows[0]), style="Table Grid")
    for y, row in enumerate(rows):
        for x, text in enumerate(row):
            cell = table.cell(y, x)
            if text == "^":
                table.cell(y - 1, x).merge(cell)
            elif text == "<":
                table.cell(y, x - 1).merge(cell)
            else:
                cell.text = text
    for row in table.rows:
        for cell in row.cells:
            # Merging leaves the empty paragraphs of the cells that went in.
            for paragraph in cell.paragraphs[1:]:
                if not paragraph.text:
                    paragraph._p.getparent().remove(paragraph._p)


def _with_footnote_marks(paragraph: Paragraph, text: str) -> None:
    place = 0
    for mark in FOOTNOTE_MARK.finditer(text):
        paragraph.add_run(text[place : mark.start()])
        paragraph.add_run()._r.append(parse_xml(f'<w:footnoteReference {nsdecls("w")} w:id="{mark[1]}"/>'))
        place = mark.end()
    paragraph.add_run(text[place:])


def _add_footnotes(word: WordDocument, footnotes: dict[int, str]) -> None:
    separators = "".join(
        f'<w:footnote w:type="{kind}" w:id="{number}"><w:p><w:r><w:{element}/></w:r></w:p></w:footnote>'
        for number, (kind, element) in enumerate(
            (("separator", "separator"), ("continuationSeparator", "continuationSeparator")), start=-1
        )
    )
    notes = "".join(
        f'<w:footnote w:id="{number}"><w:p><w:r><w:footnoteRef/></w:r><w:r><w:t>{text}</w:t></w:r></w:p></w:footnote>'
        for number, text in footnotes.items()
    )
    xml = (
        '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
        f"<w:footnotes {nsdecls('w')}>{separators}{notes}</w:footnotes>"
    )
    part = Part(PackURI("/word/footnotes.xml"), CONTENT_TYPE.WML_FOOTNOTES, xml.encode(), word.part.package)
    word.part.relate_to(part, RELATIONSHIP_TYPE.FOOTNOTES)


def _with_fixed_dates(content: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(buffer, "w") as new:
        for item in old.infolist():
            entry = zipfile.ZipInfo(item.filename, ZIP_DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            new.writestr(entry, old.read(item.filename))
    return buffer.getvalue()


# --- PDF ---


def make_pdf(source: Source) -> bytes:
    """A PDF with a text layer in a font that every reader has, so nothing is embedded."""
    pdf = pymupdf.open()
    writer = _PageWriter(pdf)
    writer.line(source.header["title"], size=16.0, centered=True)
    writer.line(source.header["number"], centered=True)
    for line in source.lines:
        if line.startswith("# "):
            writer.line(line[2:], size=13.0, centered=line.startswith("# 第"))
        elif line.startswith("= "):
            writer.line(line[2:], right=True)
        elif line.strip():
            writer.paragraph(line.removeprefix("- "))
    stamp = source.created.strftime("D:%Y%m%d000000Z")
    pdf.set_metadata(
        {
            "title": source.header["title"],
            "author": source.header["author"],
            "creationDate": stamp,
            "modDate": stamp,
            "producer": "",
            "creator": "",
        }
    )
    return bytes(pdf.tobytes(deflate=True, garbage=3, no_new_id=True))


class _PageWriter:
    """Sets lines on A4 pages, with the page number at the foot."""

    def __init__(self, pdf: Any) -> None:
        self._pdf = pdf
        self._font = pymupdf.Font("china-s")
        self._next_page()

    def _next_page(self) -> None:
        self._page = self._pdf.new_page(width=A4[0], height=A4[1])
        self._y = MARGIN
        number = f"— {self._pdf.page_count} —"
        self._put(number, (A4[0] - self._font.text_length(number, 9)) / 2, A4[1] - MARGIN / 2, 9)

    def _put(self, text: str, x: float, y: float, size: float) -> None:
        self._page.insert_text((x, y), text, fontname="china-s", fontsize=size)

    def line(self, text: str, *, size: float = BODY_SIZE, centered: bool = False, right: bool = False) -> None:
        """One line; too long a one is set smaller rather than cut."""
        width = A4[0] - 2 * MARGIN
        size = min(size, size * width / self._font.text_length(text, size))
        if self._y + LEADING > A4[1] - MARGIN:
            self._next_page()
        free = width - self._font.text_length(text, size)
        self._y += LEADING
        self._put(text, MARGIN + (free / 2 if centered else free if right else 0), self._y, size)
        if size > BODY_SIZE:
            self._y += LEADING / 2

    def paragraph(self, text: str) -> None:
        """A paragraph, its first line indented by two characters."""
        rest = "　　" + text
        while rest:
            cut = self._fitting(rest)
            self.line(rest[:cut])
            rest = rest[cut:]

    def _fitting(self, text: str) -> int:
        width = A4[0] - 2 * MARGIN
        cut = len(text)
        while self._font.text_length(text[:cut], BODY_SIZE) > width:
            cut -= 1
        # No line starts with a closing mark.
        while 1 < cut < len(text) and text[cut] in "，。；：、）》":
            cut -= 1
        return cut


def main() -> int:
    """Write every document, or with --check compare them with those on disk."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a document differs")
    check = parser.parse_args().check
    TARGET.mkdir(parents=True, exist_ok=True)
    differing = []
    for path in sorted(SOURCES.glob("*.txt")):
        source = read_source(path)
        target = TARGET / f"{source.name}.{source.header['format']}"
        content = make(source)
        if check:
            if not target.exists() or target.read_bytes() != content:
                differing.append(target.name)
        else:
            target.write_bytes(content)
            print(f"{target.relative_to(ROOT)}: {len(content)} bytes")
    for name in differing:
        print(f"{name} differs from its source; run scripts/make_examples.py", file=sys.stderr)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
