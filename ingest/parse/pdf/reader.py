"""A PDF as blocks in reading order. Boxes are in points, origin top left of the page as readers see it.

A paragraph that goes on in the next column or on the next page is one block: page and box are those of its first part.
Where it is cut and cannot be joined (a table stands between, say), the block is marked ``runs_on``.
"""

from __future__ import annotations

from pathlib import Path

from ingest.parse.joining import join_lines
from ingest.parse.layout import Block, BlockKind, ParsedDocument
from ingest.parse.pdf.document import open_pdf, pdf_properties
from ingest.parse.pdf.flow import Piece, pieces_of
from ingest.parse.pdf.furniture import drop_furniture
from ingest.parse.pdf.lines import Line, PageText, read_page_text
from ingest.parse.pdf.roles import Roles, body_size_of
from ingest.parse.pdf.tables import FoundTable, find_tables
from orchestrator.errors import DocumentError
from orchestrator.knowledge.clause import Box

__all__ = ["PDF_MEDIA_TYPE", "read_pdf"]

PDF_MEDIA_TYPE = "application/pdf"

# More unreadable characters than this, and a page's fonts have no usable mapping to Unicode.
_BROKEN_SHARE = 0.3
_MISTAKEN_SHARE = 0.25


def read_pdf(path: Path, source: str) -> ParsedDocument:
    """Read a PDF with a text layer.

    Raises:
        DocumentError: ``ENCRYPTED``, ``TRUNCATED``, ``TOO_LARGE``, or ``NO_TEXT`` where the pages are pictures.
    """
    with open_pdf(path, source) as document:
        warnings: list[str] = []
        if document.is_repaired:
            warnings.append("The PDF was damaged and has been repaired; parts may be missing.")
        pages = [read_page_text(page, number) for number, page in enumerate(document, start=1)]
        _check_text(pages, source, warnings)
        tables = {page.number: _take_tables(page) for page in pages if page.lines}
        drop_furniture(pages)
        pieces = list(pieces_of(pages, tables))
        blocks = _blocks(pieces, {page.number: page for page in pages})
        properties = pdf_properties(document)
    if not blocks:
        raise _no_text(source, "its pages hold nothing but headers and page numbers")
    return ParsedDocument(
        source=source,
        media_type=PDF_MEDIA_TYPE,
        blocks=tuple(blocks),
        properties=properties,
        warnings=tuple(warnings),
    )


def _check_text(pages: list[PageText], source: str, warnings: list[str]) -> None:
    """Say which pages cannot be read, and refuse a document that has no other."""
    pictures, broken = [], []
    for page in pages:
        if _is_broken(page):
            page.lines, page.sideways = [], []
            broken.append(page.number)
        elif not page.lines and not page.sideways and page.page.get_images():
            pictures.append(page.number)
    if not any(page.lines or page.sideways for page in pages):
        what = "its fonts have no mapping to Unicode" if broken else "its pages are pictures (a scan)"
        raise _no_text(source, what)
    if pictures:
        warnings.append(f"Without a text layer, left out until OCR: page {_listed(pictures)}.")
    if broken:
        warnings.append(f"Fonts without a mapping to Unicode, left out until OCR: page {_listed(broken)}.")
    slanted = [page.number for page in pages if page.slanted]
    if slanted:
        warnings.append(f"Slanted text (a watermark) was left out: page {_listed(slanted)}.")


def _is_broken(page: PageText) -> bool:
    text = "".join(line.text for line in (*page.lines, *page.sideways))
    # Replacement, private and control characters; accented capitals and signs in such a mass are Chinese, mistaken.
    unreadable = sum(char == "\ufffd" or "\ue000" <= char <= "\uf8ff" or char < " " for char in text)
    mistaken = sum("\x80" <= char <= "\xff" for char in text)
    return unreadable > _BROKEN_SHARE * len(text) or mistaken > _MISTAKEN_SHARE * len(text)


def _no_text(source: str, what: str) -> DocumentError:
    return DocumentError(
        source,
        f"the PDF holds no text that can be read: {what}.",
        kind="NO_TEXT",
        hint="Reading pictures (OCR) comes later; until then ingest a version with a text layer.",
    )


def _listed(numbers: list[int]) -> str:
    """``1, 3-5`` for page numbers in order."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def _take_tables(page: PageText) -> list[FoundTable]:
    """Find a page's tables, and take their text out of its lines."""
    tables = find_tables(page)
    page.lines = [line for line in page.lines if not any(_inside(line, table.box) for table in tables)]
    return tables


def _inside(line: Line, box: Box) -> bool:
    x, y = (line.x0 + line.x1) / 2, (line.y0 + line.y1) / 2
    return box.x0 <= x <= box.x1 and box.y0 <= y <= box.y1


def _blocks(pieces: list[Piece], pages: dict[int, PageText]) -> list[Block]:
    paragraphs = [piece.paragraph for piece in pieces if piece.paragraph is not None]
    body = body_size_of((row.line.size, len(row.line.text)) for item in paragraphs for row in item.rows)
    roles = Roles.of(paragraphs, body)
    blocks: list[Block] = []
    place = 0
    for piece in pieces:
        page = pages[piece.page]
        if piece.table is not None:
            blocks.append(
                Block(
                    kind=BlockKind.TABLE,
                    text=piece.table.text,
                    index=len(blocks),
                    page=piece.page,
                    box=page.display_box(piece.table.box),
                    table=piece.table.table,
                )
            )
        elif piece.note is not None:
            blocks.append(
                Block(
                    kind=BlockKind.FOOTNOTE,
                    text=join_lines([line.text for line in piece.note]),
                    index=len(blocks),
                    page=piece.page,
                    box=page.display_box(_around(piece.note)),
                )
            )
        elif piece.paragraph is not None:
            kind, level = roles.role(place, piece.paragraph)
            place += 1
            blocks.append(
                Block(
                    kind=kind,
                    text=piece.paragraph.text,
                    index=len(blocks),
                    level=level,
                    centered=all(row.is_centered for row in piece.paragraph.rows),
                    page=piece.page,
                    box=page.display_box(_around([row.line for row in piece.paragraph.first_part])),
                    runs_on=piece.paragraph.runs_on,
                )
            )
    return blocks


def _around(lines: list[Line]) -> Box:
    return Box(
        min(line.x0 for line in lines),
        min(line.y0 for line in lines),
        max(line.x1 for line in lines),
        max(line.y1 for line in lines),
    )
