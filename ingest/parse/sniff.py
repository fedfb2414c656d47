"""What a file really is, by its content; the name only decides between kinds of plain text."""

from __future__ import annotations

import re
import zipfile
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from ingest.parse.encoding import utf16_without_mark
from orchestrator.errors import DocumentError

__all__ = ["Format", "Sniffed", "sniff"]

_HEAD_BYTES = 8192
# A PDF may have some bytes of a mail system or a scanner before its mark.
_PDF_MARK_WITHIN = 1024


class Format(str, Enum):
    """The formats that can be read."""

    DOCX = "Word document"
    PDF = "PDF"
    HTML = "HTML page"
    MARKDOWN = "Markdown"
    TEXT = "plain text"


_SUFFIXES: dict[str, Format] = {
    ".docx": Format.DOCX,
    ".docm": Format.DOCX,
    ".dotx": Format.DOCX,
    ".dotm": Format.DOCX,
    ".pdf": Format.PDF,
    ".html": Format.HTML,
    ".htm": Format.HTML,
    ".xhtml": Format.HTML,
    ".md": Format.MARKDOWN,
    ".markdown": Format.MARKDOWN,
    ".txt": Format.TEXT,
    ".text": Format.TEXT,
}


@dataclass(frozen=True, slots=True)
class Sniffed:
    """What a file is, and a warning where its name says something else."""

    format: Format
    warning: str = ""


def sniff(path: Path, source: str) -> Sniffed:
    """Look at a file's content.

    Raises:
        DocumentError: ``EMPTY_FILE``, ``ENCRYPTED``, ``TRUNCATED``, ``UNKNOWN_FORMAT`` or ``MISLABELLED``.
    """
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if not head.strip(b"\x00\r\n\t \xef\xbb\xbf\xfe\xff"):
        raise DocumentError(source, "the file is empty.", kind="EMPTY_FILE", hint="Check where it came from.")
    claimed = _SUFFIXES.get(path.suffix.lower())
    if b"%PDF-" in head[:_PDF_MARK_WITHIN]:
        found = Format.PDF
    elif head.startswith(b"PK"):
        found = _sniff_zip(path, source)
    else:
        _refuse_known_formats(path, source, head, claimed)
        found = _sniff_text(source, head, claimed, path.suffix)
    warning = ""
    if found is not claimed:
        name = path.suffix or "no suffix"
        warning = f"The name ends in {name}, but the content is {_with_article(found)}; it was read as that."
        if not path.suffix:
            warning = f"The name has no suffix; the content is {_with_article(found)}."
    return Sniffed(found, warning)


def _with_article(found: Format) -> str:
    return {"HTML page": "an HTML page", "Word document": "a Word document", "PDF": "a PDF"}.get(
        found.value, found.value
    )


def _sniff_zip(path: Path, source: str) -> Format:
    try:
        with zipfile.ZipFile(path) as package:
            names = package.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        raise DocumentError(
            source,
            "the file begins as a zip package (.docx) and its end is missing or damaged.",
            kind="TRUNCATED",
            hint="Copy or download it again.",
        ) from None
    folded = {name.replace("\\", "/").lower().lstrip("/") for name in names}
    if any(name.startswith("word/") for name in folded):
        return Format.DOCX
    for mark, what, hint in _ZIP_KINDS:
        if any(name.startswith(mark) for name in folded):
            raise _unknown(source, f"the file is {what}", hint)
    if "[content_types].xml" in folded:
        return Format.DOCX  # a package whose main part lies elsewhere: its relationships will tell
    raise _unknown(source, "the file is a zip archive, not a document", "Unpack it and ingest what is in it.")


