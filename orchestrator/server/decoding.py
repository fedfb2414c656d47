"""Requests that cannot be parsed, told apart: which field holds what is not valid UTF-8.

grpc answers UNKNOWN where a deserializer raises, and protobuf does not say which field it was. So the deserializer
returns what is wrong instead of raising it, and the boundary turns that into INVALID_ARGUMENT.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import DecodeError, Message
from google.protobuf.unknown_fields import UnknownFieldSet

from orchestrator.errors import InvalidFieldError

__all__ = ["Malformed", "tolerant"]

_LENGTH_DELIMITED = 2  # the wire type of strings, bytes and messages


@dataclass(frozen=True, slots=True)
class Malformed:
    """Stands in for a request that could not be parsed."""

    error: InvalidFieldError


def tolerant(kind: type[Message]) -> Callable[[bytes], Message | Malformed]:
    """A deserializer for ``kind`` that never raises."""

    def parse(data: bytes) -> Message | Malformed:
        try:
            return kind.FromString(data)
        except DecodeError:
            field = _undecodable(kind.DESCRIPTOR, data)
            if field is not None:
                return Malformed(InvalidFieldError(field, "is not valid UTF-8.", hint="Send text as UTF-8."))
            return Malformed(
                InvalidFieldError(
                    "", f"The request is not a {kind.DESCRIPTOR.full_name} message: it is cut or garbled."
                )
            )

    return parse


def _undecodable(descriptor: Any, data: bytes) -> str | None:
    """The path of the first string field of a message that is not valid UTF-8; None where there is none.

    Read as an `Empty`, every field is an unknown one and comes back as its bytes.
    """
    try:
        fields = UnknownFieldSet(Empty.FromString(data))
    except DecodeError:
        return None
    for found in fields:  # type: ignore[attr-defined]  # its stubs lack __iter__
        field = descriptor.fields_by_number.get(found.field_number)
        if field is None or found.wire_type != _LENGTH_DELIMITED:
            continue
        if field.type == FieldDescriptor.TYPE_STRING and not _is_utf8(found.data):
            return str(field.name)
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            below = _undecodable(field.message_type, found.data)
            if below is not None:
                return f"{field.name}.{below}"
    return None


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
