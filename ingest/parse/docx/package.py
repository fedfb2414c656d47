"""The zip package of a Word document: its parts, read within limits, and the relationships between them."""

from __future__ import annotations

import posixpath
import zipfile
import zlib
from pathlib import Path
from urllib.parse import unquote, urlsplit

from lxml import etree

from ingest.parse.docx.names import Element
from orchestrator.errors import DocumentError

__all__ = ["Package"]

# The largest part of 539 real regulations is 4 MB; a parsed tree takes about ten times its source.
MAX_PART_BYTES = 64 * 2**20
# A Word document has some dozens of members; a listing of many thousands is an attack or not a document.
MAX_MEMBERS = 20_000

_PACKAGE_RELATIONSHIPS = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"
_STRICT = "http://purl.oclc.org/ooxml/"
# ISO 29500 Strict names the same vocabulary by other addresses; trees are renamed so that readers know one.
_STRICT_NAMESPACES = {
    _STRICT + "wordprocessingml/main": "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
    _STRICT + "officeDocument/relationships": "http://schemas.openxmlformats.org/officeDocument/2006/relationships",
    _STRICT + "officeDocument/math": "http://schemas.openxmlformats.org/officeDocument/2006/math",
    _STRICT + "drawingml/main": "http://schemas.openxmlformats.org/drawingml/2006/main",
    _STRICT + "drawingml/wordprocessingDrawing": (
        "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"
    ),
}


class Package:
    """An opened package. Nothing is ever written to disk, so member names can do no harm.

    Args:
        path: the file.
        source: how the user named it, for messages.

    Raises:
        DocumentError: ``TRUNCATED`` or ``TOO_LARGE``, here or when a part is read.
    """

    def __init__(self, path: Path, source: str) -> None:
        self._source = source
        self._trees: dict[str, Element | None] = {}
        try:
            self._zip = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            raise self._damaged(str(error)) from None
        names = self._zip.namelist()
        if len(names) > MAX_MEMBERS:
            self._zip.close()
            raise DocumentError(
                source,
                f"the package holds {len(names)} members, more than {MAX_MEMBERS}.",
                kind="TOO_LARGE",
                hint="Save it anew with Word, or split it.",
            )
        # Some writers use back slashes or another case than the relationships do.
        self._names = {name.replace("\\", "/").lstrip("/").lower(): name for name in names}

    def __enter__(self) -> Package:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def main_part(self) -> str:
        """The name of the document's main part."""
        for kind, target in self._relationships("").values():
            if kind == "officeDocument":
                return target
        return "word/document.xml"

    def related(self, part: str, kind: str) -> str | None:
        """The part that ``part`` points to with a relationship of this kind (``styles``); None where there is none."""
        for found, target in self._relationships(part).values():
            if found == kind:
                return target
        return None

    def tree(self, part: str | None) -> Element | None:
        """A part's root element; None where the package has no such part.

        Raises:
            DocumentError: the part is damaged or too large.
        """
        if part is None or part.lower() not in self._names:
            return None
        if part not in self._trees:
            self._trees[part] = self._parse(part)
        return self._trees[part]

    def _parse(self, part: str) -> Element:
        # A parser of its own for each part: entities, DTDs and the network stay off, and libxml2's limits on.
        parser = etree.XMLParser(
            resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_comments=True
        )
        try:
            root = etree.fromstring(self._read(part), parser)
        except etree.XMLSyntaxError as error:
            if "depth" in str(error):
                raise DocumentError(
                    self._source,
                    f"the part {part} is nested too deeply.",
                    kind="TOO_LARGE",
                    hint="Save it anew with Word.",
                ) from None
            raise self._damaged(f"the part {part} is not well-formed XML: {error.msg}") from None
        if _STRICT in str(root.tag) or any(_STRICT in address for address in root.nsmap.values()):
            _to_transitional(root)
        return root

    def _read(self, part: str) -> bytes:
        name = self._names[part.lower()]
        try:
            # The size that the listing claims is not trusted: at most the limit is ever unpacked.
            with self._zip.open(name) as member:
                data = member.read(MAX_PART_BYTES + 1)
        except RuntimeError:
            raise DocumentError(
                self._source,
                "the package is encrypted.",
                kind="ENCRYPTED",
                hint="Save it without a password and ingest it again.",
            ) from None
        except (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, ValueError) as error:
            raise self._damaged(f"the part {part} cannot be unpacked: {error}") from None
        if len(data) > MAX_PART_BYTES:
            raise DocumentError(
                self._source,
                f"the part {part} is larger than {MAX_PART_BYTES // 2**20} MiB when unpacked.",
                kind="TOO_LARGE",
                hint="Split the document.",
            )
        return data

    def _relationships(self, part: str) -> dict[str, tuple[str, str]]:
        folder, name = posixpath.split(part)
        root = self.tree(posixpath.join(folder, "_rels", f"{name}.rels"))
        found: dict[str, tuple[str, str]] = {}
        if root is None:
            return found
        for item in root.iter(_PACKAGE_RELATIONSHIPS):
            if item.get("TargetMode") == "External":
                continue
            target = unquote(urlsplit(item.get("Target", "")).path)
            resolved = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
            found[item.get("Id", "")] = (item.get("Type", "").rsplit("/", 1)[-1], resolved)
        return found

    def _damaged(self, what: str) -> DocumentError:
        return DocumentError(
            self._source,
            f"the Word document is truncated or damaged ({what.rstrip('.')}).",
            kind="TRUNCATED",
            hint="Open it in Word, repair it, save it and ingest it again.",
        )


def _to_transitional(root: Element) -> None:
    for element in root.iter(etree.Element):
        element.tag = _renamed(str(element.tag))
        for name in [name for name in element.attrib if _STRICT in str(name)]:
            element.set(_renamed(str(name)), element.attrib.pop(name))


def _renamed(name: str) -> str:
    address, separator, local = name[1:].partition("}")
    if not separator or address not in _STRICT_NAMESPACES:
        return name
    return f"{{{_STRICT_NAMESPACES[address]}}}{local}"
