"""A domain pack: intents, slots, wording, matters, authority, FAQ and overrides of one field, as data.

A pack is a folder of YAML and JSON, no code. ``pack.yaml``, ``intents.yaml``, ``slots.yaml``, ``matters.yaml`` and
``authority.yaml`` are needed; ``synonyms.yaml``, ``colloquial.yaml``, ``faq.yaml``, ``questions.yaml`` and
``overrides.json`` may be left out. ``templates.yaml`` (see `orchestrator.domain.templates`) and ``claims.yaml`` are for
training only.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

from orchestrator.domain.schema import (
    AuthorityFile,
    ColloquialFile,
    ColloquialRule,
    FaqEntry,
    FaqFile,
    IntentNode,
    IntentsFile,
    Matter,
    MattersFile,
    Messages,
    Override,
    OverridesFile,
    PackFile,
    QuestionsFile,
    SlotsFile,
    SlotType,
    SynonymGroup,
    SynonymsFile,
)
from orchestrator.domain.source import SourceFile, read_source
from orchestrator.errors import PackError

__all__ = ["CLAIMS_FILE", "TEMPLATES_FILE", "DomainPack", "load_pack", "load_packs"]

REQUIRED = ("pack.yaml", "intents.yaml", "slots.yaml", "matters.yaml", "authority.yaml")
OPTIONAL = ("synonyms.yaml", "colloquial.yaml", "faq.yaml", "questions.yaml", "overrides.json")
# Not read with the pack, and no part of its fingerprint: no answer depends on them.
TEMPLATES_FILE, CLAIMS_FILE = "templates.yaml", "claims.yaml"


@dataclass(frozen=True)
class DomainPack:
    """One field's knowledge about questions and claims, checked as a whole.

    Attributes:
        intents: the roots of the intent tree.
        slot_types: by type name, in the order of the file.
        scope_dimensions: the slot types that limit where a claim holds.
        authority_weights: authority level ("provincial", …, "unknown") → weight in (0,1].
        question_cues: question type ("yes_no", …) → compiled patterns of its wording.
        fingerprint: hex SHA-256 over the pack's files: what is derived from a pack may be cached under it.
    """

    name: str
    title: str
    language: str
    description: str
    messages: Messages
    intents: tuple[IntentNode, ...]
    slot_types: Mapping[str, SlotType]
    matters: tuple[Matter, ...]
    authority_weights: Mapping[str, float]
    synonyms: tuple[SynonymGroup, ...] = ()
    colloquial: tuple[ColloquialRule, ...] = ()
    faq: tuple[FaqEntry, ...] = ()
    overrides: tuple[Override, ...] = ()
    question_cues: Mapping[str, tuple[re.Pattern[str], ...]] = field(default_factory=dict)
    small_talk: tuple[re.Pattern[str], ...] = ()
    fingerprint: str = ""

    @cached_property
    def scope_dimensions(self) -> tuple[str, ...]:
        """Names of the slot types that limit where a claim holds."""
        return tuple(name for name, slot_type in self.slot_types.items() if slot_type.scope)

    @cached_property
    def intent_paths(self) -> Mapping[str, tuple[IntentNode, ...]]:
        """Intent id → the nodes from the root down to it, in the order of the file."""
        return {path[-1].intent_id: path for path in _walk(self.intents, ())}

    @cached_property
    def matters_by_name(self) -> Mapping[str, Matter]:
        """Name → matter."""
        return {matter.name: matter for matter in self.matters}

    def labels(self, intent_id: str) -> tuple[str, ...]:
        """The labels from the root to an intent: ("待遇", "住院报销", "报销比例").

        Raises:
            KeyError: the pack has no such intent.
        """
        return tuple(node.label for node in self.intent_paths[intent_id])

    def authority_weight(self, level: str) -> float:
        """The weight of an authority level; that of "unknown" for a level the pack leaves out."""
        return self.authority_weights.get(level, self.authority_weights["unknown"])


def load_pack(folder: Path) -> DomainPack:
    """Read and check the pack in ``folder``.

    Raises:
        PackError: a file is missing, malformed or contradicts another; names file, line and field.
    """
    if not folder.is_dir():
        raise PackError(f"The domain pack {folder} is not a folder.", hint="Check paths.domains in the settings.")
    _reject_unknown_files(folder)
    sources = {name: read_source(folder / name) for name in REQUIRED}
    sources.update({name: read_source(folder / name) for name in OPTIONAL if (folder / name).exists()})
    head = sources["pack.yaml"].parse(PackFile)
    if head.name != folder.resolve().name:
        raise sources["pack.yaml"].error(
            ("name",), f"{head.name!r} is not the name of the folder, {folder.resolve().name!r}", hint="Use one name."
        )
    questions = sources["questions.yaml"].parse(QuestionsFile) if "questions.yaml" in sources else QuestionsFile()
    pack = DomainPack(
        name=head.name,
        title=head.title,
        language=head.language,
        description=head.description,
        messages=head.messages,
        intents=sources["intents.yaml"].parse(IntentsFile).intents,
        slot_types=MappingProxyType(_slot_types(sources["slots.yaml"])),
        matters=sources["matters.yaml"].parse(MattersFile).matters,
        authority_weights=MappingProxyType(sources["authority.yaml"].parse(AuthorityFile).weights),
        synonyms=sources["synonyms.yaml"].parse(SynonymsFile).synonyms if "synonyms.yaml" in sources else (),
        colloquial=sources["colloquial.yaml"].parse(ColloquialFile).rules if "colloquial.yaml" in sources else (),
        faq=sources["faq.yaml"].parse(FaqFile).faq if "faq.yaml" in sources else (),
        overrides=sources["overrides.json"].parse(OverridesFile).overrides if "overrides.json" in sources else (),
        question_cues=MappingProxyType(
            {word: tuple(re.compile(pattern) for pattern in patterns) for word, patterns in questions.cues.items()}
        ),
        small_talk=tuple(re.compile(pattern) for pattern in questions.small_talk),
        fingerprint=_fingerprint(folder),
    )
    _check(pack, sources)
    return pack


def load_packs(folder: Path) -> dict[str, DomainPack]:
    """Every pack in ``folder``, by name; hidden folders and plain files are passed over.

    Raises:
        PackError: the folder is missing or holds no pack, or one of the packs is wrong.
    """
    if not folder.is_dir():
        raise PackError(f"The folder of domain packs {folder} does not exist.", hint="Set paths.domains.")
    folders = sorted(entry for entry in folder.iterdir() if entry.is_dir() and entry.name[0] not in "._")
    if not folders:
        raise PackError(f"The folder {folder} holds no domain pack.", hint="A pack is a folder with a pack.yaml.")
    packs = [load_pack(entry) for entry in folders]
    return {pack.name: pack for pack in packs}


def _reject_unknown_files(folder: Path) -> None:
    known = {*REQUIRED, *OPTIONAL, TEMPLATES_FILE, CLAIMS_FILE}
    for entry in sorted(folder.iterdir()):
        # A misspelt file would otherwise be passed over in silence.
        if entry.suffix in {".yaml", ".yml", ".json"} and entry.name not in known:
            raise PackError(
                f"{entry}: a pack has no such file.", hint=f"Rename or remove it; known are {', '.join(sorted(known))}."
            )


def _slot_types(source: SourceFile) -> dict[str, SlotType]:
    slots = source.parse(SlotsFile).slots
    _unique(source, "slots", [slot.slot_type for slot in slots])
    return {slot.slot_type: slot for slot in slots}


def _fingerprint(folder: Path) -> str:
    digest = hashlib.sha256()
    for name in (*REQUIRED, *OPTIONAL):
        path = folder / name
        if path.exists():
            digest.update(f"{name}\x00".encode() + path.read_bytes() + b"\x00")
    return digest.hexdigest()


def _walk(nodes: Sequence[IntentNode], above: tuple[IntentNode, ...]) -> Iterator[tuple[IntentNode, ...]]:
    for node in nodes:
        path = (*above, node)
        yield path
        yield from _walk(node.children, path)


def _unique(source: SourceFile, field: str, names: Sequence[str]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            place = (field, len(names) - 1 - list(reversed(names)).index(name))
            raise source.error(place, f"{name!r} stands {count} times", hint="Make each one unique.")


def _check(pack: DomainPack, sources: Mapping[str, SourceFile]) -> None:
    """What no file can check alone: names that other files define."""
    _check_intents(pack, sources["intents.yaml"])
    _unique(sources["matters.yaml"], "matters", [matter.name for matter in pack.matters])
    if "synonyms.yaml" in sources:
        _unique(sources["synonyms.yaml"], "synonyms", [group.term for group in pack.synonyms])
    if "faq.yaml" in sources:
        _unique(sources["faq.yaml"], "faq", [entry.faq_id for entry in pack.faq])
        for place, entry in enumerate(pack.faq):
            if entry.intent and entry.intent not in pack.intent_paths:
                raise sources["faq.yaml"].error(("faq", place, "intent"), f"no intent {entry.intent!r} in intents.yaml")
    if "overrides.json" in sources:
        _check_overrides(pack, sources["overrides.json"])


def _check_intents(pack: DomainPack, source: SourceFile) -> None:
    seen: set[str] = set()
    for location, node in _located(pack.intents, ("intents",)):
        if node.intent_id in seen:
            raise source.error((*location, "id"), f"the id {node.intent_id!r} stands twice", hint="Make it unique.")
        seen.add(node.intent_id)
        for slot_type in (*node.requires, *(name for example in node.examples for name in example.slots)):
            if slot_type not in pack.slot_types:
                raise source.error(
                    location, f"intent {node.intent_id!r} names the slot type {slot_type!r}, which slots.yaml lacks"
                )
        for example in node.examples:
            for name, value in example.slots.items():
                slot = pack.slot_types[name]
                if not slot.patterns and value not in slot.ancestors:
                    raise source.error(
                        location,
                        f"the example {example.question!r} labels {name} with {value!r}, "
                        "which is no canonical value in slots.yaml",
                    )
        for matter in node.matters:
            if matter not in pack.matters_by_name:
                raise source.error(
                    location, f"intent {node.intent_id!r} names the matter {matter!r}, which matters.yaml lacks"
                )


def _located(
    nodes: Sequence[IntentNode], above: tuple[str | int, ...]
) -> Iterator[tuple[tuple[str | int, ...], IntentNode]]:
    for place, node in enumerate(nodes):
        location = (*above, place)
        yield location, node
        yield from _located(node.children, (*location, "children"))


def _check_overrides(pack: DomainPack, source: SourceFile) -> None:
    _unique(source, "overrides", [override.override_id for override in pack.overrides])
    for place, override in enumerate(pack.overrides):
        if override.matter not in pack.matters_by_name:
            raise source.error(("overrides", place, "matter"), f"no matter {override.matter!r} in matters.yaml")
        for side, selector in (("match", override.match), ("prevails", override.prevails)):
            for dimension, values in selector.scope.items():
                where = ("overrides", place, side, "scope", dimension)
                slot = pack.slot_types.get(dimension)
                if slot is None or not slot.scope:
                    raise source.error(where, f"{dimension!r} is no scope dimension of slots.yaml")
                for value in values:
                    if not slot.patterns and value not in slot.ancestors:
                        raise source.error(where, f"{value!r} is no canonical value of {dimension!r}")
