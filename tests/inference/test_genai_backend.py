"""The genai backend in a real tritonserver, on a tiny Gemma 3 with random weights, called through the generator."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from orchestrator.domain.claim_prompt import claim_grammar, number_prompt
from orchestrator.errors import DeadlineExceededError, ModelError
from orchestrator.inference.generator import TritonGenerator, generation_inputs
from orchestrator.inference.launcher import TritonServer
from orchestrator.inference.triton import TritonClient
from orchestrator.settings import PROJECT, InferenceSettings, LauncherSettings

pytestmark = pytest.mark.triton
pytest.importorskip("onnxruntime_genai")

MODEL = Path(__file__).parent / "genai_model"
FINGERPRINT = "5a" * 32
SENTENCE = "县级医院起付线四百元，市级医院不得支付九百元。"


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    version = folder / "reasoner" / "1"
    shutil.copytree(MODEL, version, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    shutil.copyfile(PROJECT / "model_repository" / "reasoner" / "config.pbtxt", folder / "reasoner" / "config.pbtxt")
    manifest = {
        "fingerprint": FINGERPRINT,
        "max_length": 256,
        "outputs": {"text": "text_output", "finish_reason": "finish_reason"},
    }
    (version / "manifest.json").write_text(json.dumps(manifest))
    return folder


@pytest.fixture
async def server(repository: Path, tmp_path: Path) -> AsyncIterator[TritonServer]:
    settings = LauncherSettings(grpc_port=0, http_port=0, metrics_port=0)
    async with TritonServer(settings, repository=repository, data=tmp_path, models=["reasoner"]) as started:
        yield started


async def test_completions(server: TritonServer, repository: Path) -> None:
    settings = InferenceSettings(endpoints={"*": server.grpc_address}, deadline_s=60, max_concurrent_generations=4)
    async with TritonGenerator(settings, repository) as generator:
        assert await generator.fingerprint() == FINGERPRINT
        await _a_grammar_is_kept(generator)
        await _requests_do_not_disturb_each_other(generator)
        await _what_cannot_be_completed_is_refused(generator)
        await _late_and_cancelled_calls_leave_the_model_well(generator)


async def _a_grammar_is_kept(generator: TritonGenerator) -> None:
    start = SENTENCE.index("九百元")
    grammar = claim_grammar(SENTENCE, ["九百元"], 15)
    made = await generator.generate(number_prompt(SENTENCE, start, start + 3), max_tokens=40, grammar=grammar)
    assert made.fingerprint == FINGERPRINT
    assert made.complete
    assert "九百元" in made.text
    assert 3 <= len(made.text) <= 15
    free = await generator.generate("县级医院", max_tokens=5)
    assert not free.complete
    assert free.text
    assert not free.text.startswith("县级医院")


async def _requests_do_not_disturb_each_other(generator: TritonGenerator) -> None:
    alone = [await generator.generate(text, max_tokens=6) for text in ("一二三", "住院", "市级")]
    bad = generator.generate("住院", max_tokens=6, grammar="start: }")
    together = await asyncio.gather(
        *(generator.generate(text, max_tokens=6) for text in ("一二三", "住院", "市级")), bad, return_exceptions=True
    )
    assert isinstance(together.pop(), ModelError)
    assert [one.text for one in together] == [one.text for one in alone]  # type: ignore[union-attr]


async def _what_cannot_be_completed_is_refused(generator: TritonGenerator) -> None:
    with pytest.raises(ModelError, match="tokens, more than 1024"):
        await generator.generate("一" * 5000, max_tokens=5)
    with pytest.raises(ModelError, match="sampling_param_max_tokens=4000"):
        await generator.generate("一", max_tokens=4000)
    with pytest.raises(ModelError, match="sampling_param_max_tokens=0"):
        await generator.generate("一", max_tokens=0)
    assert (await generator.generate("", max_tokens=3)).text


async def _late_and_cancelled_calls_leave_the_model_well(generator: TritonGenerator) -> None:
    with pytest.raises(DeadlineExceededError):
        await generator.generate("一" * 100, max_tokens=48, timeout_s=0.001)
    task = asyncio.create_task(generator.generate("一" * 100, max_tokens=48))
    await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert (await generator.generate("一", max_tokens=3)).text


async def test_tensors_of_llmapi(server: TritonServer) -> None:
    client = TritonClient(server.grpc_address)
    try:
        inputs = generation_inputs("住院", 4, "")
        answer = await client.infer("reasoner", inputs, timeout_s=60)
        assert set(answer.outputs) == {"text_output", "finish_reason"}
        echoed = {**inputs, "sampling_param_exclude_input_from_output": np.asarray([False])}
        assert (
            (await client.infer("reasoner", echoed, timeout_s=60)).outputs["text_output"][0].startswith("住院".encode())
        )
        more = {
            **inputs,
            "return_cumulative_logprob": np.asarray([True]),
            "return_stop_reason": np.asarray([True]),
            "sampling_param_stop": np.asarray([b"\xe4\xb8\x80"], dtype=np.object_),
        }
        outputs = (await client.infer("reasoner", more, timeout_s=60)).outputs
        assert outputs["cumulative_logprob"][0] < 0
        assert outputs["stop_reason"][0] in {b"", "一".encode()}
        for name, wrong, said in [
            ("text_input", np.asarray([b"a", b"b"], dtype=np.object_), "holds 2 texts"),
            ("text_input", np.asarray([b"\xff"], dtype=np.object_), "not UTF-8"),
            ("streaming", np.asarray([True]), "streaming=True"),
            ("sampling_param_temperature", np.asarray([-1.0], np.float32), "temperature"),
            ("guided_decoding_guide", np.asarray([b"x"], dtype=np.object_), "go together"),
        ]:
            with pytest.raises(ModelError, match=said):
                await client.infer("reasoner", {**inputs, name: wrong}, timeout_s=60)
    finally:
        await client.close()
