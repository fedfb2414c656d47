from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Tier(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TIER_UNSPECIFIED: _ClassVar[Tier]
    TIER_FAST: _ClassVar[Tier]
    TIER_DEEP: _ClassVar[Tier]
    TIER_FALLBACK: _ClassVar[Tier]

class FaultLevel(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FAULT_LEVEL_UNSPECIFIED: _ClassVar[FaultLevel]
    FAULT_LEVEL_RECOVERABLE: _ClassVar[FaultLevel]
    FAULT_LEVEL_DEGRADED: _ClassVar[FaultLevel]
    FAULT_LEVEL_STOP: _ClassVar[FaultLevel]
TIER_UNSPECIFIED: Tier
TIER_FAST: Tier
TIER_DEEP: Tier
TIER_FALLBACK: Tier
FAULT_LEVEL_UNSPECIFIED: FaultLevel
FAULT_LEVEL_RECOVERABLE: FaultLevel
FAULT_LEVEL_DEGRADED: FaultLevel
FAULT_LEVEL_STOP: FaultLevel

class Degradation(_message.Message):
    __slots__ = ("level", "component", "reason", "detail")
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    COMPONENT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    level: FaultLevel
    component: str
    reason: str
    detail: str
    def __init__(self, level: _Optional[_Union[FaultLevel, str]] = ..., component: _Optional[str] = ..., reason: _Optional[str] = ..., detail: _Optional[str] = ...) -> None: ...

class StageTiming(_message.Message):
    __slots__ = ("stage", "wall_ms", "model_ms", "index_ms")
    STAGE_FIELD_NUMBER: _ClassVar[int]
    WALL_MS_FIELD_NUMBER: _ClassVar[int]
    MODEL_MS_FIELD_NUMBER: _ClassVar[int]
    INDEX_MS_FIELD_NUMBER: _ClassVar[int]
    stage: str
    wall_ms: float
    model_ms: float
    index_ms: float
    def __init__(self, stage: _Optional[str] = ..., wall_ms: _Optional[float] = ..., model_ms: _Optional[float] = ..., index_ms: _Optional[float] = ...) -> None: ...

class Timing(_message.Message):
    __slots__ = ("total_ms", "model_ms", "index_ms", "overhead_ms", "stages")
    TOTAL_MS_FIELD_NUMBER: _ClassVar[int]
    MODEL_MS_FIELD_NUMBER: _ClassVar[int]
    INDEX_MS_FIELD_NUMBER: _ClassVar[int]
    OVERHEAD_MS_FIELD_NUMBER: _ClassVar[int]
    STAGES_FIELD_NUMBER: _ClassVar[int]
    total_ms: float
    model_ms: float
    index_ms: float
    overhead_ms: float
    stages: _containers.RepeatedCompositeFieldContainer[StageTiming]
    def __init__(self, total_ms: _Optional[float] = ..., model_ms: _Optional[float] = ..., index_ms: _Optional[float] = ..., overhead_ms: _Optional[float] = ..., stages: _Optional[_Iterable[_Union[StageTiming, _Mapping]]] = ...) -> None: ...
