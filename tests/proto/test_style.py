"""The contract keeps buf's STANDARD rules, read from the descriptors themselves."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.protobuf.descriptor import EnumDescriptor, FileDescriptor, ServiceDescriptor

CONTRACT = Path(__file__).resolve().parents[2] / "proto" / "trias" / "v1"
FILES = sorted(path.stem for path in CONTRACT.glob("*.proto"))


def descriptor(stem: str) -> FileDescriptor:
    return importlib.import_module(f"trias.v1.{stem}_pb2").DESCRIPTOR  # type: ignore[no-any-return]


def services() -> Iterator[ServiceDescriptor]:
    for stem in FILES:
        yield from descriptor(stem).services_by_name.values()


def enums() -> Iterator[EnumDescriptor]:
    for stem in FILES:
        yield from descriptor(stem).enum_types_by_name.values()


def upper_snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).upper()


@pytest.mark.parametrize("stem", FILES)
def test_file_is_in_its_package_and_named_in_snake_case(stem: str) -> None:
    assert descriptor(stem).package == "trias.v1"
    assert re.fullmatch(r"[a-z][a-z0-9_]*", stem)


@pytest.mark.parametrize("enum", list(enums()), ids=lambda enum: enum.name)
def test_enum_values_carry_the_enum_s_name_and_start_unspecified(enum: EnumDescriptor) -> None:
    prefix = upper_snake(enum.name)
    assert enum.values_by_number[0].name == f"{prefix}_UNSPECIFIED"
    assert all(value.name.startswith(f"{prefix}_") for value in enum.values)


@pytest.mark.parametrize("service", list(services()), ids=lambda service: service.name)
def test_service_has_messages_of_its_own_for_every_call(service: ServiceDescriptor) -> None:
    assert service.name.endswith("Service")
    for method in service.methods:
        assert method.input_type.name == f"{method.name}Request"
        assert method.output_type.name == f"{method.name}Response"


def test_field_names_are_snake_case() -> None:
    wrong = [
        f"{message.name}.{field.name}"
        for stem in FILES
        for message in descriptor(stem).message_types_by_name.values()
        for field in message.fields
        if not re.fullmatch(r"[a-z][a-z0-9_]*", field.name)
    ]
    assert not wrong