_ZIP_KINDS = (
    ("xl/", "an Excel workbook", "Save its sheets as PDF or HTML."),
    ("ppt/", "a PowerPoint presentation", "Save it as PDF."),
    ("ofd.xml", "an OFD document", "Convert it to PDF."),
    ("mimetype", "an OpenDocument file or an e-book", "Save it as .docx or PDF."),
)
_MAGICS = (
    (b"{\\rtf", "a rich-text document (RTF)", "Save it as .docx."),
    (b"\x89PNG", "a picture (PNG)", "Reading pictures (OCR) comes later."),
    (b"\xff\xd8\xff", "a picture (JPEG)", "Reading pictures (OCR) comes later."),
    (b"GIF8", "a picture (GIF)", "Reading pictures (OCR) comes later."),
    (b"BM", "a picture (BMP)", "Reading pictures (OCR) comes later."),
    (b"II*\x00", "a picture (TIFF)", "Reading pictures (OCR) comes later."),
    (b"MM\x00*", "a picture (TIFF)", "Reading pictures (OCR) comes later."),
    (b"Rar!", "a RAR archive", "Unpack it and ingest what is in it."),
    (b"7z\xbc\xaf", "a 7z archive", "Unpack it and ingest what is in it."),
    (b"\x1f\x8b\x08", "a gzip archive", "Unpack it and ingest what is in it."),
    (b"\x7fELF", "a program", "Leave it out."),
    (b"MZ", "a program", "Leave it out."),
    (b"SQLite format 3", "an SQLite database", "Leave it out."),
)
_COMPOUND_FILE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def _refuse_known_formats(path: Path, source: str, head: bytes, claimed: Format | None) -> None:
    if head.startswith(_COMPOUND_FILE):
        raise _compound_file(path, source)
    for magic, what, hint in _MAGICS:
        # Two letters alone prove nothing: text may begin with them.
        if head.startswith(magic) and (len(magic) > 2 or b"\x00" in head[:64]):
            raise _unknown(source, f"the file is {what}", hint, claimed)
    if b'progid="Word.Document"' in head:
        raise _unknown(source, "the file is a Word 2003 XML document", "Open it in Word and save it as .docx.", claimed)
    if re.match(rb"(?i)(from:|mime-version:)", head) and b"multipart/related" in head.lower():
        raise _unknown(source, "the file is a web archive (MHTML)", "Save the page as .html.", claimed)


def _compound_file(path: Path, source: str) -> DocumentError:
    """Encrypted .docx and old .doc share a container; its directory of streams tells them apart."""
    with path.open("rb") as file:
        data = file.read(_COMPOUND_SEARCH_BYTES)
        file.seek(0, 2)
        file.seek(max(0, file.tell() - _COMPOUND_SEARCH_BYTES))
        data += file.read()
    if "EncryptedPackage".encode("utf-16-le") in data:
        return DocumentError(
            source,
            "the document is protected by a password.",
            kind="ENCRYPTED",
            hint="Save it without a password and ingest it again.",
        )
    if "WordDocument".encode("utf-16-le") in data:
        return _unknown(source, "the file is a Word 97-2003 document (.doc)", "Open it in Word and save it as .docx.")
    return _unknown(source, "the file is an old Office file", "Save it as .docx or PDF.")


# The directory lies near the start or the end in what Word and its kin write.
_COMPOUND_SEARCH_BYTES = 4 * 2**20


def _sniff_text(source: str, head: bytes, claimed: Format | None, suffix: str) -> Format:
    wide = head.startswith((b"\xff\xfe", b"\xfe\xff")) or bool(utf16_without_mark(head))
    if b"\x00" in head and not wide:
        if claimed is None:
            raise _unknown(
                source, "the file is of no format that can be read", "Ingest takes .docx, .pdf, .html, .md and .txt."
            )
        raise DocumentError(
            source,
            f"the name ends in {suffix}, but the content is not {_with_article(claimed)}: it is binary data of no "
            "known kind.",
            kind="MISLABELLED",
            hint="Check how the file was made or copied.",
        )
    markup = head.replace(b"\x00", b"") if wide else head
    if _HTML.search(markup[:_HEAD_BYTES]) and claimed is not Format.MARKDOWN:
        return Format.HTML
    return claimed if claimed in {Format.MARKDOWN, Format.HTML} else Format.TEXT


_HTML = re.compile(rb"(?i)<!doctype\s+html|<html[\s>]|<head[\s>]|<body[\s>]")


def _unknown(source: str, what: str, hint: str, claimed: Format | None = None) -> DocumentError:
    if claimed is not None:
        return DocumentError(source, f"{what}, whatever its name says.", kind="MISLABELLED", hint=hint)
    return DocumentError(source, f"{what}.", kind="UNKNOWN_FORMAT", hint=hint)
