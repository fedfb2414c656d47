from trias.v1 import common_pb2 as _common_pb2
from trias.v1 import document_pb2 as _document_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class QuantityKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    QUANTITY_KIND_UNSPECIFIED: _ClassVar[QuantityKind]
    QUANTITY_KIND_MONEY: _ClassVar[QuantityKind]
    QUANTITY_KIND_RATIO: _ClassVar[QuantityKind]
    QUANTITY_KIND_DURATION: _ClassVar[QuantityKind]
    QUANTITY_KIND_DATE: _ClassVar[QuantityKind]
    QUANTITY_KIND_COUNT: _ClassVar[QuantityKind]
    QUANTITY_KIND_LENGTH: _ClassVar[QuantityKind]
    QUANTITY_KIND_MASS: _ClassVar[QuantityKind]
    QUANTITY_KIND_AREA: _ClassVar[QuantityKind]
    QUANTITY_KIND_OTHER: _ClassVar[QuantityKind]

class Bound(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    BOUND_UNSPECIFIED: _ClassVar[Bound]
    BOUND_EXACT: _ClassVar[Bound]
    BOUND_AT_MOST: _ClassVar[Bound]
    BOUND_AT_LEAST: _ClassVar[Bound]
    BOUND_MORE_THAN: _ClassVar[Bound]
    BOUND_LESS_THAN: _ClassVar[Bound]
    BOUND_ABOUT: _ClassVar[Bound]

class RulingReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RULING_REASON_UNSPECIFIED: _ClassVar[RulingReason]
    RULING_REASON_UNCONTESTED: _ClassVar[RulingReason]
    RULING_REASON_OVERRIDE: _ClassVar[RulingReason]
    RULING_REASON_AMENDMENT: _ClassVar[RulingReason]
    RULING_REASON_NEWER: _ClassVar[RulingReason]
    RULING_REASON_AUTHORITY: _ClassVar[RulingReason]
    RULING_REASON_UNDECIDED: _ClassVar[RulingReason]

class SentenceStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SENTENCE_STATUS_UNSPECIFIED: _ClassVar[SentenceStatus]
    SENTENCE_STATUS_VERIFIED: _ClassVar[SentenceStatus]
    SENTENCE_STATUS_WITHHELD: _ClassVar[SentenceStatus]
    SENTENCE_STATUS_NOTICE: _ClassVar[SentenceStatus]

class AnswerStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ANSWER_STATUS_UNSPECIFIED: _ClassVar[AnswerStatus]
    ANSWER_STATUS_ANSWERED: _ClassVar[AnswerStatus]
    ANSWER_STATUS_REFUSED: _ClassVar[AnswerStatus]
    ANSWER_STATUS_NEEDS_REVIEW: _ClassVar[AnswerStatus]
    ANSWER_STATUS_NEEDS_CLARIFICATION: _ClassVar[AnswerStatus]
    ANSWER_STATUS_STOPPED: _ClassVar[AnswerStatus]
QUANTITY_KIND_UNSPECIFIED: QuantityKind
QUANTITY_KIND_MONEY: QuantityKind
QUANTITY_KIND_RATIO: QuantityKind
QUANTITY_KIND_DURATION: QuantityKind
QUANTITY_KIND_DATE: QuantityKind
QUANTITY_KIND_COUNT: QuantityKind
QUANTITY_KIND_LENGTH: QuantityKind
QUANTITY_KIND_MASS: QuantityKind
QUANTITY_KIND_AREA: QuantityKind
QUANTITY_KIND_OTHER: QuantityKind
BOUND_UNSPECIFIED: Bound
BOUND_EXACT: Bound
BOUND_AT_MOST: Bound
BOUND_AT_LEAST: Bound
BOUND_MORE_THAN: Bound
BOUND_LESS_THAN: Bound
BOUND_ABOUT: Bound
RULING_REASON_UNSPECIFIED: RulingReason
RULING_REASON_UNCONTESTED: RulingReason
RULING_REASON_OVERRIDE: RulingReason
RULING_REASON_AMENDMENT: RulingReason
RULING_REASON_NEWER: RulingReason
RULING_REASON_AUTHORITY: RulingReason
RULING_REASON_UNDECIDED: RulingReason
SENTENCE_STATUS_UNSPECIFIED: SentenceStatus
SENTENCE_STATUS_VERIFIED: SentenceStatus
SENTENCE_STATUS_WITHHELD: SentenceStatus
SENTENCE_STATUS_NOTICE: SentenceStatus
ANSWER_STATUS_UNSPECIFIED: AnswerStatus
ANSWER_STATUS_ANSWERED: AnswerStatus
ANSWER_STATUS_REFUSED: AnswerStatus
ANSWER_STATUS_NEEDS_REVIEW: AnswerStatus
ANSWER_STATUS_NEEDS_CLARIFICATION: AnswerStatus
ANSWER_STATUS_STOPPED: AnswerStatus

class Quantity(_message.Message):
    __slots__ = ("text", "value", "unit", "bound", "kind", "start", "end", "upper_value")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    BOUND_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    UPPER_VALUE_FIELD_NUMBER: _ClassVar[int]
    text: str
    value: str
    unit: str
    bound: Bound
    kind: QuantityKind
    start: int
    end: int
    upper_value: str
    def __init__(self, text: _Optional[str] = ..., value: _Optional[str] = ..., unit: _Optional[str] = ..., bound: _Optional[_Union[Bound, str]] = ..., kind: _Optional[_Union[QuantityKind, str]] = ..., start: _Optional[int] = ..., end: _Optional[int] = ..., upper_value: _Optional[str] = ...) -> None: ...

class Scope(_message.Message):
    __slots__ = ("dimension", "values")
    DIMENSION_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    dimension: str
    values: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, dimension: _Optional[str] = ..., values: _Optional[_Iterable[str]] = ...) -> None: ...

