"""Fixtures that several folders use: a real tritonserver on a tiny model, and the real embedder where it is built."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
import pytest
import pytest_asyncio
from hypothesis import settings as hypothesis_settings
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from tokenizers.processors import TemplateProcessing

from export.golden import Question, RetrievalSet
from export.manifest import Manifest, write_manifest
from export.recipe import checkpoint_files, recipe_of
from export.spec import EmbedderSpec, ModelSpec, load_spec
from orchestrator.inference.embedder import TritonEmbedder
from orchestrator.inference.launcher import TritonServer
from orchestrator.inference.repository import servable_models
from orchestrator.settings import InferenceSettings, LauncherSettings, PathSettings

# A slow, noisy machine is no failure: what is tested is never how long it takes.
hypothesis_settings.register_profile("patient", deadline=None)
hypothesis_settings.load_profile("patient")

WORDS = ("query:", "passage:", "甲", "乙", "丙", "丁", "报销", "比例", "门诊", "住院")

CONFIG = """
backend: "onnxruntime"
max_batch_size: 32
input [ {{ name: "input_ids" data_type: TYPE_INT64 dims: [ -1 ] }},
        {{ name: "attention_mask" data_type: TYPE_INT64 dims: [ -1 ] }} ]
output [ {{ name: "embedding" data_type: TYPE_FP32 dims: [ {dimension} ] }} ]
instance_group [ {{ count: 1 kind: KIND_AUTO }} ]
dynamic_batching {{ max_queue_delay_microseconds: 0 }}
version_policy {{ latest {{ num_versions: 1 }} }}
parameters {{ key: "row_wise" value {{ string_value: "{row_wise}" }} }}
parameters {{ key: "intra_op_thread_count" value {{ string_value: "1" }} }}
"""


def _tiny_graph(*, vocabulary: int, dimension: int, seed: int, iterations: int, flat: bool = False) -> onnx.ModelProto:
    """ids, mask → unit vectors: embed, mean over the mask, normalise.

    Like a dynamically quantised graph, it lets a value taken over the whole batch touch every row; ``iterations``
    turns of an idle loop make it slow. A ``flat`` one gives all texts the same vector.
    """
    table = np.random.default_rng(seed).normal(size=(vocabulary, dimension)).astype(np.float32)
    if flat:
        table = np.ones_like(table)
    constants = {
        "table": table,
        "coupling": np.float32(0.05),
        "last": np.array([-1], dtype=np.int64),
        "one": np.array([1], dtype=np.int64),
        "turns": np.array(iterations, dtype=np.int64),
        "go": np.array(True),
        "start": np.float32(0),
    }
    body = helper.make_graph(
        [helper.make_node("Identity", ["go_in"], ["go_out"]), helper.make_node("Cos", ["x_in"], ["x_out"])],
        "body",
        [
            helper.make_tensor_value_info("turn", TensorProto.INT64, []),
            helper.make_tensor_value_info("go_in", TensorProto.BOOL, []),
            helper.make_tensor_value_info("x_in", TensorProto.FLOAT, []),
        ],
        [
            helper.make_tensor_value_info("go_out", TensorProto.BOOL, []),
            helper.make_tensor_value_info("x_out", TensorProto.FLOAT, []),
        ],
    )
    nodes = [
        helper.make_node("Loop", ["turns", "go", "start"], ["looped"], body=body),
        helper.make_node("Sub", ["looped", "looped"], ["zero"]),
        helper.make_node("Gather", ["table", "input_ids"], ["rows"]),
        helper.make_node("Abs", ["rows"], ["sizes"]),
        helper.make_node("ReduceMax", ["sizes"], ["largest"], keepdims=0),
        helper.make_node("Mul", ["largest", "coupling"], ["shift"]),
        helper.make_node("Add", ["rows", "shift"], ["shifted"]),
        helper.make_node("Add", ["shifted", "zero"], ["hidden"]),
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["mask", "last"], ["wide"]),
        helper.make_node("Mul", ["hidden", "wide"], ["masked"]),
        helper.make_node("ReduceSum", ["masked", "one"], ["sum"], keepdims=0),
        helper.make_node("LpNormalization", ["sum"], ["embedding"], axis=-1, p=2),
    ]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [
            helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["rows", "length"]),
            helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["rows", "length"]),
        ],
        [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["rows", dimension])],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    onnx.checker.check_model(model)
    return model


def _tiny_tokenizer(words: Sequence[str]) -> Tokenizer:
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    tokenizer = Tokenizer(WordLevel({word: place for place, word in enumerate([*special, *words])}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    tokenizer.add_special_tokens(special)
    tokenizer.post_processor = TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    return tokenizer


@dataclass
class TinyRepository:
    """A model repository in a temporary folder, filled version by version."""

    path: Path
    dimension: int = 8
    fingerprints: dict[tuple[str, str], str] = field(default_factory=dict)

    def publish(
        self,
        model: str = "embedder",
        version: str = "1",
        *,
        words: Sequence[str] = WORDS,
        seed: int = 1,
        iterations: int = 1,
        row_wise: bool = True,
        max_length: int = 24,
    ) -> str:
        """Write a version: graph, tokenizer and manifest. Returns its fingerprint."""
        folder = self.path / model / version
        folder.mkdir(parents=True, exist_ok=True)
        config = CONFIG.format(dimension=self.dimension, row_wise=str(row_wise).lower())
        (self.path / model / "config.pbtxt").write_text(config, "utf-8")
        graph = _tiny_graph(
            vocabulary=len(words) + 4, dimension=self.dimension, seed=seed, iterations=iterations
        ).SerializeToString()
        _tiny_tokenizer(words).save(str(folder / "tokenizer.json"))
        fingerprint = f"tiny-{model}-{version}-{seed}"
        manifest = {
            "fingerprint": fingerprint,
            "dimension": self.dimension,
            "max_length": max_length,
            "prefixes": {"query": "query: ", "passage": "passage: "},
            "outputs": {"dense": "embedding"},
        }
        (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
        (folder / "model.onnx").write_bytes(graph)
        self.fingerprints[model, version] = fingerprint
        return fingerprint


# Ports are free ones; a loaded test machine starts things slowly.
LAUNCHER = LauncherSettings(grpc_port=0, http_port=0, metrics_port=0, start_timeout_s=120, exit_timeout_s=5)


@pytest.fixture
def launcher_settings() -> LauncherSettings:
    return LAUNCHER


@pytest.fixture
def tiny_repository(tmp_path: Path) -> TinyRepository:
    """An empty repository, for a test that starts its own server."""
    return TinyRepository(tmp_path / "model_repository")


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def tiny_triton(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[TritonServer]:
    """A real tritonserver with three tiny models: `embedder`, `coupled` (not row-wise) and `slow`.

    Shared by the session: a test that harms it (kills, reloads) starts its own.
    """
    folder = tmp_path_factory.mktemp("tiny_triton")
    repository = TinyRepository(folder / "model_repository")
    repository.publish("embedder")
    repository.publish("coupled", row_wise=False)
    repository.publish("slow", iterations=150_000)
    async with TritonServer(LAUNCHER, repository=repository.path, data=folder / "data") as server:
        yield server


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def triton_server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[TritonServer]:
    """A real tritonserver with the project's own models; skips where they are not built."""
    repository = PathSettings().model_repository
    if "embedder" not in servable_models(repository):
        pytest.skip("the embedder is not built; run: trias models build")
    data = tmp_path_factory.mktemp("triton")
    async with TritonServer(LAUNCHER, repository=repository, data=data, models=["embedder"]) as server:
        yield server


