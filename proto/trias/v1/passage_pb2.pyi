from trias.v1 import document_pb2 as _document_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Validity(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VALIDITY_UNSPECIFIED: _ClassVar[Validity]
    VALIDITY_IN_FORCE: _ClassVar[Validity]
    VALIDITY_NOT_YET_EFFECTIVE: _ClassVar[Validity]
    VALIDITY_EXPIRED: _ClassVar[Validity]
    VALIDITY_REPEALED: _ClassVar[Validity]
    VALIDITY_AMENDED: _ClassVar[Validity]
    VALIDITY_UNKNOWN: _ClassVar[Validity]
VALIDITY_UNSPECIFIED: Validity
VALIDITY_IN_FORCE: Validity
VALIDITY_NOT_YET_EFFECTIVE: Validity
VALIDITY_EXPIRED: Validity
VALIDITY_REPEALED: Validity
VALIDITY_AMENDED: Validity
VALIDITY_UNKNOWN: Validity

class ScoreTerm(_message.Message):
    __slots__ = ("value", "raw", "weight", "contribution", "present", "origin")
    VALUE_FIELD_NUMBER: _ClassVar[int]
    RAW_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    CONTRIBUTION_FIELD_NUMBER: _ClassVar[int]
    PRESENT_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    value: float
    raw: float
    weight: float
    contribution: float
    present: bool
    origin: str
    def __init__(self, value: _Optional[float] = ..., raw: _Optional[float] = ..., weight: _Optional[float] = ..., contribution: _Optional[float] = ..., present: _Optional[bool] = ..., origin: _Optional[str] = ...) -> None: ...

class Scores(_message.Message):
    __slots__ = ("final", "semantic", "bm25", "graph", "position", "consistency")
    FINAL_FIELD_NUMBER: _ClassVar[int]
    SEMANTIC_FIELD_NUMBER: _ClassVar[int]
    BM25_FIELD_NUMBER: _ClassVar[int]
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_FIELD_NUMBER: _ClassVar[int]
    final: float
    semantic: ScoreTerm
    bm25: ScoreTerm
    graph: ScoreTerm
    position: ScoreTerm
    consistency: ScoreTerm
    def __init__(self, final: _Optional[float] = ..., semantic: _Optional[_Union[ScoreTerm, _Mapping]] = ..., bm25: _Optional[_Union[ScoreTerm, _Mapping]] = ..., graph: _Optional[_Union[ScoreTerm, _Mapping]] = ..., position: _Optional[_Union[ScoreTerm, _Mapping]] = ..., consistency: _Optional[_Union[ScoreTerm, _Mapping]] = ...) -> None: ...

class Passage(_message.Message):
    __slots__ = ("source_id", "snippet_hash", "confidence", "scores", "clause", "document", "validity", "superseded_by", "references", "sub_question_ids", "rank")
    SOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    SNIPPET_HASH_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    SCORES_FIELD_NUMBER: _ClassVar[int]
    CLAUSE_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_FIELD_NUMBER: _ClassVar[int]
    VALIDITY_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDED_BY_FIELD_NUMBER: _ClassVar[int]
    REFERENCES_FIELD_NUMBER: _ClassVar[int]
    SUB_QUESTION_IDS_FIELD_NUMBER: _ClassVar[int]
    RANK_FIELD_NUMBER: _ClassVar[int]
    source_id: str
    snippet_hash: str
    confidence: float
    scores: Scores
    clause: _document_pb2.Clause
    document: _document_pb2.Document
    validity: Validity
    superseded_by: str
    references: _containers.RepeatedCompositeFieldContainer[_document_pb2.Reference]
    sub_question_ids: _containers.RepeatedScalarFieldContainer[str]
    rank: int
    def __init__(self, source_id: _Optional[str] = ..., snippet_hash: _Optional[str] = ..., confidence: _Optional[float] = ..., scores: _Optional[_Union[Scores, _Mapping]] = ..., clause: _Optional[_Union[_document_pb2.Clause, _Mapping]] = ..., document: _Optional[_Union[_document_pb2.Document, _Mapping]] = ..., validity: _Optional[_Union[Validity, str]] = ..., superseded_by: _Optional[str] = ..., references: _Optional[_Iterable[_Union[_document_pb2.Reference, _Mapping]]] = ..., sub_question_ids: _Optional[_Iterable[str]] = ..., rank: _Optional[int] = ...) -> None: ...