class Claim(_message.Message):
    __slots__ = ("claim_id", "text", "source_id", "sentence", "start", "end", "matter", "scopes", "quantities", "negated", "relevance", "decided_by")
    CLAIM_ID_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    SOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    SENTENCE_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    MATTER_FIELD_NUMBER: _ClassVar[int]
    SCOPES_FIELD_NUMBER: _ClassVar[int]
    QUANTITIES_FIELD_NUMBER: _ClassVar[int]
    NEGATED_FIELD_NUMBER: _ClassVar[int]
    RELEVANCE_FIELD_NUMBER: _ClassVar[int]
    DECIDED_BY_FIELD_NUMBER: _ClassVar[int]
    claim_id: str
    text: str
    source_id: str
    sentence: str
    start: int
    end: int
    matter: str
    scopes: _containers.RepeatedCompositeFieldContainer[Scope]
    quantities: _containers.RepeatedCompositeFieldContainer[Quantity]
    negated: bool
    relevance: float
    decided_by: str
    def __init__(self, claim_id: _Optional[str] = ..., text: _Optional[str] = ..., source_id: _Optional[str] = ..., sentence: _Optional[str] = ..., start: _Optional[int] = ..., end: _Optional[int] = ..., matter: _Optional[str] = ..., scopes: _Optional[_Iterable[_Union[Scope, _Mapping]]] = ..., quantities: _Optional[_Iterable[_Union[Quantity, _Mapping]]] = ..., negated: _Optional[bool] = ..., relevance: _Optional[float] = ..., decided_by: _Optional[str] = ...) -> None: ...

class Conflict(_message.Message):
    __slots__ = ("conflict_id", "claim_ids", "matter", "scopes", "explanation")
    CONFLICT_ID_FIELD_NUMBER: _ClassVar[int]
    CLAIM_IDS_FIELD_NUMBER: _ClassVar[int]
    MATTER_FIELD_NUMBER: _ClassVar[int]
    SCOPES_FIELD_NUMBER: _ClassVar[int]
    EXPLANATION_FIELD_NUMBER: _ClassVar[int]
    conflict_id: str
    claim_ids: _containers.RepeatedScalarFieldContainer[str]
    matter: str
    scopes: _containers.RepeatedCompositeFieldContainer[Scope]
    explanation: str
    def __init__(self, conflict_id: _Optional[str] = ..., claim_ids: _Optional[_Iterable[str]] = ..., matter: _Optional[str] = ..., scopes: _Optional[_Iterable[_Union[Scope, _Mapping]]] = ..., explanation: _Optional[str] = ...) -> None: ...

class Ruling(_message.Message):
    __slots__ = ("ruling_id", "claim_id", "reason", "explanation", "beaten_claim_ids", "conflict_id", "override_id", "score")
    RULING_ID_FIELD_NUMBER: _ClassVar[int]
    CLAIM_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    EXPLANATION_FIELD_NUMBER: _ClassVar[int]
    BEATEN_CLAIM_IDS_FIELD_NUMBER: _ClassVar[int]
    CONFLICT_ID_FIELD_NUMBER: _ClassVar[int]
    OVERRIDE_ID_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    ruling_id: str
    claim_id: str
    reason: RulingReason
    explanation: str
    beaten_claim_ids: _containers.RepeatedScalarFieldContainer[str]
    conflict_id: str
    override_id: str
    score: float
    def __init__(self, ruling_id: _Optional[str] = ..., claim_id: _Optional[str] = ..., reason: _Optional[_Union[RulingReason, str]] = ..., explanation: _Optional[str] = ..., beaten_claim_ids: _Optional[_Iterable[str]] = ..., conflict_id: _Optional[str] = ..., override_id: _Optional[str] = ..., score: _Optional[float] = ...) -> None: ...

