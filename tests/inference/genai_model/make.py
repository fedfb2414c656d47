"""Makes the model beside this file: Gemma 3's architecture, tiny, with random weights and a vocabulary of characters.

.venv/bin/python tests/inference/genai_model/make.py     (needs `make llm`)
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import torch
from transformers import Gemma3ForCausalLM, Gemma3TextConfig

from export.llm_env.environment import run_step

HERE = Path(__file__).parent
CONTROL = ["<pad>", "<eos>", "<bos>", "<unk>"]
SIGNS = "一二三四五六七八九十百千万元日年条文主张问题：，。【】医院住起付线县市级居民不得支销"
WORDS = [
    *CONTROL,
    *(f"<0x{byte:02X}>" for byte in range(256)),
    *map(chr, range(33, 127)),
    "▁",
    "\n",
    *SIGNS,
]


def tokenizer() -> dict[str, Any]:
    ids = {word: place for place, word in enumerate(dict.fromkeys(WORDS))}
    space = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": ids[word],
                "content": word,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for word in CONTROL
        ],
        "normalizer": space,
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": {
            "type": "Sequence",
            "decoders": [
                {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
                {"type": "ByteFallback"},
                {"type": "Fuse"},
            ],
        },
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": "<unk>",
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": True,
            "byte_fallback": True,
            "ignore_merges": False,
            "vocab": ids,
            "merges": [],
        },
    }


def main() -> None:
    tree = tokenizer()
    torch.manual_seed(7)
    config = Gemma3TextConfig(
        vocab_size=len(tree["model"]["vocab"]),
        hidden_size=64,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=32,
        max_position_embeddings=256,
        sliding_window=64,
        query_pre_attn_scalar=32,
    )
    with tempfile.TemporaryDirectory() as scratch:
        source, built = Path(scratch) / "source", Path(scratch) / "built"
        Gemma3ForCausalLM(config).save_pretrained(source)
        text = json.dumps(tree, ensure_ascii=False)
        (source / "tokenizer.json").write_text(text, encoding="utf-8")
        names = {name: f"<{name[:3]}>" for name in ("bos_token", "eos_token", "pad_token", "unk_token")}
        (source / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "GemmaTokenizer", **names}))
        run_step("to_genai", source=str(source), target=str(built), precision="int8", context=256)
        (built / "tokenizer.json").write_text(text, encoding="utf-8")
        for name in ("genai_config.json", "model.onnx", "model.onnx.data", "tokenizer.json"):
            shutil.copyfile(built / name, HERE / name)


if __name__ == "__main__":
    main()
