import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from trias.v1 import common_pb2 as _common_pb2
from trias.v1 import passage_pb2 as _passage_pb2
from trias.v1 import plan_pb2 as _plan_pb2
from trias.v1 import reasoning_pb2 as _reasoning_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Verdict(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VERDICT_UNSPECIFIED: _ClassVar[Verdict]
    VERDICT_CORRECT: _ClassVar[Verdict]
    VERDICT_INCOMPLETE: _ClassVar[Verdict]
    VERDICT_WRONG: _ClassVar[Verdict]
VERDICT_UNSPECIFIED: Verdict
VERDICT_CORRECT: Verdict
VERDICT_INCOMPLETE: Verdict
VERDICT_WRONG: Verdict

class AskOptions(_message.Message):
    __slots__ = ("domain", "as_of_date", "top_k", "skip_rewrite", "max_tier", "explain")
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    AS_OF_DATE_FIELD_NUMBER: _ClassVar[int]
    TOP_K_FIELD_NUMBER: _ClassVar[int]
    SKIP_REWRITE_FIELD_NUMBER: _ClassVar[int]
    MAX_TIER_FIELD_NUMBER: _ClassVar[int]
    EXPLAIN_FIELD_NUMBER: _ClassVar[int]
    domain: str
    as_of_date: str
    top_k: int
    skip_rewrite: bool
    max_tier: _common_pb2.Tier
    explain: bool
    def __init__(self, domain: _Optional[str] = ..., as_of_date: _Optional[str] = ..., top_k: _Optional[int] = ..., skip_rewrite: _Optional[bool] = ..., max_tier: _Optional[_Union[_common_pb2.Tier, str]] = ..., explain: _Optional[bool] = ...) -> None: ...

class AskRequest(_message.Message):
    __slots__ = ("question", "options", "request_id")
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    question: str
    options: AskOptions
    request_id: str
    def __init__(self, question: _Optional[str] = ..., options: _Optional[_Union[AskOptions, _Mapping]] = ..., request_id: _Optional[str] = ...) -> None: ...

class AskResponse(_message.Message):
    __slots__ = ("answer_id", "plan", "retrieved", "answered")
    ANSWER_ID_FIELD_NUMBER: _ClassVar[int]
    PLAN_FIELD_NUMBER: _ClassVar[int]
    RETRIEVED_FIELD_NUMBER: _ClassVar[int]
    ANSWERED_FIELD_NUMBER: _ClassVar[int]
    answer_id: str
    plan: _plan_pb2.Plan
    retrieved: Retrieved
    answered: Answered
    def __init__(self, answer_id: _Optional[str] = ..., plan: _Optional[_Union[_plan_pb2.Plan, _Mapping]] = ..., retrieved: _Optional[_Union[Retrieved, _Mapping]] = ..., answered: _Optional[_Union[Answered, _Mapping]] = ...) -> None: ...

class Retrieved(_message.Message):
    __slots__ = ("passages", "confidence", "suggestions")
    PASSAGES_FIELD_NUMBER: _ClassVar[int]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    SUGGESTIONS_FIELD_NUMBER: _ClassVar[int]
    passages: _containers.RepeatedCompositeFieldContainer[_passage_pb2.Passage]
    confidence: float
    suggestions: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, passages: _Optional[_Iterable[_Union[_passage_pb2.Passage, _Mapping]]] = ..., confidence: _Optional[float] = ..., suggestions: _Optional[_Iterable[str]] = ...) -> None: ...

class Answered(_message.Message):
    __slots__ = ("answer", "timing", "elapsed_ms", "clarifications", "suggestions")
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    TIMING_FIELD_NUMBER: _ClassVar[int]
    ELAPSED_MS_FIELD_NUMBER: _ClassVar[int]
    CLARIFICATIONS_FIELD_NUMBER: _ClassVar[int]
    SUGGESTIONS_FIELD_NUMBER: _ClassVar[int]
    answer: _reasoning_pb2.Answer
    timing: _common_pb2.Timing
    elapsed_ms: float
    clarifications: _containers.RepeatedCompositeFieldContainer[_plan_pb2.Clarification]
    suggestions: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, answer: _Optional[_Union[_reasoning_pb2.Answer, _Mapping]] = ..., timing: _Optional[_Union[_common_pb2.Timing, _Mapping]] = ..., elapsed_ms: _Optional[float] = ..., clarifications: _Optional[_Iterable[_Union[_plan_pb2.Clarification, _Mapping]]] = ..., suggestions: _Optional[_Iterable[str]] = ...) -> None: ...

class AskOnceRequest(_message.Message):
    __slots__ = ("question", "options", "request_id")
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    question: str
    options: AskOptions
    request_id: str
    def __init__(self, question: _Optional[str] = ..., options: _Optional[_Union[AskOptions, _Mapping]] = ..., request_id: _Optional[str] = ...) -> None: ...

class AskOnceResponse(_message.Message):
    __slots__ = ("answer_id", "plan", "answered", "retrieved")
    ANSWER_ID_FIELD_NUMBER: _ClassVar[int]
    PLAN_FIELD_NUMBER: _ClassVar[int]
    ANSWERED_FIELD_NUMBER: _ClassVar[int]
    RETRIEVED_FIELD_NUMBER: _ClassVar[int]
    answer_id: str
    plan: _plan_pb2.Plan
    answered: Answered
    retrieved: Retrieved
    def __init__(self, answer_id: _Optional[str] = ..., plan: _Optional[_Union[_plan_pb2.Plan, _Mapping]] = ..., answered: _Optional[_Union[Answered, _Mapping]] = ..., retrieved: _Optional[_Union[Retrieved, _Mapping]] = ...) -> None: ...

