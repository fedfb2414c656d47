"""What a file really is, by its content; the name only decides between kinds of plain text."""

from __future__ import annotations

import mmap
import re
import zipfile
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from ingest.parse.encoding import utf16_without_mark
from orchestrator.errors import DocumentError

__all__ = ["Format", "Sniffed", "sniff"]

_HEAD_BYTES = 8192
_BLANKS = b"\x00\r\n\t \xef\xbb\xbf\xfe\xff"
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


_ZIP_KINDS = (
    ("xl/", "an Excel workbook", "Save its sheets as PDF or HTML."),
    ("ppt/", "a PowerPoint presentation", "Save it as PDF."),
    ("ofd.xml", "an OFD document", "Convert it to PDF."),
    ("mimetype", "an OpenDocument file or an e-book", "Save it as .docx or PDF."),
)
_PICTURE = "Reading pictures (OCR) comes later."
_ARCHIVE = "Unpack it and ingest what is in it."
_MAGICS = (
    (b"{\\rtf", "a rich-text document (RTF)", "Save it as .docx."),
    (b"\x89PNG", "a picture (PNG)", _PICTURE),
    (b"\xff\xd8\xff", "a picture (JPEG)", _PICTURE),
    (b"GIF8", "a picture (GIF)", _PICTURE),
    (b"BM", "a picture (BMP)", _PICTURE),
    (b"II*\x00", "a picture (TIFF)", _PICTURE),
    (b"MM\x00*", "a picture (TIFF)", _PICTURE),
    (b"Rar!", "a RAR archive", _ARCHIVE),
    (b"7z\xbc\xaf", "a 7z archive", _ARCHIVE),
    (b"\x1f\x8b\x08", "a gzip archive", _ARCHIVE),
    (b"\x7fELF", "a program", "Leave it out."),
    (b"MZ", "a program", "Leave it out."),
    (b"SQLite format 3", "an SQLite database", "Leave it out."),
)
_COMPOUND_FILE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_HTML = re.compile(rb"(?i)<!doctype\s+html|<html[\s>]|<head[\s>]|<body[\s>]")
_MARKUP_START = re.compile(rb"(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?\s*<")
# What follows the last dot of 通知（2024.1.1） is no suffix.
_SUFFIX = re.compile(r"^\.(?=\w*[a-z])[a-z0-9]{1,8}$", re.ASCII)


def sniff(path: Path, source: str) -> Sniffed:
    """Look at a file's content.

    Raises:
        DocumentError: ``EMPTY_FILE``, ``ENCRYPTED``, ``TRUNCATED``, ``UNKNOWN_FORMAT`` or ``MISLABELLED``.
    """
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if not head.strip(_BLANKS) and not path.read_bytes().strip(_BLANKS):
        raise DocumentError(source, "the file is empty.", kind="EMPTY_FILE", hint="Check where it came from.")
    suffix = path.suffix.lower() if _SUFFIX.match(path.suffix.lower()) else ""
    claimed = _SUFFIXES.get(suffix)
    if b"%PDF-" in head[:_PDF_MARK_WITHIN]:
        found = Format.PDF
    elif head.startswith(b"PK"):
        found = _sniff_zip(path, source, claimed)
    else:
        _refuse_known_formats(path, source, head, claimed)
        found = _sniff_text(source, head, claimed, suffix)
    if found is claimed:
        return Sniffed(found)
    if not suffix:
        return Sniffed(found, f"The name has no suffix; the content is {_with_article(found)}.")
    return Sniffed(found, f"The name ends in {suffix}, but the content is {_with_article(found)}; it was read as that.")


def _with_article(found: Format) -> str:
    return {Format.HTML: "an HTML page", Format.DOCX: "a Word document", Format.PDF: "a PDF"}.get(found, found.value)


def _sniff_zip(path: Path, source: str, claimed: Format | None) -> Format:
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
            raise _refusal(source, f"the file is {what}", hint, claimed)
    if "[content_types].xml" in folded:
        return Format.DOCX  # a package whose main part lies elsewhere: its relationships will tell
    raise _refusal(source, "the file is a zip archive, not a document", _ARCHIVE, claimed)


def _refuse_known_formats(path: Path, source: str, head: bytes, claimed: Format | None) -> None:
    if head.startswith(_COMPOUND_FILE):
        raise _compound_file(path, source)
    for magic, what, hint in _MAGICS:
        # Two letters alone prove nothing: text may begin with them.
        if head.startswith(magic) and (len(magic) > 2 or b"\x00" in head[:64]):
            raise _refusal(source, f"the file is {what}", hint, claimed)
    if b'progid="Word.Document"' in head:
        raise _refusal(source, "the file is a Word 2003 XML document", "Open it in Word and save it as .docx.", claimed)
    if re.match(rb"(?i)(from:|mime-version:)", head) and b"multipart/related" in head.lower():
        raise _refusal(source, "the file is a web archive (MHTML)", "Save the page as .html.", claimed)


def _compound_file(path: Path, source: str) -> DocumentError:
    """Encrypted .docx and old .doc share a container; the names of its streams tell them apart."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        encrypted = data.find("EncryptedPackage".encode("utf-16-le")) >= 0
        is_word = data.find("WordDocument".encode("utf-16-le")) >= 0
    if encrypted:
        return DocumentError(
            source,
            "the document is protected by a password.",
            kind="ENCRYPTED",
            hint="Save it without a password and ingest it again.",
        )
    if is_word:
        return _refusal(source, "the file is a Word 97-2003 document (.doc)", "Open it in Word and save it as .docx.")
    return _refusal(source, "the file is an old Office file", "Save it as .docx or PDF.")


def _sniff_text(source: str, head: bytes, claimed: Format | None, suffix: str) -> Format:
    wide = head.startswith((b"\xff\xfe", b"\xfe\xff")) or bool(utf16_without_mark(head))
    if b"\x00" in head and not wide:
        if claimed is None:
            hint = "Ingest takes .docx, .pdf, .html, .md and .txt."
            raise _refusal(source, "the file is of no format that can be read", hint)
        raise DocumentError(
            source,
            f"the name ends in {suffix}, but the content is not {_with_article(claimed)}: it is binary data of no "
            "known kind.",
            kind="MISLABELLED",
            hint="Check how the file was made or copied.",
        )
    markup = head.replace(b"\x00", b"") if wide else head
    if claimed is not Format.MARKDOWN and _MARKUP_START.match(markup) and _HTML.search(markup):
        return Format.HTML
    if claimed is None and suffix:
        # Text has no mark of its own: a table, a program or a log is told from it by its name alone.
        hint = "To read it as plain text all the same, name it .txt."
        raise _refusal(source, f"the name ends in {suffix}, which is no document that can be read", hint)
    return claimed if claimed in {Format.MARKDOWN, Format.HTML} else Format.TEXT


def _refusal(source: str, what: str, hint: str, claimed: Format | None = None) -> DocumentError:
    if claimed is not None:
        return DocumentError(source, f"{what}, whatever its name says.", kind="MISLABELLED", hint=hint)
    return DocumentError(source, f"{what}.", kind="UNKNOWN_FORMAT", hint=hint)
