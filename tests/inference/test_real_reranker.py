"""The reranker client, against a real tritonserver with a tiny model that adds up what words are worth."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import onnx
import pytest
import pytest_asyncio
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from tokenizers.processors import TemplateProcessing

from orchestrator.errors import DeadlineExceededError, ModelError, ModelNotFoundError
from orchestrator.inference.launcher import TritonServer
from orchestrator.inference.reranker import TritonReranker
from orchestrator.settings import InferenceSettings, LauncherSettings

pytestmark = pytest.mark.triton

PATIENCE_S = 60.0
CONTROL = {"<s>": 0.5, "<pad>": 100.0, "</s>": 0.0, "<unk>": 0.0}
WORDS = {"q:": 0.0, "p:": 0.25, "报销": 2.0, "罚款": -3.0, "多少": 0.0}
CONFIG = """
backend: "onnxruntime"
max_batch_size: 4
input [ { name: "input_ids" data_type: TYPE_INT64 dims: [ -1 ] },
        { name: "attention_mask" data_type: TYPE_INT64 dims: [ -1 ] } ]
output [ { name: "score" data_type: TYPE_FP32 dims: [ WIDTH ] } ]
instance_group [ { count: 1 kind: KIND_AUTO } ]
dynamic_batching { max_queue_delay_microseconds: 0 }
version_policy { latest { num_versions: 1 } }
parameters { key: "row_wise" value { string_value: "true" } }
parameters { key: "intra_op_thread_count" value { string_value: "1" } }
"""


def graph(width: int) -> bytes:
    """The sum of the words' worth over the tokens that the mask keeps, ``width`` times over."""
    worth = np.array([*CONTROL.values(), *WORDS.values()], np.float32)
    tables = {
        "worth": np.repeat(worth[:, None], width, axis=1),
        "last": np.array([-1], np.int64),
        "one": np.array([1], np.int64),
    }
    nodes = [
        helper.make_node("Gather", ["worth", "input_ids"], ["each"]),
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["mask", "last"], ["wide"]),
        helper.make_node("Mul", ["each", "wide"], ["kept"]),
        helper.make_node("ReduceSum", ["kept", "one"], ["score"], keepdims=0),
    ]
    made = helper.make_graph(
        nodes,
        "adder",
        [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["rows", "length"])
            for name in ("input_ids", "attention_mask")
        ],
        [helper.make_tensor_value_info("score", TensorProto.FLOAT, ["rows", width])],
        [numpy_helper.from_array(array, name) for name, array in tables.items()],
    )
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())


def publish(folder: Path, *, width: int = 1, max_length: int = 12, fingerprint: str) -> None:
    folder.mkdir(parents=True)
    (folder.parent / "config.pbtxt").write_text(CONFIG.replace("WIDTH", str(width)), "utf-8")
    (folder / "model.onnx").write_bytes(graph(width))
    words = [*CONTROL, *WORDS]
    tokenizer = Tokenizer(WordLevel({word: place for place, word in enumerate(words)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    tokenizer.add_special_tokens(list(CONTROL))
    tokenizer.post_processor = TemplateProcessing("<s> $A </s>", "<s> $A </s> </s> $B </s>", [("<s>", 0), ("</s>", 2)])
    tokenizer.save(str(folder / "tokenizer.json"))
    manifest = {
        "fingerprint": fingerprint,
        "max_length": max_length,
        "prefixes": {"query": "q: ", "passage": "p: "},
        "outputs": {"score": "score"},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")


@pytest_asyncio.fixture
async def server(tmp_path: Path, launcher_settings: LauncherSettings) -> AsyncIterator[TritonServer]:
    repository = tmp_path / "model_repository"
    publish(repository / "reranker" / "1", fingerprint="adder-0001")
    publish(repository / "broken" / "1", width=2, fingerprint="broken-0001")
    async with TritonServer(launcher_settings, repository=repository, data=tmp_path / "data") as running:
        yield running


def reranker(server: TritonServer, model: str = "reranker") -> TritonReranker:
    settings = InferenceSettings(endpoints={"*": server.grpc_address}, deadline_s=PATIENCE_S)
    return TritonReranker(settings, server.repository, model)


async def test_pairs_are_read_in_their_order_and_versions_followed(server: TritonServer) -> None:
    passages = ["报销", "罚款", "", "报销 报销 报销", "报销 罚款", "多少 </s> <pad>"]
    async with reranker(server) as model:
        found = await model.rerank("报销 多少", passages)
        # Both prefixes count once, `<s>` too; what a text spells out of the control tokens does not.
        assert found.logits.tolist() == pytest.approx([4.75, -0.25, 2.75, 8.75, 1.75, 2.75])
        assert found.fingerprint == "adder-0001"
        assert found.model_ms > 0
        alone = await model.rerank("报销 多少", passages[3:4])
        assert alone.logits[0] == found.logits[3]
        # Cut to 12 tokens, of which five frame the pair or are prefixes' words: the longer text loses.
        (long,) = (await model.rerank("报销", ["罚款 " * 400])).logits
        assert -3 * 9 < long < -3 * 4
        publish(server.repository / "reranker" / "2", fingerprint="adder-0002")
        await server.load("reranker")
        for _ in range(200):
            found = await model.rerank("报销", ["罚款"])
            if found.fingerprint == "adder-0002":
                break
        assert found.fingerprint == "adder-0002"


async def test_what_cannot_be_read_is_said(server: TritonServer) -> None:
    async with reranker(server, "absent") as absent:
        with pytest.raises(ModelNotFoundError):
            await absent.rerank("报销", ["罚款"])
    async with reranker(server, "broken") as broken:
        with pytest.raises(ModelError, match="logits of shape"):
            await broken.rerank("报销", ["罚款"])
    async with reranker(server) as model:
        with pytest.raises(DeadlineExceededError):
            await model.rerank("报销", ["罚款"], timeout_s=1e-6)
        with pytest.raises(TypeError):
            await model.rerank("报销", "罚款")
        assert (await model.rerank("报销", [])).logits.shape == (0,)
