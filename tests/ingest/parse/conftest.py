"""Builders of real files: a .docx is a zip written from XML snippets, a PDF is drawn with MuPDF."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pymupdf
import pytest

from ingest.parse.layout import ParsedDocument
from ingest.parse.reader import parse_file

NAMESPACES = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" '
    'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" '
    'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:v="urn:schemas-microsoft-com:vml" '
    'xmlns:w14="http://schemas.microsoft.com/office/word/2010/wordml"'
)
_TYPES = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/"
_STRICT = {
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main": "http://purl.oclc.org/ooxml/wordprocessingml/main",
    "http://schemas.openxmlformats.org/officeDocument/2006/relationships": (
        "http://purl.oclc.org/ooxml/officeDocument/relationships"
    ),
}


class DocxBuilder:
    """Writes Word documents and reads them back."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0

    @staticmethod
    def run(text: str, properties: str = "") -> str:
        return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{escape(text)}</w:t></w:r>'

    @classmethod
    def p(cls, content: str = "", properties: str = "") -> str:
        """A paragraph; content that is not XML becomes a run."""
        inner = content if content.startswith("<") or not content else cls.run(content)
        return f"<w:p><w:pPr>{properties}</w:pPr>{inner}</w:p>"

    @classmethod
    def table(cls, *rows: list[str], properties: str = "") -> str:
        """A table of plain cells; a cell that begins with ``<`` is the cell's own XML."""
        shown = (
            "<w:tr>" + "".join(c if c.startswith("<w:tc") else f"<w:tc>{cls.p(c)}</w:tc>" for c in row) + "</w:tr>"
            for row in rows
        )
        return f"<w:tbl><w:tblPr>{properties}</w:tblPr>{''.join(shown)}</w:tbl>"

    def write(self, body: str, *, strict: bool = False, members: dict[str, str] | None = None, **parts: str) -> Path:
        """Write a document.

        Args:
            body: the XML inside ``w:body``.
            strict: whether to use the vocabulary of ISO 29500 Strict.
            members: further members of the zip, by name.
            parts: the XML inside the root of ``styles``, ``numbering``, ``footnotes``, ``endnotes``; ``core`` inside
                the core properties.
        """
        self._count += 1
        path = self._folder / f"document{self._count}.docx"
        core = parts.pop("core", "")
        relations = "".join(f'<Relationship Id="r{name}" Type="{_TYPES}{name}" Target="{name}.xml"/>' for name in parts)
        content = {
            "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}content-types"/>',
            "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}relationships">'
            f'<Relationship Id="r1" Type="{_TYPES}officeDocument" Target="word/document.xml"/>'
            f'<Relationship Id="r2" Type="{_PACKAGE}relationships/metadata/core-properties"'
            f' Target="docProps/core.xml"/></Relationships>',
            "word/_rels/document.xml.rels": (
                f'<Relationships xmlns="{_PACKAGE}relationships">{relations}</Relationships>'
            ),
            "word/document.xml": f"<w:document {NAMESPACES}><w:body>{body}</w:body></w:document>",
            **{f"word/{name}.xml": f"<w:{name} {NAMESPACES}>{inner}</w:{name}>" for name, inner in parts.items()},
            **(members or {}),
        }
        if core:
            content["docProps/core.xml"] = (
                f'<cp:coreProperties xmlns:cp="{_PACKAGE}metadata/core-properties" '
                'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/">'
                f"{core}</cp:coreProperties>"
            )
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
            for name, text in content.items():
                if strict:
                    for loose, exact in _STRICT.items():
                        text = text.replace(loose, exact)  # noqa: PLW2901
                package.writestr(name, text)
        return path

    def read(self, body: str, **options: Any) -> ParsedDocument:
        return parse_file(self.write(body, **options))

    def texts(self, body: str, **options: Any) -> list[str]:
        return [block.text for block in self.read(body, **options).blocks]


@pytest.fixture
def docx(tmp_path: Path) -> DocxBuilder:
    return DocxBuilder(tmp_path)


class PdfBuilder:
    """Draws PDF pages and reads them back. Sizes are in points; Chinese is set in MuPDF's own font."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "document.pdf"
        self.document = pymupdf.open()
        self.page: Any = None

    def new_page(self, width: float = 595, height: float = 842) -> None:
        self.page = self.document.new_page(width=width, height=height)

    def line(self, x: float, y: float, text: str, size: float = 12, **options: Any) -> None:
        """One line whose baseline begins at (x, y)."""
        font = "helv" if text.isascii() else "china-s"
        self.page.insert_text((x, y), text, fontname=font, fontsize=size, **options)

    def lines(self, x: float, y: float, texts: list[str], size: float = 12, pitch: float = 20) -> None:
        for place, text in enumerate(texts):
            self.line(x, y + place * pitch, text, size)

    def grid(self, xs: list[float], ys: list[float]) -> None:
        """A ruled table's lines."""
        for x in xs:
            self.page.draw_line((x, ys[0]), (x, ys[-1]))
        for y in ys:
            self.page.draw_line((xs[0], y), (xs[-1], y))

    def save(self, **options: Any) -> Path:
        self.document.save(self._path, **options)
        return self._path

    def read(self) -> ParsedDocument:
        return parse_file(self.save())


@pytest.fixture
def pdf(tmp_path: Path) -> Iterator[PdfBuilder]:
    builder = PdfBuilder(tmp_path)
    builder.new_page()
    yield builder
    builder.document.close()


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write a file of bytes or text (UTF-8 unless said otherwise)."""

    def write_file(name: str, content: str | bytes, encoding: str = "utf-8") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
        return path

    return write_file