@pytest_asyncio.fixture
async def embedder(triton_server: TritonServer) -> AsyncIterator[TritonEmbedder]:
    """The real embedder, through a real tritonserver."""
    settings = InferenceSettings(endpoints={"*": triton_server.grpc_address}, deadline_s=30)
    async with TritonEmbedder(settings, triton_server.repository) as found:
        yield found


class TinyCheckpoints:
    """Checkpoints of a tiny embedder, and the exporter that goes with them.

    A checkpoint folder is whole, but its weights mean nothing: beside them lies the graph that `export` takes for
    what it makes of them.
    """

    GRAPH = "graph"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        embedder = load_spec("embedder")
        assert isinstance(embedder, EmbedderSpec)
        self.spec = embedder.model_copy(
            update={
                "outputs": {"dense": "embedding"},
                "dimension": 8,
                "max_length": 24,
                "quality": {"recall@10": 0.05, "mrr@10": 0.05},
            }
        )

    def make(self, name: str, *, seed: int = 1, words: Sequence[str] = WORDS, flat: bool = False) -> Path:
        """Write a checkpoint; ``flat``: of a model that gives all texts the same vector."""
        folder = self.folder / name
        (folder / self.GRAPH).mkdir(parents=True)
        weights = np.random.default_rng(seed).normal(size=16).astype(np.float32)
        header = json.dumps({"w": {"dtype": "F32", "shape": [16], "data_offsets": [0, 64]}}).encode()
        (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + weights.tobytes())
        (folder / "config.json").write_text("{}")
        _tiny_tokenizer(words).save(str(folder / "tokenizer.json"))
        graph = _tiny_graph(vocabulary=len(words) + 4, dimension=8, seed=seed, iterations=1, flat=flat)
        (folder / self.GRAPH / "model.onnx").write_bytes(graph.SerializeToString())
        return folder

    @classmethod
    def export(
        cls, spec: ModelSpec, checkpoint: Path, target: Path, *, data: Path, progress: Callable[[str], None]
    ) -> Manifest:
        """What `export.exporting.export_checkpoint` does, in a moment."""
        progress("Export to ONNX")
        assert isinstance(spec, EmbedderSpec)
        shutil.copyfile(checkpoint / cls.GRAPH / "model.onnx", target / "model.onnx")
        shutil.copyfile(checkpoint / "tokenizer.json", target / "tokenizer.json")
        files = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in target.iterdir()}
        source = {"name": "tiny", "license": "MIT", "libraries": {}}
        return write_manifest(
            target,
            {
                "schema": 1,
                "model": spec.model,
                "source": {**source, "recipe": recipe_of(spec, files=checkpoint_files(checkpoint))},
                "precision": "fp32",
                "prefixes": dict(spec.prefixes),
                "max_length": spec.max_length,
                "dimension": spec.dimension,
                "outputs": dict(spec.outputs),
                "files": files,
                "checks": {"cosine_onnx": 1.0},
            },
        )


@pytest.fixture
def tiny_checkpoints(tmp_path: Path) -> TinyCheckpoints:
    return TinyCheckpoints(tmp_path / "checkpoints")


@pytest.fixture
def tiny_golden() -> RetrievalSet:
    """Every passage of three words, and the question that has the same."""
    texts = [f"{left} {right} {last}" for left in "甲乙丙丁" for right in ("报销", "比例") for last in ("门诊", "住院")]
    questions = tuple(Question(text, frozenset({place})) for place, text in enumerate(texts))
    return RetrievalSet("tiny", "0" * 64, tuple(texts), questions)
