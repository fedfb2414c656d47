"""What a document says of itself: title, number, dates, authority, version, status, region; each with its origin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import takewhile

from ingest.authority import authority_of_number, authority_of_title, level_of, region_of
from ingest.dates import find_dates
from ingest.history import REVISIONS, find_doc_number, find_effective, find_expiry, first_published, read_history
from ingest.lines import Line, Role
from ingest.outline import is_heading_text
from ingest.parse.layout import ParsedDocument
from ingest.title import find_title, front_lines, name_of_file, version_marker
from orchestrator.knowledge.clause import AuthorityLevel, Document, DocumentStatus, Provenance

__all__ = ["read_metadata"]

# 附则 and closing: what a document says of its own validity stands within this many lines of its end, or in its front.
_TAIL_LINES = 60
_STATUS_WORDS = (
    (("已废止", "失效", "已失效", "废止版"), DocumentStatus.REPEALED),
    (("征求意见稿", "草案", "送审稿"), DocumentStatus.PENDING),
    (("已被修改", "已修改"), DocumentStatus.AMENDED),
)


@dataclass(slots=True)
class _Fields:
    values: dict[str, str] = field(default_factory=dict)
    provenance: dict[str, Provenance] = field(default_factory=dict)

    def set(self, name: str, value: str, origin: str, excerpt: str) -> None:
        """Set a field that nothing better has set before."""
        if value and name not in self.values:
            self.values[name] = value
            self.provenance[name] = Provenance(name, origin, excerpt.strip())

    def get(self, name: str) -> str:
        return self.values.get(name, "")


def read_metadata(
    parsed: ParsedDocument,
    lines: list[Line],
    *,
    document_id: str,
    doc_source: str,
    content_hash: str,
    sidecar: Mapping[str, str] | None = None,
) -> Document:
    """Read a document's metadata.

    Args:
        parsed: the source, for its name and properties.
        lines: its outline.
        document_id: of the document.
        doc_source: the name under which it is stored.
        content_hash: hex SHA-256 of its content.
        sidecar: fields that a person set; they prevail.
    """
    fields = _Fields()
    for name, value in (sidecar or {}).items():
        fields.set(name, value, "sidecar", value)
    front = front_lines(lines)
    title, origin = find_title(parsed.source, front, parsed.properties)
    fields.set("title", title, origin.origin, origin.excerpt)
    _read_dates(fields, parsed, lines, front)
    _read_authority(fields, lines)
    _read_version(fields, parsed)
    return Document(
        document_id=document_id,
        doc_source=doc_source,
        title=fields.get("title"),
        content_hash=content_hash,
        doc_number=fields.get("doc_number"),
        publish_date=fields.get("publish_date"),
        effective_date=fields.get("effective_date"),
        expiry_date=fields.get("expiry_date"),
        authority=fields.get("authority"),
        authority_level=AuthorityLevel(fields.get("authority_level") or AuthorityLevel.UNKNOWN),
        version=fields.get("version"),
        status=DocumentStatus(fields.get("status") or DocumentStatus.UNKNOWN),
        region=fields.get("region"),
        provenance=tuple(fields.provenance[name] for name in sorted(fields.provenance)),
    )


def _read_dates(fields: _Fields, parsed: ParsedDocument, lines: list[Line], front: list[Line]) -> None:
    history = read_history(front)
    number = find_doc_number(front, history)
    if number:
        fields.set("doc_number", number[0], _origin(number[1]), number[1].text)
    # The text at hand is that of the last revision.
    for event in sorted(history, key=lambda event: event.iso, reverse=True)[:1]:
        fields.set("publish_date", event.iso, _origin(event.line), event.excerpt)
        if event.act in REVISIONS:
            fields.set("version", f"{event.iso}{event.act}", _origin(event.line), event.excerpt)
    for event in history:
        fields.set("authority", event.authority, _origin(event.line), event.excerpt)
    for line in reversed(_closing(lines)):
        dates = list(find_dates(line.text))
        if len(dates) == 1 and is_heading_text(line.text):
            fields.set("publish_date", dates[0].iso, _origin(line), line.text)
    _, named = name_of_file(parsed.source)
    fields.set("publish_date", named, "filename", parsed.source)
    said = [*front, *[line for line in _body(lines) if line.role in (Role.TEXT, Role.ARTICLE)][-_TAIL_LINES:]]
    effective = find_effective(said, first_published(history) or fields.get("publish_date"))
    if effective:
        fields.set("effective_date", effective[0], _origin(effective[1]), effective[2])
    expiry = find_expiry(said, fields.get("effective_date"))
    if expiry:
        fields.set("expiry_date", expiry[0], _origin(expiry[1]), expiry[2])


def _body(lines: list[Line]) -> list[Line]:
    """The lines above the first appendix."""
    return list(takewhile(lambda line: line.role is not Role.APPENDIX, lines))


def _closing(lines: list[Line]) -> list[Line]:
    """The signature of the body: that of an appendix is a form's."""
    return [line for line in _body(lines) if line.role is Role.CLOSING]


def _read_authority(fields: _Fields, lines: list[Line]) -> None:
    title = fields.get("title")
    if number := fields.get("doc_number"):
        origin = fields.provenance["doc_number"]
        fields.set("authority", authority_of_number(number), origin.origin, origin.excerpt)
    fields.set("authority", authority_of_title(title), fields.provenance["title"].origin, title)
    for line in _closing(lines):
        text = line.text.strip()
        if is_heading_text(text) and not list(find_dates(text)) and level_of(text, "") is not AuthorityLevel.UNKNOWN:
            fields.set("authority", text, _origin(line), text)
    authority = fields.get("authority")
    level = level_of(authority, title)
    named, text = fields.provenance.get("authority", fields.provenance["title"]), authority or title
    if level is AuthorityLevel.UNKNOWN:
        level, named, text = level_of(title, title), fields.provenance["title"], title
    if level is not AuthorityLevel.UNKNOWN:
        fields.set("authority_level", level.value, named.origin, text)
    fields.set("region", region_of(title), fields.provenance["title"].origin, title)
    if "authority" in fields.provenance:
        fields.set("region", region_of(authority), fields.provenance["authority"].origin, authority)


def _read_version(fields: _Fields, parsed: ParsedDocument) -> None:
    title, source = fields.get("title"), parsed.source
    if marker := version_marker(title):
        fields.values.pop("version", None) if fields.provenance.get("version", _NONE).origin != "sidecar" else None
        fields.set("version", marker, fields.provenance["title"].origin, title)
    for words, status in _STATUS_WORDS:
        for text, origin in ((title, fields.provenance["title"].origin), (name_of_file(source)[0], "filename")):
            if any(word in text for word in words):
                fields.set("status", status.value, origin, text)
    if fields.get("effective_date") or fields.get("publish_date"):
        dated = fields.provenance.get("effective_date") or fields.provenance["publish_date"]
        fields.set("status", DocumentStatus.IN_FORCE.value, dated.origin, dated.excerpt)


_NONE = Provenance("", "")


def _origin(line: Line) -> str:
    return f"body:{line.block.index}"
