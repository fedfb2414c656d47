"""``templates.yaml`` of a domain pack: wordings from which training questions are made.

A wording is text with two kinds of places in it: ``<slot>`` (or ``<slot=value|value>``, only these values) is filled
with a spelling of a value, and ``(one|other|)`` is any of its wordings. Questions at run time need none of this, so a
pack is loaded without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from orchestrator.domain.pack import TEMPLATES_FILE, DomainPack
from orchestrator.domain.schema import Text
from orchestrator.domain.source import SourceFile, read_source
from orchestrator.errors import PackError

__all__ = ["Choice", "Hole", "Paraphrase", "Template", "TemplateSyntaxError", "Templates", "load_templates", "parse"]

Words = Annotated[tuple[Text, ...], Field(min_length=1)]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Paraphrase(_Entry):
    """Other ways to say a phrase; they replace it in the text between slots."""

    of: Text
    others: Words = Field(alias="as")


class TemplatesFile(_Entry):
    """``templates.yaml``.

    Attributes:
        values: slot type → values beyond those of slots.yaml; each stands for itself.
        templates: intent id → wordings.
    """

    values: dict[str, Words] = {}
    paraphrases: tuple[Paraphrase, ...] = ()
    templates: dict[str, Words]


class TemplateSyntaxError(ValueError):
    """A wording that cannot be read."""


@dataclass(frozen=True, slots=True)
class Hole:
    """A place for a slot; ``values``: the canonical values that it may hold, empty for all."""

    slot_type: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """Wordings of which one is taken; each is a sequence of parts."""

    options: tuple[tuple[str | Hole | Choice, ...], ...]


@dataclass(frozen=True, slots=True)
class Template:
    """One wording of one intent; ``source`` is how it is written."""

    intent_id: str
    source: str
    parts: tuple[str | Hole | Choice, ...]


@dataclass(frozen=True, slots=True)
class Templates:
    """A pack's wordings, checked against the pack.

    Attributes:
        spellings: slot type → (spelling, value) pairs: those of slots.yaml, and the further values.
    """

    templates: tuple[Template, ...]
    spellings: dict[str, tuple[tuple[str, str], ...]]
    paraphrases: tuple[Paraphrase, ...]


def parse(source: str) -> tuple[str | Hole | Choice, ...]:
    """The parts of a wording.

    Raises:
        TemplateSyntaxError: a bracket is open or stands alone, or alternatives are nested.
    """
    parts, end = _sequence(source, 0, inside=False)
    if end < len(source):
        raise TemplateSyntaxError(f"{source[end]!r} at character {end + 1} closes nothing")
    return parts


def _sequence(source: str, start: int, *, inside: bool) -> tuple[tuple[str | Hole | Choice, ...], int]:
    parts: list[str | Hole | Choice] = []
    text = ""
    place = start
    while place < len(source) and not (source[place] in ")>" or (inside and source[place] == "|")):
        if source[place] not in "<(":
            text += source[place]
            place += 1
            continue
        if text:
            parts.append(text)
            text = ""
        if source[place] == "(" and inside:
            raise TemplateSyntaxError(f"alternatives within alternatives at character {place + 1}")
        part, place = _hole(source, place) if source[place] == "<" else _choice(source, place)
        parts.append(part)
    if text:
        parts.append(text)
    return tuple(parts), place


def _hole(source: str, start: int) -> tuple[Hole, int]:
    end = source.find(">", start)
    if end < 0:
        raise TemplateSyntaxError(f"'<' at character {start + 1} is never closed")
    slot_type, equals, values = source[start + 1 : end].partition("=")
    return Hole(slot_type, tuple(values.split("|")) if equals else ()), end + 1


def _choice(source: str, start: int) -> tuple[Choice, int]:
    options: list[tuple[str | Hole | Choice, ...]] = []
    place = start
    while place == start or source[place] == "|":
        option, place = _sequence(source, place + 1, inside=True)
        options.append(option)
        if place >= len(source):
            raise TemplateSyntaxError(f"'(' at character {start + 1} is never closed")
    if source[place] != ")":
        raise TemplateSyntaxError(f"{source[place]!r} at character {place + 1} closes nothing")
    if len(options) < 2:
        raise TemplateSyntaxError(f"'(' at character {start + 1} offers no alternative; use （） for brackets")
    return Choice(tuple(options)), place + 1


def load_templates(pack: DomainPack, folder: Path) -> Templates:
    """Read ``templates.yaml`` in the folder of ``pack``.

    Raises:
        PackError: it is missing, malformed, or names what the pack lacks; names file, line and field.
    """
    path = folder / TEMPLATES_FILE
    if not path.is_file():
        raise PackError(
            f"{path}: the file is missing, so there is nothing to make training questions from.",
            hint="domains/README.md shows how templates are written.",
        )
    source = read_source(path)
    file = source.parse(TemplatesFile)
    spellings = _spellings(pack, file, source)
    templates = tuple(_templates(pack, file, source, spellings))
    return Templates(templates, spellings, file.paraphrases)


def _spellings(pack: DomainPack, file: TemplatesFile, source: SourceFile) -> dict[str, tuple[tuple[str, str], ...]]:
    found: dict[str, dict[str, str]] = {
        name: {
            spelling: entry.value
            for entry in slot.values
            for spelling in (entry.value, *entry.synonyms, *entry.colloquial)
        }
        for name, slot in pack.slot_types.items()
    }
    for name, words in file.values.items():
        if name not in pack.slot_types:
            raise source.error(("values", name), f"slots.yaml has no slot type {name!r}")
        if not pack.slot_types[name].open:
            raise source.error(("values", name), f"slots.yaml does not call {name!r} open for further values")
        found[name] |= {word: word for word in words if word not in found[name]}
    return {name: tuple(pairs.items()) for name, pairs in found.items()}


def _templates(
    pack: DomainPack, file: TemplatesFile, source: SourceFile, spellings: dict[str, tuple[tuple[str, str], ...]]
) -> Iterator[Template]:
    for intent_id, wordings in file.templates.items():
        if intent_id not in pack.intent_paths or pack.intent_paths[intent_id][-1].children:
            raise source.error(("templates", intent_id), f"{intent_id!r} is no leaf of the tree in intents.yaml")
        for place, wording in enumerate(wordings):
            where = ("templates", intent_id, place)
            try:
                parts = parse(wording)
            except TemplateSyntaxError as error:
                raise source.error(where, f"{wording!r}: {error}") from None
            for hole in _holes(parts):
                values = {value for _, value in spellings.get(hole.slot_type, ())}
                if not values:
                    raise source.error(where, f"there is nothing to fill <{hole.slot_type}> with")
                unknown = sorted(set(hole.values) - values)
                if unknown:
                    raise source.error(where, f"{unknown[0]!r} is no value of {hole.slot_type!r}")
            yield Template(intent_id, wording, parts)


def _holes(parts: tuple[str | Hole | Choice, ...]) -> Iterator[Hole]:
    for part in parts:
        if isinstance(part, Hole):
            yield part
        elif isinstance(part, Choice):
            for option in part.options:
                yield from _holes(option)