class Citation(_message.Message):
    __slots__ = ("number", "source_id", "snippet_hash", "sentence", "display", "place", "document_id", "document_title")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    SOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    SNIPPET_HASH_FIELD_NUMBER: _ClassVar[int]
    SENTENCE_FIELD_NUMBER: _ClassVar[int]
    DISPLAY_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_ID_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_TITLE_FIELD_NUMBER: _ClassVar[int]
    number: int
    source_id: str
    snippet_hash: str
    sentence: str
    display: str
    place: _document_pb2.Place
    document_id: str
    document_title: str
    def __init__(self, number: _Optional[int] = ..., source_id: _Optional[str] = ..., snippet_hash: _Optional[str] = ..., sentence: _Optional[str] = ..., display: _Optional[str] = ..., place: _Optional[_Union[_document_pb2.Place, _Mapping]] = ..., document_id: _Optional[str] = ..., document_title: _Optional[str] = ...) -> None: ...

class EvidenceChain(_message.Message):
    __slots__ = ("sentence_index", "ruling_id", "claim_id", "citation_number", "sentence", "source_id", "clause_label", "document_id", "document_title", "place")
    SENTENCE_INDEX_FIELD_NUMBER: _ClassVar[int]
    RULING_ID_FIELD_NUMBER: _ClassVar[int]
    CLAIM_ID_FIELD_NUMBER: _ClassVar[int]
    CITATION_NUMBER_FIELD_NUMBER: _ClassVar[int]
    SENTENCE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    CLAUSE_LABEL_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_ID_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_TITLE_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    sentence_index: int
    ruling_id: str
    claim_id: str
    citation_number: int
    sentence: str
    source_id: str
    clause_label: str
    document_id: str
    document_title: str
    place: _document_pb2.Place
    def __init__(self, sentence_index: _Optional[int] = ..., ruling_id: _Optional[str] = ..., claim_id: _Optional[str] = ..., citation_number: _Optional[int] = ..., sentence: _Optional[str] = ..., source_id: _Optional[str] = ..., clause_label: _Optional[str] = ..., document_id: _Optional[str] = ..., document_title: _Optional[str] = ..., place: _Optional[_Union[_document_pb2.Place, _Mapping]] = ...) -> None: ...

