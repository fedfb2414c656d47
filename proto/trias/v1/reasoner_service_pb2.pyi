from trias.v1 import common_pb2 as _common_pb2
from trias.v1 import passage_pb2 as _passage_pb2
from trias.v1 import plan_pb2 as _plan_pb2
from trias.v1 import reasoning_pb2 as _reasoning_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ReasonRequest(_message.Message):
    __slots__ = ("plan", "passages", "tier", "follow_up_round", "retrieval_confidence")
    PLAN_FIELD_NUMBER: _ClassVar[int]
    PASSAGES_FIELD_NUMBER: _ClassVar[int]
    TIER_FIELD_NUMBER: _ClassVar[int]
    FOLLOW_UP_ROUND_FIELD_NUMBER: _ClassVar[int]
    RETRIEVAL_CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    plan: _plan_pb2.Plan
    passages: _containers.RepeatedCompositeFieldContainer[_passage_pb2.Passage]
    tier: _common_pb2.Tier
    follow_up_round: int
    retrieval_confidence: float
    def __init__(self, plan: _Optional[_Union[_plan_pb2.Plan, _Mapping]] = ..., passages: _Optional[_Iterable[_Union[_passage_pb2.Passage, _Mapping]]] = ..., tier: _Optional[_Union[_common_pb2.Tier, str]] = ..., follow_up_round: _Optional[int] = ..., retrieval_confidence: _Optional[float] = ...) -> None: ...

class ReasonResponse(_message.Message):
    __slots__ = ("answer", "follow_up", "timing")
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    FOLLOW_UP_FIELD_NUMBER: _ClassVar[int]
    TIMING_FIELD_NUMBER: _ClassVar[int]
    answer: _reasoning_pb2.Answer
    follow_up: _reasoning_pb2.FollowUp
    timing: _common_pb2.Timing
    def __init__(self, answer: _Optional[_Union[_reasoning_pb2.Answer, _Mapping]] = ..., follow_up: _Optional[_Union[_reasoning_pb2.FollowUp, _Mapping]] = ..., timing: _Optional[_Union[_common_pb2.Timing, _Mapping]] = ...) -> None: ...
