from trias.v1 import common_pb2 as _common_pb2
from trias.v1 import plan_pb2 as _plan_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RouteRequest(_message.Message):
    __slots__ = ("question", "domain", "as_of_date", "skip_rewrite", "hint")
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    AS_OF_DATE_FIELD_NUMBER: _ClassVar[int]
    SKIP_REWRITE_FIELD_NUMBER: _ClassVar[int]
    HINT_FIELD_NUMBER: _ClassVar[int]
    question: str
    domain: str
    as_of_date: str
    skip_rewrite: bool
    hint: str
    def __init__(self, question: _Optional[str] = ..., domain: _Optional[str] = ..., as_of_date: _Optional[str] = ..., skip_rewrite: _Optional[bool] = ..., hint: _Optional[str] = ...) -> None: ...

class RouteResponse(_message.Message):
    __slots__ = ("plan", "timing", "degradations")
    PLAN_FIELD_NUMBER: _ClassVar[int]
    TIMING_FIELD_NUMBER: _ClassVar[int]
    DEGRADATIONS_FIELD_NUMBER: _ClassVar[int]
    plan: _plan_pb2.Plan
    timing: _common_pb2.Timing
    degradations: _containers.RepeatedCompositeFieldContainer[_common_pb2.Degradation]
    def __init__(self, plan: _Optional[_Union[_plan_pb2.Plan, _Mapping]] = ..., timing: _Optional[_Union[_common_pb2.Timing, _Mapping]] = ..., degradations: _Optional[_Iterable[_Union[_common_pb2.Degradation, _Mapping]]] = ...) -> None: ...
