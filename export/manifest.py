"""``manifest.json``: what lies beside a built model, so that a caller can tell exactly what would answer."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from export.parts import Precision
from export.spec import LlmPrecision
from orchestrator.errors import BuildError

__all__ = ["MANIFEST", "Manifest", "ManifestSource", "fingerprint_of", "read_manifest", "write_manifest"]

MANIFEST = "manifest.json"
SHA256 = r"^[0-9a-f]{64}$"
# Not part of the fingerprint: measured figures, the fingerprint itself, where the weights were taken from (what they
# are is in the files' hashes), and the kind, which the outputs tell.
OUTSIDE_FINGERPRINT = frozenset({"checks", "fingerprint", "kind", "source"})


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ManifestSource(_Part):
    """Where the weights came from, and by which recipe.

    Attributes:
        package: the Python package that carried them, its version and file; None where they came otherwise.
        sha256: of the packed file.
        checkpoint: files that were exported, or merged onto the base, → SHA-256; empty for the base itself.
        recipe: SHA-256 over what decides the outcome; a build is up to date while it stays the same.
    """

    name: str
    license: str
    package: str | None = None
    version: str | None = None
    file: str | None = None
    revision: str | None = None
    sha256: str | None = Field(None, pattern=SHA256)
    checkpoint: dict[str, str] = Field(default_factory=dict)
    recipe: str = Field(pattern=SHA256)
    libraries: dict[str, str]


class Manifest(_Part):
    """The manifest of one model version; see docs/models.md for every field."""

    schema_: Literal[1] = Field(1, alias="schema")
    kind: Literal["embedder", "reranker", "router", "reasoner", "router_llm"] = "embedder"
    model: str
    source: ManifestSource
    precision: Precision | LlmPrecision
    pooling: Literal["mean", "cls"] | None = None
    normalize: bool | None = None
    prefixes: dict[str, str]
    max_length: int = Field(ge=1)
    dimension: int | None = Field(None, ge=1)
    outputs: dict[str, str]
    files: dict[str, str]
    checks: dict[str, float]
    fingerprint: str = Field(pattern=SHA256)


def fingerprint_of(tree: dict[str, Any]) -> str:
    """SHA-256 over the canonical JSON of a manifest: UTF-8, sorted keys, no spaces, without what is outside of it."""
    kept = {key: value for key, value in tree.items() if key not in OUTSIDE_FINGERPRINT}
    canonical = json.dumps(kept, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def write_manifest(folder: Path, tree: dict[str, Any]) -> Manifest:
    """Fingerprint ``tree``, check it and write it into ``folder``."""
    manifest = Manifest.model_validate({**tree, "fingerprint": fingerprint_of(tree)})
    text = json.dumps(manifest.model_dump(mode="json", by_alias=True, exclude_none=True), ensure_ascii=False, indent=2)
    (folder / MANIFEST).write_text(text + "\n", encoding="utf-8")
    return manifest


def read_manifest(folder: Path) -> Manifest:
    """The manifest in ``folder``.

    Raises:
        BuildError: it is missing, malformed, or its fingerprint does not follow from it.
    """
    path = folder / MANIFEST
    try:
        tree = json.loads(path.read_text(encoding="utf-8"))
        manifest = Manifest.model_validate(tree)
    except (OSError, ValueError, ValidationError) as error:
        raise BuildError(f"{path} cannot be read: {error}", hint="Build it again: trias models build.") from None
    if fingerprint_of(tree) != manifest.fingerprint:
        raise BuildError(f"{path}: the fingerprint does not follow from the rest.", hint="trias models build --force.")
    return manifest
