from trias.v1 import common_pb2 as _common_pb2
from trias.v1 import passage_pb2 as _passage_pb2
from trias.v1 import plan_pb2 as _plan_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RetrieveRequest(_message.Message):
    __slots__ = ("plan", "top_k", "query", "document_ids")
    PLAN_FIELD_NUMBER: _ClassVar[int]
    TOP_K_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_IDS_FIELD_NUMBER: _ClassVar[int]
    plan: _plan_pb2.Plan
    top_k: int
    query: str
    document_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, plan: _Optional[_Union[_plan_pb2.Plan, _Mapping]] = ..., top_k: _Optional[int] = ..., query: _Optional[str] = ..., document_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class SearchReport(_message.Message):
    __slots__ = ("search", "hits", "wall_ms", "error")
    SEARCH_FIELD_NUMBER: _ClassVar[int]
    HITS_FIELD_NUMBER: _ClassVar[int]
    WALL_MS_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    search: str
    hits: int
    wall_ms: float
    error: str
    def __init__(self, search: _Optional[str] = ..., hits: _Optional[int] = ..., wall_ms: _Optional[float] = ..., error: _Optional[str] = ...) -> None: ...

class RetrieveResponse(_message.Message):
    __slots__ = ("passages", "confidence", "searches", "suggestions", "timing", "degradations", "embedder_fingerprint")
    PASSAGES_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    SEARCHES_FIELD_NUMBER: _ClassVar[int]
    SUGGESTIONS_FIELD_NUMBER: _ClassVar[int]
    TIMING_FIELD_NUMBER: _ClassVar[int]
    DEGRADATIONS_FIELD_NUMBER: _ClassVar[int]
    EMBEDDER_FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    passages: _containers.RepeatedCompositeFieldContainer[_passage_pb2.Passage]
    confidence: float
    searches: _containers.RepeatedCompositeFieldContainer[SearchReport]
    suggestions: _containers.RepeatedScalarFieldContainer[str]
    timing: _common_pb2.Timing
    degradations: _containers.RepeatedCompositeFieldContainer[_common_pb2.Degradation]
    embedder_fingerprint: str
    def __init__(self, passages: _Optional[_Iterable[_Union[_passage_pb2.Passage, _Mapping]]] = ..., confidence: _Optional[float] = ..., searches: _Optional[_Iterable[_Union[SearchReport, _Mapping]]] = ..., suggestions: _Optional[_Iterable[str]] = ..., timing: _Optional[_Union[_common_pb2.Timing, _Mapping]] = ..., degradations: _Optional[_Iterable[_Union[_common_pb2.Degradation, _Mapping]]] = ..., embedder_fingerprint: _Optional[str] = ...) -> None: ...
