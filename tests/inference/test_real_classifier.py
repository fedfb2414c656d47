"""The classifier client, against a real tritonserver with a tiny model that reads whole words."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

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
from orchestrator.inference.classifier import TritonClassifier
from orchestrator.inference.launcher import TritonServer
from orchestrator.settings import InferenceSettings, LauncherSettings

pytestmark = pytest.mark.triton

PATIENCE_S = 60.0
INTENTS = ("rate", "apply")
TAGS = ("O", "B-region", "I-region")
# word → logits of the intents, logits of the tags
WORDS = {
    "query:": ((0, 0), (9, 0, 0)),
    "苏州": ((0, 0), (0, 6, 0)),
    "市": ((0, 0), (0, 0, 6)),
    "报多少": ((8, 0), (9, 0, 0)),
    "申请": ((0, 8), (9, 0, 0)),
}
CONTROL = ("<s>", "<pad>", "</s>", "<unk>")
CONFIG = """
backend: "onnxruntime"
max_batch_size: 8
input [ { name: "input_ids" data_type: TYPE_INT64 dims: [ -1 ] },
        { name: "attention_mask" data_type: TYPE_INT64 dims: [ -1 ] } ]
output [ { name: "intent" data_type: TYPE_FP32 dims: [ 2 ] },
         { name: "slots" data_type: TYPE_FP32 dims: [ -1, 3 ] } ]
instance_group [ { count: 1 kind: KIND_AUTO } ]
dynamic_batching { max_queue_delay_microseconds: 0 }
version_policy { latest { num_versions: 1 } }
parameters { key: "row_wise" value { string_value: "true" } }
parameters { key: "intra_op_thread_count" value { string_value: "1" } }
"""


def graph() -> bytes:
    """Each token's logits from a table; the intent's summed over the tokens that the mask keeps."""
    rows = [((0, 0), (9, 0, 0))] * len(CONTROL) + list(WORDS.values())
    tables = {
        "intents": np.array([row[0] for row in rows], np.float32),
        "tags": np.array([row[1] for row in rows], np.float32),
        "last": np.array([-1], np.int64),
        "one": np.array([1], np.int64),
    }
    nodes = [
        helper.make_node("Gather", ["tags", "input_ids"], ["slots"]),
        helper.make_node("Gather", ["intents", "input_ids"], ["each"]),
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["mask", "last"], ["wide"]),
        helper.make_node("Mul", ["each", "wide"], ["kept"]),
        helper.make_node("ReduceSum", ["kept", "one"], ["intent"], keepdims=0),
    ]
    shape = ["rows", "length"]
    made = helper.make_graph(
        nodes,
        "reader",
        [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name in ("input_ids", "attention_mask")],
        [
            helper.make_tensor_value_info("intent", TensorProto.FLOAT, ["rows", 2]),
            helper.make_tensor_value_info("slots", TensorProto.FLOAT, [*shape, 3]),
        ],
        [numpy_helper.from_array(array, name) for name, array in tables.items()],
    )
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())


def publish(folder: Path, *, labels: dict[str, Any], fingerprint: str) -> None:
    folder.mkdir(parents=True)
    (folder.parent / "config.pbtxt").write_text(CONFIG, "utf-8")
    (folder / "model.onnx").write_bytes(graph())
    tokenizer = Tokenizer(WordLevel({word: place for place, word in enumerate([*CONTROL, *WORDS])}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    tokenizer.add_special_tokens(list(CONTROL))
    tokenizer.post_processor = TemplateProcessing("<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "labels.json").write_text(json.dumps(labels), "utf-8")
    manifest = {
        "fingerprint": fingerprint,
        "max_length": 16,
        "prefixes": {"query": "query: "},
        "outputs": {"intent": "intent", "slots": "slots"},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")


@pytest_asyncio.fixture
async def server(tmp_path: Path, launcher_settings: LauncherSettings) -> AsyncIterator[TritonServer]:
    repository = tmp_path / "model_repository"
    publish(repository / "router" / "1", labels={"intents": INTENTS, "slots": TAGS}, fingerprint="reader-1")
    publish(repository / "broken" / "1", labels={"intents": INTENTS[:1], "slots": TAGS}, fingerprint="broken-1")
    publish(repository / "unlabelled" / "1", labels={}, fingerprint="unlabelled-1")
    async with TritonServer(launcher_settings, repository=repository, data=tmp_path / "data") as running:
        yield running


def classifier(server: TritonServer, model: str = "router") -> TritonClassifier:
    settings = InferenceSettings(endpoints={"*": server.grpc_address}, deadline_s=PATIENCE_S)
    return TritonClassifier(settings, server.repository, model)


async def test_questions_are_read_and_versions_followed(server: TritonServer) -> None:
    texts = ["苏州 市 报多少", "申请", "", "苏州 申请 苏州 市", "苏州 " * 40]
    async with classifier(server) as model:
        found = await model.classify(texts)
        assert (found.intents, found.fingerprint) == (INTENTS, "reader-1")
        rate, apply, _, _, long = found.readings
        assert (rate.shares.argmax(), apply.shares.argmax()) == (0, 1)
        assert [reading.shares.sum() for reading in found.readings] == pytest.approx([1.0] * 5)
        assert [(span.slot_type, span.start, span.end) for span in rate.spans] == [("region", 0, 4)]
        assert [(span.start, span.end) for span in found.readings[3].spans] == [(0, 2), (6, 10)]
        assert 0.9 < rate.spans[0].confidence <= 1
        # Cut at the model's length: what lies beyond is not read.
        assert len(long.spans) < 40
        alone = await model.classify([texts[3]])
        assert alone.readings[0].spans == found.readings[3].spans

        publish(
            server.repository / "router" / "2",
            labels={"intents": ["other", "another"], "slots": TAGS},
            fingerprint="reader-2",
        )
        await server.load("router")
        for _ in range(200):
            found = await model.classify(["申请"])
            if found.fingerprint == "reader-2":
                break
        assert (found.fingerprint, found.intents) == ("reader-2", ("other", "another"))


async def test_what_cannot_be_read_is_said(server: TritonServer) -> None:
    async with classifier(server, "absent") as absent:
        with pytest.raises(ModelNotFoundError):
            await absent.classify(["申请"])
    async with classifier(server, "broken") as broken:
        with pytest.raises(ModelError, match="logits of shape"):
            await broken.classify(["申请"])
    async with classifier(server, "unlabelled") as unlabelled:
        with pytest.raises(ModelError, match=r"labels\.json"):
            await unlabelled.classify(["申请"])
    async with classifier(server) as model:
        with pytest.raises(DeadlineExceededError):
            await model.classify(["申请"], timeout_s=1e-6)
        with pytest.raises(TypeError):
            await model.classify("申请")
        assert (await model.classify([])).readings == ()
