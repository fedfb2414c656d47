"""The manifest beside a model version: what its texts, tokens and vectors are, and its fingerprint."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from orchestrator.errors import ModelNotFoundError
from orchestrator.inference.models import TextKind

__all__ = ["MANIFEST_FILE", "TOKENIZER_FILE", "Manifest", "Prefixes", "read_manifest"]

MANIFEST_FILE = "manifest.json"
TOKENIZER_FILE = "tokenizer.json"


class Prefixes(BaseModel):
    """What the model expects before a text of each kind; empty where it expects nothing."""

    model_config = ConfigDict(frozen=True)

    query: str = ""
    passage: str = ""

    def of(self, kind: TextKind) -> str:
        """The prefix of one kind."""
        return self.query if kind == "query" else self.passage


class Manifest(BaseModel):
    """``manifest.json``; whatever else it tells about the model's making is not needed to call it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    fingerprint: str = Field(min_length=8)
    dimension: int | None = Field(None, ge=1, description="of its vectors; models that make none have none")
    max_length: int = Field(ge=3, description="tokens, the special ones included")
    prefixes: Prefixes = Prefixes()
    outputs: dict[str, str] = Field(default_factory=dict, description="what it is → the tensor's name")


def read_manifest(version: Path) -> Manifest:
    """Read ``<version>/manifest.json``.

    Raises:
        ModelNotFoundError: the file is missing or does not say what a caller needs.
    """
    path = version / MANIFEST_FILE
    try:
        return Manifest.model_validate_json(path.read_bytes())
    except OSError as error:
        raise ModelNotFoundError(
            f"{path} cannot be read ({error.strerror}).", hint="`trias models build` makes it."
        ) from None
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(str(part) for part in item['loc'])}: {item['msg']}" for item in error.errors())
        raise ModelNotFoundError(
            f"{path} is not a valid manifest: {wrong}.", hint="`trias models build` makes a new one."
        ) from None
