from trias.v1 import document_pb2 as _document_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ApplyDocumentRequest(_message.Message):
    __slots__ = ("document", "clauses", "vectors", "dimension", "embedder_fingerprint", "references")
    DOCUMENT_FIELD_NUMBER: _ClassVar[int]
    CLAUSES_FIELD_NUMBER: _ClassVar[int]
    VECTORS_FIELD_NUMBER: _ClassVar[int]
    DIMENSION_FIELD_NUMBER: _ClassVar[int]
    EMBEDDER_FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    REFERENCES_FIELD_NUMBER: _ClassVar[int]
    document: _document_pb2.Document
    clauses: _containers.RepeatedCompositeFieldContainer[_document_pb2.Clause]
    vectors: bytes
    dimension: int
    embedder_fingerprint: str
    references: _containers.RepeatedCompositeFieldContainer[_document_pb2.Reference]
    def __init__(self, document: _Optional[_Union[_document_pb2.Document, _Mapping]] = ..., clauses: _Optional[_Iterable[_Union[_document_pb2.Clause, _Mapping]]] = ..., vectors: _Optional[bytes] = ..., dimension: _Optional[int] = ..., embedder_fingerprint: _Optional[str] = ..., references: _Optional[_Iterable[_Union[_document_pb2.Reference, _Mapping]]] = ...) -> None: ...

class ApplyDocumentResponse(_message.Message):
    __slots__ = ("document_id", "unchanged", "clauses")
    DOCUMENT_ID_FIELD_NUMBER: _ClassVar[int]
    UNCHANGED_FIELD_NUMBER: _ClassVar[int]
    CLAUSES_FIELD_NUMBER: _ClassVar[int]
    document_id: str
    unchanged: bool
    clauses: int
    def __init__(self, document_id: _Optional[str] = ..., unchanged: _Optional[bool] = ..., clauses: _Optional[int] = ...) -> None: ...

class DeleteDocumentRequest(_message.Message):
    __slots__ = ("document_id",)
    DOCUMENT_ID_FIELD_NUMBER: _ClassVar[int]
    document_id: str
    def __init__(self, document_id: _Optional[str] = ...) -> None: ...

class DeleteDocumentResponse(_message.Message):
    __slots__ = ("clauses",)
    CLAUSES_FIELD_NUMBER: _ClassVar[int]
    clauses: int
    def __init__(self, clauses: _Optional[int] = ...) -> None: ...

class DocumentState(_message.Message):
    __slots__ = ("document_id", "content_hash")
    DOCUMENT_ID_FIELD_NUMBER: _ClassVar[int]
    CONTENT_HASH_FIELD_NUMBER: _ClassVar[int]
    document_id: str
    content_hash: str
    def __init__(self, document_id: _Optional[str] = ..., content_hash: _Optional[str] = ...) -> None: ...

class CheckDocumentsRequest(_message.Message):
    __slots__ = ("documents",)
    DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    documents: _containers.RepeatedCompositeFieldContainer[DocumentState]
    def __init__(self, documents: _Optional[_Iterable[_Union[DocumentState, _Mapping]]] = ...) -> None: ...

class CheckDocumentsResponse(_message.Message):
    __slots__ = ("live_document_ids", "embedder_fingerprint")
    LIVE_DOCUMENT_IDS_FIELD_NUMBER: _ClassVar[int]
    EMBEDDER_FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    live_document_ids: _containers.RepeatedScalarFieldContainer[str]
    embedder_fingerprint: str
    def __init__(self, live_document_ids: _Optional[_Iterable[str]] = ..., embedder_fingerprint: _Optional[str] = ...) -> None: ...

class ListDocumentsRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListDocumentsResponse(_message.Message):
    __slots__ = ("documents", "next_page_token")
    DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    documents: _containers.RepeatedCompositeFieldContainer[_document_pb2.Document]
    next_page_token: str
    def __init__(self, documents: _Optional[_Iterable[_Union[_document_pb2.Document, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class GetDocumentRequest(_message.Message):
    __slots__ = ("document_id",)
    DOCUMENT_ID_FIELD_NUMBER: _ClassVar[int]
    document_id: str
    def __init__(self, document_id: _Optional[str] = ...) -> None: ...

class GetDocumentResponse(_message.Message):
    __slots__ = ("document", "clauses")
    DOCUMENT_FIELD_NUMBER: _ClassVar[int]
    CLAUSES_FIELD_NUMBER: _ClassVar[int]
    document: _document_pb2.Document
    clauses: _containers.RepeatedCompositeFieldContainer[_document_pb2.Clause]
    def __init__(self, document: _Optional[_Union[_document_pb2.Document, _Mapping]] = ..., clauses: _Optional[_Iterable[_Union[_document_pb2.Clause, _Mapping]]] = ...) -> None: ...

class GetStatisticsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetStatisticsResponse(_message.Message):
    __slots__ = ("documents", "clauses", "vectors", "keyword_entries", "references", "resolved_references", "embedder_fingerprint", "adapters", "indexed_fingerprints")
    class AdaptersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    DOCUMENTS_FIELD_NUMBER: _ClassVar[int]
    CLAUSES_FIELD_NUMBER: _ClassVar[int]
    VECTORS_FIELD_NUMBER: _ClassVar[int]
    KEYWORD_ENTRIES_FIELD_NUMBER: _ClassVar[int]
    REFERENCES_FIELD_NUMBER: _ClassVar[int]
    RESOLVED_REFERENCES_FIELD_NUMBER: _ClassVar[int]
    EMBEDDER_FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    ADAPTERS_FIELD_NUMBER: _ClassVar[int]
    INDEXED_FINGERPRINTS_FIELD_NUMBER: _ClassVar[int]
    documents: int
    clauses: int
    vectors: int
    keyword_entries: int
    references: int
    resolved_references: int
    embedder_fingerprint: str
    adapters: _containers.ScalarMap[str, str]
    indexed_fingerprints: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, documents: _Optional[int] = ..., clauses: _Optional[int] = ..., vectors: _Optional[int] = ..., keyword_entries: _Optional[int] = ..., references: _Optional[int] = ..., resolved_references: _Optional[int] = ..., embedder_fingerprint: _Optional[str] = ..., adapters: _Optional[_Mapping[str, str]] = ..., indexed_fingerprints: _Optional[_Iterable[str]] = ...) -> None: ...

class ListLackingVectorsRequest(_message.Message):
    __slots__ = ("embedder_fingerprint",)
    EMBEDDER_FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    embedder_fingerprint: str
    def __init__(self, embedder_fingerprint: _Optional[str] = ...) -> None: ...

class ListLackingVectorsResponse(_message.Message):
    __slots__ = ("document_ids",)
    DOCUMENT_IDS_FIELD_NUMBER: _ClassVar[int]
    document_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, document_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class PutVectorsRequest(_message.Message):
    __slots__ = ("document_id", "source_ids", "vectors", "dimension", "embedder_fingerprint")
    DOCUMENT_ID_FIELD_NUMBER: _ClassVar[int]
    SOURCE_IDS_FIELD_NUMBER: _ClassVar[int]
    VECTORS_FIELD_NUMBER: _ClassVar[int]
    DIMENSION_FIELD_NUMBER: _ClassVar[int]
    EMBEDDER_FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    document_id: str
    source_ids: _containers.RepeatedScalarFieldContainer[str]
    vectors: bytes
    dimension: int
    embedder_fingerprint: str
    def __init__(self, document_id: _Optional[str] = ..., source_ids: _Optional[_Iterable[str]] = ..., vectors: _Optional[bytes] = ..., dimension: _Optional[int] = ..., embedder_fingerprint: _Optional[str] = ...) -> None: ...

class PutVectorsResponse(_message.Message):
    __slots__ = ("written",)
    WRITTEN_FIELD_NUMBER: _ClassVar[int]
    written: bool
    def __init__(self, written: _Optional[bool] = ...) -> None: ...

class SwitchEmbedderRequest(_message.Message):
    __slots__ = ("embedder_fingerprint",)
    EMBEDDER_FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    embedder_fingerprint: str
    def __init__(self, embedder_fingerprint: _Optional[str] = ...) -> None: ...

class SwitchEmbedderResponse(_message.Message):
    __slots__ = ("former_fingerprint",)
    FORMER_FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    former_fingerprint: str
    def __init__(self, former_fingerprint: _Optional[str] = ...) -> None: ...

class DropVectorsRequest(_message.Message):
    __slots__ = ("embedder_fingerprint",)
    EMBEDDER_FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    embedder_fingerprint: str
    def __init__(self, embedder_fingerprint: _Optional[str] = ...) -> None: ...

class DropVectorsResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
