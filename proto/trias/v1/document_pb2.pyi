from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class DocumentStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DOCUMENT_STATUS_UNSPECIFIED: _ClassVar[DocumentStatus]
    DOCUMENT_STATUS_IN_FORCE: _ClassVar[DocumentStatus]
    DOCUMENT_STATUS_AMENDED: _ClassVar[DocumentStatus]
    DOCUMENT_STATUS_REPEALED: _ClassVar[DocumentStatus]
    DOCUMENT_STATUS_PENDING: _ClassVar[DocumentStatus]

class AuthorityLevel(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    AUTHORITY_LEVEL_UNSPECIFIED: _ClassVar[AuthorityLevel]
    AUTHORITY_LEVEL_LAW: _ClassVar[AuthorityLevel]
    AUTHORITY_LEVEL_ADMINISTRATIVE_REGULATION: _ClassVar[AuthorityLevel]
    AUTHORITY_LEVEL_DEPARTMENT_RULE: _ClassVar[AuthorityLevel]
    AUTHORITY_LEVEL_PROVINCIAL: _ClassVar[AuthorityLevel]
    AUTHORITY_LEVEL_MUNICIPAL: _ClassVar[AuthorityLevel]
    AUTHORITY_LEVEL_COUNTY: _ClassVar[AuthorityLevel]
    AUTHORITY_LEVEL_INTERPRETATION: _ClassVar[AuthorityLevel]

class Position(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    POSITION_UNSPECIFIED: _ClassVar[Position]
    POSITION_BODY: _ClassVar[Position]
    POSITION_APPENDIX: _ClassVar[Position]
    POSITION_FOOTNOTE: _ClassVar[Position]

class ClauseType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CLAUSE_TYPE_UNSPECIFIED: _ClassVar[ClauseType]
    CLAUSE_TYPE_ARTICLE: _ClassVar[ClauseType]
    CLAUSE_TYPE_PARAGRAPH: _ClassVar[ClauseType]
    CLAUSE_TYPE_ITEM: _ClassVar[ClauseType]
    CLAUSE_TYPE_TABLE: _ClassVar[ClauseType]
    CLAUSE_TYPE_PREAMBLE: _ClassVar[ClauseType]
    CLAUSE_TYPE_TEXT: _ClassVar[ClauseType]
    CLAUSE_TYPE_FOOTNOTE: _ClassVar[ClauseType]

class ReferenceType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REFERENCE_TYPE_UNSPECIFIED: _ClassVar[ReferenceType]
    REFERENCE_TYPE_CITES: _ClassVar[ReferenceType]
    REFERENCE_TYPE_AMENDS: _ClassVar[ReferenceType]
    REFERENCE_TYPE_REPEALS: _ClassVar[ReferenceType]
DOCUMENT_STATUS_UNSPECIFIED: DocumentStatus
DOCUMENT_STATUS_IN_FORCE: DocumentStatus
DOCUMENT_STATUS_AMENDED: DocumentStatus
DOCUMENT_STATUS_REPEALED: DocumentStatus
DOCUMENT_STATUS_PENDING: DocumentStatus
AUTHORITY_LEVEL_UNSPECIFIED: AuthorityLevel
AUTHORITY_LEVEL_LAW: AuthorityLevel
AUTHORITY_LEVEL_ADMINISTRATIVE_REGULATION: AuthorityLevel
AUTHORITY_LEVEL_DEPARTMENT_RULE: AuthorityLevel
AUTHORITY_LEVEL_PROVINCIAL: AuthorityLevel
AUTHORITY_LEVEL_MUNICIPAL: AuthorityLevel
AUTHORITY_LEVEL_COUNTY: AuthorityLevel
AUTHORITY_LEVEL_INTERPRETATION: AuthorityLevel
POSITION_UNSPECIFIED: Position
POSITION_BODY: Position
POSITION_APPENDIX: Position
POSITION_FOOTNOTE: Position
CLAUSE_TYPE_UNSPECIFIED: ClauseType
CLAUSE_TYPE_ARTICLE: ClauseType
CLAUSE_TYPE_PARAGRAPH: ClauseType
CLAUSE_TYPE_ITEM: ClauseType
CLAUSE_TYPE_TABLE: ClauseType
CLAUSE_TYPE_PREAMBLE: ClauseType
CLAUSE_TYPE_TEXT: ClauseType
CLAUSE_TYPE_FOOTNOTE: ClauseType
REFERENCE_TYPE_UNSPECIFIED: ReferenceType
REFERENCE_TYPE_CITES: ReferenceType
REFERENCE_TYPE_AMENDS: ReferenceType
REFERENCE_TYPE_REPEALS: ReferenceType

class Provenance(_message.Message):
    __slots__ = ("field", "origin", "excerpt")
    FIELD_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    EXCERPT_FIELD_NUMBER: _ClassVar[int]
    field: str
    origin: str
    excerpt: str
    def __init__(self, field: _Optional[str] = ..., origin: _Optional[str] = ..., excerpt: _Optional[str] = ...) -> None: ...

class Document(_message.Message):
    __slots__ = ("document_id", "doc_source", "title", "doc_number", "publish_date", "effective_date", "expiry_date", "authority", "authority_level", "version", "status", "region", "superseded_by", "provenance", "content_hash")
    DOCUMENT_ID_FIELD_NUMBER: _ClassVar[int]
    DOC_SOURCE_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    DOC_NUMBER_FIELD_NUMBER: _ClassVar[int]
    PUBLISH_DATE_FIELD_NUMBER: _ClassVar[int]
    EFFECTIVE_DATE_FIELD_NUMBER: _ClassVar[int]
    EXPIRY_DATE_FIELD_NUMBER: _ClassVar[int]
    AUTHORITY_FIELD_NUMBER: _ClassVar[int]
    AUTHORITY_LEVEL_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    REGION_FIELD_NUMBER: _ClassVar[int]
    SUPERSEDED_BY_FIELD_NUMBER: _ClassVar[int]
    PROVENANCE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_HASH_FIELD_NUMBER: _ClassVar[int]
    document_id: str
    doc_source: str
    title: str
    doc_number: str
    publish_date: str
    effective_date: str
    expiry_date: str
    authority: str
    authority_level: AuthorityLevel
    version: str
    status: DocumentStatus
    region: str
    superseded_by: _containers.RepeatedScalarFieldContainer[str]
    provenance: _containers.RepeatedCompositeFieldContainer[Provenance]
    content_hash: str
    def __init__(self, document_id: _Optional[str] = ..., doc_source: _Optional[str] = ..., title: _Optional[str] = ..., doc_number: _Optional[str] = ..., publish_date: _Optional[str] = ..., effective_date: _Optional[str] = ..., expiry_date: _Optional[str] = ..., authority: _Optional[str] = ..., authority_level: _Optional[_Union[AuthorityLevel, str]] = ..., version: _Optional[str] = ..., status: _Optional[_Union[DocumentStatus, str]] = ..., region: _Optional[str] = ..., superseded_by: _Optional[_Iterable[str]] = ..., provenance: _Optional[_Iterable[_Union[Provenance, _Mapping]]] = ..., content_hash: _Optional[str] = ...) -> None: ...

class PathElement(_message.Message):
    __slots__ = ("level", "label", "heading")
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    HEADING_FIELD_NUMBER: _ClassVar[int]
    level: str
    label: str
    heading: str
    def __init__(self, level: _Optional[str] = ..., label: _Optional[str] = ..., heading: _Optional[str] = ...) -> None: ...

class Box(_message.Message):
    __slots__ = ("x0", "y0", "x1", "y1")
    X0_FIELD_NUMBER: _ClassVar[int]
    Y0_FIELD_NUMBER: _ClassVar[int]
    X1_FIELD_NUMBER: _ClassVar[int]
    Y1_FIELD_NUMBER: _ClassVar[int]
    x0: float
    y0: float
    x1: float
    y1: float
    def __init__(self, x0: _Optional[float] = ..., y0: _Optional[float] = ..., x1: _Optional[float] = ..., y1: _Optional[float] = ...) -> None: ...

class Place(_message.Message):
    __slots__ = ("page", "box", "first_block", "last_block")
    PAGE_FIELD_NUMBER: _ClassVar[int]
    BOX_FIELD_NUMBER: _ClassVar[int]
    FIRST_BLOCK_FIELD_NUMBER: _ClassVar[int]
    LAST_BLOCK_FIELD_NUMBER: _ClassVar[int]
    page: int
    box: Box
    first_block: int
    last_block: int
    def __init__(self, page: _Optional[int] = ..., box: _Optional[_Union[Box, _Mapping]] = ..., first_block: _Optional[int] = ..., last_block: _Optional[int] = ...) -> None: ...

class Table(_message.Message):
    __slots__ = ("caption", "headers", "rows")
    CAPTION_FIELD_NUMBER: _ClassVar[int]
    HEADERS_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    caption: str
    headers: _containers.RepeatedScalarFieldContainer[str]
    rows: _containers.RepeatedCompositeFieldContainer[TableRow]
    def __init__(self, caption: _Optional[str] = ..., headers: _Optional[_Iterable[str]] = ..., rows: _Optional[_Iterable[_Union[TableRow, _Mapping]]] = ...) -> None: ...

class TableRow(_message.Message):
    __slots__ = ("cells",)
    CELLS_FIELD_NUMBER: _ClassVar[int]
    cells: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, cells: _Optional[_Iterable[str]] = ...) -> None: ...

class Reference(_message.Message):
    __slots__ = ("source_id", "type", "text", "target_title", "target_label", "target_document_id", "target_source_id", "start", "end")
    SOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    TARGET_TITLE_FIELD_NUMBER: _ClassVar[int]
    TARGET_LABEL_FIELD_NUMBER: _ClassVar[int]
    TARGET_DOCUMENT_ID_FIELD_NUMBER: _ClassVar[int]
    TARGET_SOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    source_id: str
    type: ReferenceType
    text: str
    target_title: str
    target_label: str
    target_document_id: str
    target_source_id: str
    start: int
    end: int
    def __init__(self, source_id: _Optional[str] = ..., type: _Optional[_Union[ReferenceType, str]] = ..., text: _Optional[str] = ..., target_title: _Optional[str] = ..., target_label: _Optional[str] = ..., target_document_id: _Optional[str] = ..., target_source_id: _Optional[str] = ..., start: _Optional[int] = ..., end: _Optional[int] = ...) -> None: ...

class Clause(_message.Message):
    __slots__ = ("source_id", "document_id", "label", "path", "clause_type", "position", "text", "place", "table", "ordinal", "snippet_hash")
    SOURCE_ID_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_ID_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    CLAUSE_TYPE_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    TABLE_FIELD_NUMBER: _ClassVar[int]
    ORDINAL_FIELD_NUMBER: _ClassVar[int]
    SNIPPET_HASH_FIELD_NUMBER: _ClassVar[int]
    source_id: str
    document_id: str
    label: str
    path: _containers.RepeatedCompositeFieldContainer[PathElement]
    clause_type: ClauseType
    position: Position
    text: str
    place: Place
    table: Table
    ordinal: int
    snippet_hash: str
    def __init__(self, source_id: _Optional[str] = ..., document_id: _Optional[str] = ..., label: _Optional[str] = ..., path: _Optional[_Iterable[_Union[PathElement, _Mapping]]] = ..., clause_type: _Optional[_Union[ClauseType, str]] = ..., position: _Optional[_Union[Position, str]] = ..., text: _Optional[str] = ..., place: _Optional[_Union[Place, _Mapping]] = ..., table: _Optional[_Union[Table, _Mapping]] = ..., ordinal: _Optional[int] = ..., snippet_hash: _Optional[str] = ...) -> None: ...