class GetAnswerRequest(_message.Message):
    __slots__ = ("answer_id",)
    ANSWER_ID_FIELD_NUMBER: _ClassVar[int]
    answer_id: str
    def __init__(self, answer_id: _Optional[str] = ...) -> None: ...

class GetAnswerResponse(_message.Message):
    __slots__ = ("answer_id", "question", "asked_at", "plan", "answers", "trace", "feedback")
    ANSWER_ID_FIELD_NUMBER: _ClassVar[int]
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    ASKED_AT_FIELD_NUMBER: _ClassVar[int]
    PLAN_FIELD_NUMBER: _ClassVar[int]
    ANSWERS_FIELD_NUMBER: _ClassVar[int]
    TRACE_FIELD_NUMBER: _ClassVar[int]
    FEEDBACK_FIELD_NUMBER: _ClassVar[int]
    answer_id: str
    question: str
    asked_at: _timestamp_pb2.Timestamp
    plan: _plan_pb2.Plan
    answers: _containers.RepeatedCompositeFieldContainer[Answered]
    trace: _containers.RepeatedCompositeFieldContainer[TraceEntry]
    feedback: _containers.RepeatedCompositeFieldContainer[Feedback]
    def __init__(self, answer_id: _Optional[str] = ..., question: _Optional[str] = ..., asked_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., plan: _Optional[_Union[_plan_pb2.Plan, _Mapping]] = ..., answers: _Optional[_Iterable[_Union[Answered, _Mapping]]] = ..., trace: _Optional[_Iterable[_Union[TraceEntry, _Mapping]]] = ..., feedback: _Optional[_Iterable[_Union[Feedback, _Mapping]]] = ...) -> None: ...

class TraceEntry(_message.Message):
    __slots__ = ("elapsed_ms", "stage", "message", "level")
    ELAPSED_MS_FIELD_NUMBER: _ClassVar[int]
    STAGE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    elapsed_ms: float
    stage: str
    message: str
    level: _common_pb2.FaultLevel
    def __init__(self, elapsed_ms: _Optional[float] = ..., stage: _Optional[str] = ..., message: _Optional[str] = ..., level: _Optional[_Union[_common_pb2.FaultLevel, str]] = ...) -> None: ...

class TraceEvidenceRequest(_message.Message):
    __slots__ = ("answer_id", "sentence_index")
    ANSWER_ID_FIELD_NUMBER: _ClassVar[int]
    SENTENCE_INDEX_FIELD_NUMBER: _ClassVar[int]
    answer_id: str
    sentence_index: int
    def __init__(self, answer_id: _Optional[str] = ..., sentence_index: _Optional[int] = ...) -> None: ...

class TraceEvidenceResponse(_message.Message):
    __slots__ = ("chains", "claims", "rulings", "passages")
    CHAINS_FIELD_NUMBER: _ClassVar[int]
    CLAIMS_FIELD_NUMBER: _ClassVar[int]
    RULINGS_FIELD_NUMBER: _ClassVar[int]
    PASSAGES_FIELD_NUMBER: _ClassVar[int]
    chains: _containers.RepeatedCompositeFieldContainer[_reasoning_pb2.EvidenceChain]
    claims: _containers.RepeatedCompositeFieldContainer[_reasoning_pb2.Claim]
    rulings: _containers.RepeatedCompositeFieldContainer[_reasoning_pb2.Ruling]
    passages: _containers.RepeatedCompositeFieldContainer[_passage_pb2.Passage]
    def __init__(self, chains: _Optional[_Iterable[_Union[_reasoning_pb2.EvidenceChain, _Mapping]]] = ..., claims: _Optional[_Iterable[_Union[_reasoning_pb2.Claim, _Mapping]]] = ..., rulings: _Optional[_Iterable[_Union[_reasoning_pb2.Ruling, _Mapping]]] = ..., passages: _Optional[_Iterable[_Union[_passage_pb2.Passage, _Mapping]]] = ...) -> None: ...

class Feedback(_message.Message):
    __slots__ = ("verdict", "comment", "expected_source_id", "submitted_at")
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    COMMENT_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_SOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    SUBMITTED_AT_FIELD_NUMBER: _ClassVar[int]
    verdict: Verdict
    comment: str
    expected_source_id: str
    submitted_at: _timestamp_pb2.Timestamp
    def __init__(self, verdict: _Optional[_Union[Verdict, str]] = ..., comment: _Optional[str] = ..., expected_source_id: _Optional[str] = ..., submitted_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class SubmitFeedbackRequest(_message.Message):
    __slots__ = ("answer_id", "verdict", "comment", "expected_source_id")
    ANSWER_ID_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    COMMENT_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_SOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    answer_id: str
    verdict: Verdict
    comment: str
    expected_source_id: str
    def __init__(self, answer_id: _Optional[str] = ..., verdict: _Optional[_Union[Verdict, str]] = ..., comment: _Optional[str] = ..., expected_source_id: _Optional[str] = ...) -> None: ...

class SubmitFeedbackResponse(_message.Message):
    __slots__ = ("answer_id", "feedback_count")
    ANSWER_ID_FIELD_NUMBER: _ClassVar[int]
    FEEDBACK_COUNT_FIELD_NUMBER: _ClassVar[int]
    answer_id: str
    feedback_count: int
    def __init__(self, answer_id: _Optional[str] = ..., feedback_count: _Optional[int] = ...) -> None: ...