class AnswerSentence(_message.Message):
    __slots__ = ("text", "citation_numbers", "status", "ruling_id", "reason")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    CITATION_NUMBERS_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    RULING_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    text: str
    citation_numbers: _containers.RepeatedScalarFieldContainer[int]
    status: SentenceStatus
    ruling_id: str
    reason: str
    def __init__(self, text: _Optional[str] = ..., citation_numbers: _Optional[_Iterable[int]] = ..., status: _Optional[_Union[SentenceStatus, str]] = ..., ruling_id: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class VerificationSummary(_message.Message):
    __slots__ = ("sentences_checked", "sentences_verified", "sentences_withheld", "numbers_checked", "numbers_equal", "sources", "unverified", "as_of_date")
    SENTENCES_CHECKED_FIELD_NUMBER: _ClassVar[int]
    SENTENCES_VERIFIED_FIELD_NUMBER: _ClassVar[int]
    SENTENCES_WITHHELD_FIELD_NUMBER: _ClassVar[int]
    NUMBERS_CHECKED_FIELD_NUMBER: _ClassVar[int]
    NUMBERS_EQUAL_FIELD_NUMBER: _ClassVar[int]
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    UNVERIFIED_FIELD_NUMBER: _ClassVar[int]
    AS_OF_DATE_FIELD_NUMBER: _ClassVar[int]
    sentences_checked: int
    sentences_verified: int
    sentences_withheld: int
    numbers_checked: int
    numbers_equal: int
    sources: _containers.RepeatedCompositeFieldContainer[VerifiedSource]
    unverified: _containers.RepeatedScalarFieldContainer[str]
    as_of_date: str
    def __init__(self, sentences_checked: _Optional[int] = ..., sentences_verified: _Optional[int] = ..., sentences_withheld: _Optional[int] = ..., numbers_checked: _Optional[int] = ..., numbers_equal: _Optional[int] = ..., sources: _Optional[_Iterable[_Union[VerifiedSource, _Mapping]]] = ..., unverified: _Optional[_Iterable[str]] = ..., as_of_date: _Optional[str] = ...) -> None: ...

class VerifiedSource(_message.Message):
    __slots__ = ("document_id", "title", "version", "publish_date", "effective_date", "status")
    DOCUMENT_ID_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PUBLISH_DATE_FIELD_NUMBER: _ClassVar[int]
    EFFECTIVE_DATE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    document_id: str
    title: str
    version: str
    publish_date: str
    effective_date: str
    status: _document_pb2.DocumentStatus
    def __init__(self, document_id: _Optional[str] = ..., title: _Optional[str] = ..., version: _Optional[str] = ..., publish_date: _Optional[str] = ..., effective_date: _Optional[str] = ..., status: _Optional[_Union[_document_pb2.DocumentStatus, str]] = ...) -> None: ...

class FollowUp(_message.Message):
    __slots__ = ("requery", "refine_intent")
    REQUERY_FIELD_NUMBER: _ClassVar[int]
    REFINE_INTENT_FIELD_NUMBER: _ClassVar[int]
    requery: Requery
    refine_intent: RefineIntent
    def __init__(self, requery: _Optional[_Union[Requery, _Mapping]] = ..., refine_intent: _Optional[_Union[RefineIntent, _Mapping]] = ...) -> None: ...

class Requery(_message.Message):
    __slots__ = ("query", "reason", "document_ids")
    QUERY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_IDS_FIELD_NUMBER: _ClassVar[int]
    query: str
    reason: str
    document_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, query: _Optional[str] = ..., reason: _Optional[str] = ..., document_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class RefineIntent(_message.Message):
    __slots__ = ("hint", "reason")
    HINT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    hint: str
    reason: str
    def __init__(self, hint: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class Answer(_message.Message):
    __slots__ = ("tier", "status", "text", "sentences", "citations", "evidence", "claims", "conflicts", "rulings", "confidence", "verification", "provisional", "degraded", "degradations", "notice")
    TIER_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    SENTENCES_FIELD_NUMBER: _ClassVar[int]
    CITATIONS_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    CLAIMS_FIELD_NUMBER: _ClassVar[int]
    CONFLICTS_FIELD_NUMBER: _ClassVar[int]
    RULINGS_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    VERIFICATION_FIELD_NUMBER: _ClassVar[int]
    PROVISIONAL_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_FIELD_NUMBER: _ClassVar[int]
    DEGRADATIONS_FIELD_NUMBER: _ClassVar[int]
    NOTICE_FIELD_NUMBER: _ClassVar[int]
    tier: _common_pb2.Tier
    status: AnswerStatus
    text: str
    sentences: _containers.RepeatedCompositeFieldContainer[AnswerSentence]
    citations: _containers.RepeatedCompositeFieldContainer[Citation]
    evidence: _containers.RepeatedCompositeFieldContainer[EvidenceChain]
    claims: _containers.RepeatedCompositeFieldContainer[Claim]
    conflicts: _containers.RepeatedCompositeFieldContainer[Conflict]
    rulings: _containers.RepeatedCompositeFieldContainer[Ruling]
    confidence: float
    verification: VerificationSummary
    provisional: bool
    degraded: bool
    degradations: _containers.RepeatedCompositeFieldContainer[_common_pb2.Degradation]
    notice: str
    def __init__(self, tier: _Optional[_Union[_common_pb2.Tier, str]] = ..., status: _Optional[_Union[AnswerStatus, str]] = ..., text: _Optional[str] = ..., sentences: _Optional[_Iterable[_Union[AnswerSentence, _Mapping]]] = ..., citations: _Optional[_Iterable[_Union[Citation, _Mapping]]] = ..., evidence: _Optional[_Iterable[_Union[EvidenceChain, _Mapping]]] = ..., claims: _Optional[_Iterable[_Union[Claim, _Mapping]]] = ..., conflicts: _Optional[_Iterable[_Union[Conflict, _Mapping]]] = ..., rulings: _Optional[_Iterable[_Union[Ruling, _Mapping]]] = ..., confidence: _Optional[float] = ..., verification: _Optional[_Union[VerificationSummary, _Mapping]] = ..., provisional: _Optional[bool] = ..., degraded: _Optional[bool] = ..., degradations: _Optional[_Iterable[_Union[_common_pb2.Degradation, _Mapping]]] = ..., notice: _Optional[str] = ...) -> None: ...
