"""Reads the YAML and JSON files of a domain pack; every complaint names the file, the line and the field."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from orchestrator.errors import PackError

__all__ = ["SourceFile", "read_source"]

# Packs are written by people; a file beyond this is a mistake, and parsing it would stall the start.
MAX_BYTES = 8 * 1024 * 1024
# How many complaints of one file are shown at once.
MAX_COMPLAINTS = 5

Model = TypeVar("Model", bound=BaseModel)
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class SourceFile:
    """A file's content as plain values, with the node tree that knows the lines (None where there is none)."""

    path: Path
    data: Any
    root: yaml.Node | None

    def line_of(self, location: Sequence[str | int]) -> int:
        """The line (from 1) of the deepest part of ``location`` that exists; 0 where lines are unknown."""
        if self.root is None:
            return 0
        node: yaml.Node = self.root
        for step in location:
            child = _child(node, step)
            if child is None:
                break
            node = child
        return int(node.start_mark.line) + 1

    def error(self, location: Sequence[str | int], message: str, *, hint: str = "") -> PackError:
        """A complaint about one place of this file."""
        return PackError(f"{self.path}: {self._place(location)}: {message}.", hint=hint or "Correct the file.")

    def parse(self, model: type[Model]) -> Model:
        """The content as ``model``.

        Raises:
            PackError: it does not fit; the first complaints are listed with line and field.
        """
        try:
            return model.model_validate(self.data)
        except ValidationError as error:
            complaints = [
                f"{self._place(item['loc'])}: {item['msg'].removeprefix('Value error, ')}" for item in error.errors()
            ]
        shown = "; ".join(complaints[:MAX_COMPLAINTS])
        more = f"; and {len(complaints) - MAX_COMPLAINTS} more" if len(complaints) > MAX_COMPLAINTS else ""
        raise PackError(f"{self.path}: {shown}{more}.", hint="Correct the file.")

    def _place(self, location: Sequence[str | int]) -> str:
        field = ".".join(str(step) for step in location) or "the whole file"
        line = self.line_of(location)
        return f"line {line}, {field}" if line else field


def read_source(path: Path) -> SourceFile:
    """Read one file of a pack, JSON by its ending, else YAML.

    Raises:
        PackError: it is missing, unreadable, not UTF-8, too large, or not well-formed.
    """
    text = _read_text(path)
    if path.suffix == ".json":
        return SourceFile(path, _load_json(path, text), _lines_of_json(text))
    try:
        root = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise PackError(f"{path}: line {line}: not well-formed YAML: {error.problem}.", hint="Correct it.") from None
    except yaml.YAMLError as error:
        raise PackError(f"{path}: not well-formed YAML: {error}.", hint="Correct it.") from None
    except RecursionError:
        raise PackError(f"{path}: nested too deeply.", hint="Flatten it.") from None
    if root is None:
        raise PackError(f"{path}: the file is empty.", hint="Fill it, or remove it where it is optional.")
    return SourceFile(path, _Builder(path).value(root), root)


def _read_text(path: Path) -> str:
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise PackError(f"{path}: {size} bytes are more than the {MAX_BYTES} that a pack file may have.")
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise PackError(f"{path}: the file is missing.", hint="Every pack needs it; see domains/README.md.") from None
    except UnicodeDecodeError as error:
        raise PackError(f"{path}: not UTF-8 at byte {error.start}.", hint="Save it as UTF-8.") from None
    except OSError as error:
        raise PackError(f"{path}: cannot be read: {error.strerror}.") from None


def _load_json(path: Path, text: str) -> Any:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                raise PackError(f"{path}: the key {key!r} stands twice in one object.", hint="Keep one.")
            found[key] = value
        return found

    try:
        return json.loads(text, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        raise PackError(
            f"{path}: line {error.lineno}: not well-formed JSON: {error.msg}.", hint="Correct it."
        ) from None
    except RecursionError:
        raise PackError(f"{path}: nested too deeply.", hint="Flatten it.") from None


def _lines_of_json(text: str) -> yaml.Node | None:
    """JSON is nearly YAML: where it reads as such, its lines are known too."""
    try:
        return yaml.compose(text, Loader=_Loader)
    except (yaml.YAMLError, RecursionError):
        return None


class _Builder:
    """Node tree → plain values. Refuses aliases (they can blow a small file up) and keys that stand twice."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: set[int] = set()
        self._scalars = yaml.constructor.SafeConstructor()

    def value(self, node: yaml.Node) -> Any:
        if id(node) in self._seen:
            raise self._error(node, "aliases (&name, *name) are not allowed", "Write the value out.")
        self._seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(child) for child in node.value]
        try:
            return self._scalars.construct_object(node)
        except (yaml.YAMLError, ValueError) as error:
            raise self._error(node, f"{node.value!r} is not a plain value: {error}", "Quote it.") from None

    def _mapping(self, node: yaml.MappingNode) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise self._error(key_node, "a key must be plain text", "Rewrite it.")
            key = str(key_node.value)
            if key in found:
                raise self._error(key_node, f"the key {key!r} stands twice", "Keep one.")
            found[key] = self.value(value_node)
        return found

    def _error(self, node: yaml.Node, message: str, hint: str) -> PackError:
        return PackError(f"{self._path}: line {node.start_mark.line + 1}: {message}.", hint=hint)


def _child(node: yaml.Node, step: str | int) -> yaml.Node | None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == str(step):
                return value  # type: ignore[no-any-return]
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return node.value[step]  # type: ignore[no-any-return]
    return None
