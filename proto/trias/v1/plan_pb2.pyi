from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class QuestionType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    QUESTION_TYPE_UNSPECIFIED: _ClassVar[QuestionType]
    QUESTION_TYPE_FACT: _ClassVar[QuestionType]
    QUESTION_TYPE_YES_NO: _ClassVar[QuestionType]
    QUESTION_TYPE_DEFINITION: _ClassVar[QuestionType]
    QUESTION_TYPE_PROCEDURE: _ClassVar[QuestionType]
    QUESTION_TYPE_COMPARISON: _ClassVar[QuestionType]
    QUESTION_TYPE_ENUMERATION: _ClassVar[QuestionType]
    QUESTION_TYPE_REASON: _ClassVar[QuestionType]

class Strategy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STRATEGY_UNSPECIFIED: _ClassVar[Strategy]
    STRATEGY_FULL: _ClassVar[Strategy]
    STRATEGY_FAQ: _ClassVar[Strategy]
    STRATEGY_CACHED: _ClassVar[Strategy]
    STRATEGY_NO_RETRIEVAL: _ClassVar[Strategy]

class VersionPreference(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VERSION_PREFERENCE_UNSPECIFIED: _ClassVar[VersionPreference]
    VERSION_PREFERENCE_CURRENT: _ClassVar[VersionPreference]
    VERSION_PREFERENCE_NAMED: _ClassVar[VersionPreference]
    VERSION_PREFERENCE_ALL: _ClassVar[VersionPreference]
QUESTION_TYPE_UNSPECIFIED: QuestionType
QUESTION_TYPE_FACT: QuestionType
QUESTION_TYPE_YES_NO: QuestionType
QUESTION_TYPE_DEFINITION: QuestionType
QUESTION_TYPE_PROCEDURE: QuestionType
QUESTION_TYPE_COMPARISON: QuestionType
QUESTION_TYPE_ENUMERATION: QuestionType
QUESTION_TYPE_REASON: QuestionType
STRATEGY_UNSPECIFIED: Strategy
STRATEGY_FULL: Strategy
STRATEGY_FAQ: Strategy
STRATEGY_CACHED: Strategy
STRATEGY_NO_RETRIEVAL: Strategy
VERSION_PREFERENCE_UNSPECIFIED: VersionPreference
VERSION_PREFERENCE_CURRENT: VersionPreference
VERSION_PREFERENCE_NAMED: VersionPreference
VERSION_PREFERENCE_ALL: VersionPreference

class Intent(_message.Message):
    __slots__ = ("path", "intent_id", "confidence", "decided_by")
    PATH_FIELD_NUMBER: _ClassVar[int]
    INTENT_ID_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    DECIDED_BY_FIELD_NUMBER: _ClassVar[int]
    path: _containers.RepeatedScalarFieldContainer[str]
    intent_id: str
    confidence: float
    decided_by: str
    def __init__(self, path: _Optional[_Iterable[str]] = ..., intent_id: _Optional[str] = ..., confidence: _Optional[float] = ..., decided_by: _Optional[str] = ...) -> None: ...

class Slot(_message.Message):
    __slots__ = ("type", "text", "value", "start", "end", "confidence", "decided_by")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    DECIDED_BY_FIELD_NUMBER: _ClassVar[int]
    type: str
    text: str
    value: str
    start: int
    end: int
    confidence: float
    decided_by: str
    def __init__(self, type: _Optional[str] = ..., text: _Optional[str] = ..., value: _Optional[str] = ..., start: _Optional[int] = ..., end: _Optional[int] = ..., confidence: _Optional[float] = ..., decided_by: _Optional[str] = ...) -> None: ...

class SubQuestion(_message.Message):
    __slots__ = ("sub_question_id", "text", "slots", "question_type")
    SUB_QUESTION_ID_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    QUESTION_TYPE_FIELD_NUMBER: _ClassVar[int]
    sub_question_id: str
    text: str
    slots: _containers.RepeatedCompositeFieldContainer[Slot]
    question_type: QuestionType
    def __init__(self, sub_question_id: _Optional[str] = ..., text: _Optional[str] = ..., slots: _Optional[_Iterable[_Union[Slot, _Mapping]]] = ..., question_type: _Optional[_Union[QuestionType, str]] = ...) -> None: ...

class DocumentMention(_message.Message):
    __slots__ = ("text", "clause_label", "document_ids")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    CLAUSE_LABEL_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_IDS_FIELD_NUMBER: _ClassVar[int]
    text: str
    clause_label: str
    document_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, text: _Optional[str] = ..., clause_label: _Optional[str] = ..., document_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class Rewrite(_message.Message):
    __slots__ = ("before", "after", "decided_by")
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    DECIDED_BY_FIELD_NUMBER: _ClassVar[int]
    before: str
    after: str
    decided_by: str
    def __init__(self, before: _Optional[str] = ..., after: _Optional[str] = ..., decided_by: _Optional[str] = ...) -> None: ...

class Clarification(_message.Message):
    __slots__ = ("about", "question", "alternatives", "required")
    ABOUT_FIELD_NUMBER: _ClassVar[int]
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    ALTERNATIVES_FIELD_NUMBER: _ClassVar[int]
    REQUIRED_FIELD_NUMBER: _ClassVar[int]
    about: str
    question: str
    alternatives: _containers.RepeatedScalarFieldContainer[str]
    required: bool
    def __init__(self, about: _Optional[str] = ..., question: _Optional[str] = ..., alternatives: _Optional[_Iterable[str]] = ..., required: _Optional[bool] = ...) -> None: ...

class CostEstimate(_message.Message):
    __slots__ = ("strategy", "milliseconds", "tokens")
    STRATEGY_FIELD_NUMBER: _ClassVar[int]
    MILLISECONDS_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    strategy: Strategy
    milliseconds: float
    tokens: int
    def __init__(self, strategy: _Optional[_Union[Strategy, str]] = ..., milliseconds: _Optional[float] = ..., tokens: _Optional[int] = ...) -> None: ...

class Plan(_message.Message):
    __slots__ = ("plan_id", "question", "normalized_question", "rewrites", "domain", "intent", "alternatives", "slots", "question_type", "sub_questions", "named_documents", "version_preference", "version_label", "as_of_date", "strategy", "estimates", "confidence", "clarifications", "is_default", "queued_for_labelling")
    PLAN_ID_FIELD_NUMBER: _ClassVar[int]
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    NORMALIZED_QUESTION_FIELD_NUMBER: _ClassVar[int]
    REWRITES_FIELD_NUMBER: _ClassVar[int]
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    INTENT_FIELD_NUMBER: _ClassVar[int]
    ALTERNATIVES_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    QUESTION_TYPE_FIELD_NUMBER: _ClassVar[int]
    SUB_QUESTIONS_FIELD_NUMBER: _ClassVar[int]
    NAMED_DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    VERSION_PREFERENCE_FIELD_NUMBER: _ClassVar[int]
    VERSION_LABEL_FIELD_NUMBER: _ClassVar[int]
    AS_OF_DATE_FIELD_NUMBER: _ClassVar[int]
    STRATEGY_FIELD_NUMBER: _ClassVar[int]
    ESTIMATES_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    CLARIFICATIONS_FIELD_NUMBER: _ClassVar[int]
    IS_DEFAULT_FIELD_NUMBER: _ClassVar[int]
    QUEUED_FOR_LABELLING_FIELD_NUMBER: _ClassVar[int]
    plan_id: str
    question: str
    normalized_question: str
    rewrites: _containers.RepeatedCompositeFieldContainer[Rewrite]
    domain: str
    intent: Intent
    alternatives: _containers.RepeatedCompositeFieldContainer[Intent]
    slots: _containers.RepeatedCompositeFieldContainer[Slot]
    question_type: QuestionType
    sub_questions: _containers.RepeatedCompositeFieldContainer[SubQuestion]
    named_documents: _containers.RepeatedCompositeFieldContainer[DocumentMention]
    version_preference: VersionPreference
    version_label: str
    as_of_date: str
    strategy: Strategy
    estimates: _containers.RepeatedCompositeFieldContainer[CostEstimate]
    confidence: float
    clarifications: _containers.RepeatedCompositeFieldContainer[Clarification]
    is_default: bool
    queued_for_labelling: bool
    def __init__(self, plan_id: _Optional[str] = ..., question: _Optional[str] = ..., normalized_question: _Optional[str] = ..., rewrites: _Optional[_Iterable[_Union[Rewrite, _Mapping]]] = ..., domain: _Optional[str] = ..., intent: _Optional[_Union[Intent, _Mapping]] = ..., alternatives: _Optional[_Iterable[_Union[Intent, _Mapping]]] = ..., slots: _Optional[_Iterable[_Union[Slot, _Mapping]]] = ..., question_type: _Optional[_Union[QuestionType, str]] = ..., sub_questions: _Optional[_Iterable[_Union[SubQuestion, _Mapping]]] = ..., named_documents: _Optional[_Iterable[_Union[DocumentMention, _Mapping]]] = ..., version_preference: _Optional[_Union[VersionPreference, str]] = ..., version_label: _Optional[str] = ..., as_of_date: _Optional[str] = ..., strategy: _Optional[_Union[Strategy, str]] = ..., estimates: _Optional[_Iterable[_Union[CostEstimate, _Mapping]]] = ..., confidence: _Optional[float] = ..., clarifications: _Optional[_Iterable[_Union[Clarification, _Mapping]]] = ..., is_default: _Optional[bool] = ..., queued_for_labelling: _Optional[bool] = ...) -> None: ...
