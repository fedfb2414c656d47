"""`<file>.meta.yaml` beside a source: what a person says of the document prevails over what was read from it."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import yaml

from orchestrator.errors import DocumentError
from orchestrator.knowledge.clause import AuthorityLevel, DocumentStatus

__all__ = ["FIELDS", "SUFFIX", "read_sidecar", "sidecar_of"]

SUFFIX = ".meta.yaml"
_DATES = ("publish_date", "effective_date", "expiry_date")
_CHOICES: dict[str, type[AuthorityLevel] | type[DocumentStatus]] = {
    "authority_level": AuthorityLevel,
    "status": DocumentStatus,
}
FIELDS = ("title", "doc_number", *_DATES, "authority", "authority_level", "version", "status", "region")
"""What a sidecar may set."""


def sidecar_of(path: Path) -> Path:
    """Where the sidecar of a source would lie."""
    return path.with_name(path.name + SUFFIX)


def read_sidecar(content: bytes, name: str) -> dict[str, str]:
    """The fields that a sidecar sets, checked.

    Raises:
        DocumentError: the sidecar is no mapping, or has a field or value that isn't allowed; kind ``SIDECAR_INVALID``.
    """
    try:
        tree = yaml.safe_load(content)
    except (yaml.YAMLError, UnicodeDecodeError, ValueError) as error:
        raise _invalid(name, f"cannot be read as YAML: {' '.join(str(error).split())}.") from None
    if tree is None:
        return {}
    if not isinstance(tree, dict):
        raise _invalid(name, "a mapping of fields is wanted.")
    return {str(field): _value(name, str(field), value) for field, value in tree.items()}


def _value(name: str, field: str, value: Any) -> str:
    if field not in FIELDS:
        raise _invalid(name, f"{field}: unknown field; known are {', '.join(FIELDS)}.")
    if isinstance(value, dt.date):
        value = value.isoformat()
    if not isinstance(value, (str, int, float)) or isinstance(value, bool):
        raise _invalid(name, f"{field}: a text is wanted.")
    text = str(value).strip()
    if field in _DATES and text:
        try:
            return dt.date.fromisoformat(text).isoformat()
        except ValueError:
            raise _invalid(name, f"{field}: {text!r} is no date; YYYY-MM-DD is wanted.") from None
    if field in _CHOICES:
        allowed = [member.value for member in _CHOICES[field]]
        if text not in allowed:
            raise _invalid(name, f"{field}: {text!r} is none of {', '.join(allowed)}.")
    return text


def _invalid(name: str, message: str) -> DocumentError:
    return DocumentError(name, message, kind="SIDECAR_INVALID", hint=f"Correct the {SUFFIX} file or remove it.")
