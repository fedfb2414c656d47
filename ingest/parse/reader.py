"""One way in for every format: a file becomes a `ParsedDocument` or a `DocumentError`, never a traceback."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

from ingest.parse.docx import read_docx
from ingest.parse.html import read_html
from ingest.parse.layout import ParsedDocument
from ingest.parse.markdown import read_markdown
from ingest.parse.sniff import Format, sniff
from ingest.parse.text import read_text
from orchestrator.errors import DocumentError

__all__ = ["parse_file"]


def _read_pdf(path: Path, source: str) -> ParsedDocument:
    # MuPDF doubles the memory of a parser process: it is loaded when the first PDF comes.
    from ingest.parse.pdf import read_pdf  # noqa: PLC0415

    return read_pdf(path, source)


_READERS: dict[Format, Callable[[Path, str], ParsedDocument]] = {
    Format.DOCX: read_docx,
    Format.PDF: _read_pdf,
    Format.HTML: read_html,
    Format.MARKDOWN: read_markdown,
    Format.TEXT: read_text,
}


def parse_file(path: Path, *, source: str | None = None, max_bytes: int | None = None) -> ParsedDocument:
    """Read a source file, whatever its name says it is.

    Args:
        path: the file.
        source: how the user named it; the path where not given.
        max_bytes: a larger file is refused.

    Raises:
        DocumentError: its ``kind`` is ``NOT_A_FILE``, ``UNREADABLE_FILE``, ``EMPTY_FILE``, ``TOO_LARGE``,
            ``UNKNOWN_FORMAT``, ``MISLABELLED``, ``ENCRYPTED``, ``TRUNCATED``, ``UNDECODABLE`` or ``NO_TEXT``.
    """
    source = source or str(path)
    try:
        _check(path, source, max_bytes)
        sniffed = sniff(path, source)
        parsed = _READERS[sniffed.format](path, source)
    except DocumentError:
        raise
    except OSError as error:
        raise DocumentError(
            source,
            f"the file cannot be read: {error.strerror or error}.",
            kind="UNREADABLE_FILE",
            hint="Check that it exists and that this user may read it.",
        ) from None
    except RecursionError:
        raise DocumentError(
            source, "the document is nested too deeply.", kind="TOO_LARGE", hint="Save it anew, or split it."
        ) from None
    except MemoryError:
        raise DocumentError(
            source, "the document does not fit into memory.", kind="TOO_LARGE", hint="Split it."
        ) from None
    except Exception as error:  # the last net: a library's own error on damaged input is the file's fault
        raise DocumentError(
            source,
            f"the {sniffed.format.value} is damaged ({type(error).__name__}: {error}).",
            kind="TRUNCATED",
            hint="Open it in its own program, save it anew and ingest it again.",
        ) from error
    if not sniffed.warning:
        return parsed
    return dataclasses.replace(parsed, warnings=(sniffed.warning, *parsed.warnings))


def _check(path: Path, source: str, max_bytes: int | None) -> None:
    if not path.is_file():  # a pipe or a device would block
        what = "is a folder" if path.is_dir() else ("is not a regular file" if path.exists() else "does not exist")
        raise DocumentError(source, f"it {what}.", kind="NOT_A_FILE", hint="Name a file, or a folder to be walked.")
    size = path.stat().st_size
    if size == 0:
        raise DocumentError(source, "the file is empty (0 bytes).", kind="EMPTY_FILE", hint="Copy it again.")
    if max_bytes is not None and size > max_bytes:
        raise DocumentError(
            source,
            f"the file has {size / 2**20:.1f} MiB, more than the limit of {max_bytes / 2**20:.1f} MiB.",
            kind="TOO_LARGE",
            hint="Split it, or raise ingest.max_file_mb.",
        )
