"""A shortened vocabulary: closed under merging, ids renumbered, logits of what is kept unchanged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer
from transformers import Gemma3ForCausalLM, Gemma3TextConfig

from export.shortening import shorten_model, shorten_tokenizer
from orchestrator.errors import BuildError

CONTROL = ["<pad>", "<eos>", "<bos>", "<unk>"]
LETTERS = ["s", "t", "a", "e", "m", "n", "▁", "医", "院", "住", "保", "é", "α"]
MERGES = [("医", "院"), ("住", "院"), ("s", "t"), ("st", "a"), ("sta", "t"), ("医", "é"), ("stat", "e"), ("住", "医院")]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    words = [*CONTROL, *(f"<0x{byte:02X}>" for byte in range(256)), *LETTERS, *("".join(pair) for pair in MERGES)]
    tree: dict[str, Any] = {
        "version": "1.0",
        "added_tokens": [
            {
                "id": place,
                "content": word,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for place, word in enumerate(CONTROL)
        ],
        "normalizer": None,
        "pre_tokenizer": None,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<bos>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"<bos>": {"id": "<bos>", "ids": [2], "tokens": ["<bos>"]}},
        },
        "decoder": {"type": "ByteFallback"},
        "model": {
            "type": "BPE",
            "unk_token": "<unk>",
            "fuse_unk": True,
            "byte_fallback": True,
            "vocab": {word: place for place, word in enumerate(words)},
            "merges": [list(pair) for pair in MERGES],
        },
    }
    file = tmp_path / "tokenizer.json"
    file.write_text(json.dumps(tree), encoding="utf-8")
    return file


def test_kept_text_is_cut_as_before_and_the_rest_is_still_spelt(path: Path) -> None:
    short = shorten_tokenizer(path)
    old, new = Tokenizer.from_file(str(path)), Tokenizer.from_str(json.dumps(short.tokenizer))
    for text in ("住医院", "医院住", "sta住院", "医保", "\n"):
        assert [short.kept[token] for token in new.encode(text).ids] == old.encode(text).ids
    assert new.encode("").ids == [2]
    # state and é are gone; their letters and bytes are not.
    assert "state" not in new.get_vocab()
    assert [new.id_to_token(token) for token in new.encode("state", add_special_tokens=False).ids] == ["sta", "t", "e"]
    assert new.decode(new.encode("é").ids) == "é"
    assert list(short.kept) == sorted(short.kept)


def test_logits_of_kept_words_stay(path: Path) -> None:
    torch.manual_seed(0)
    words = Tokenizer.from_file(str(path)).get_vocab_size()
    config = Gemma3TextConfig(
        vocab_size=words,
        hidden_size=32,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        sliding_window=16,
        query_pre_attn_scalar=16,
    )
    model = Gemma3ForCausalLM(config).eval()
    short = shorten_tokenizer(path)
    kept = torch.tensor(short.kept)
    ids = torch.tensor([[2, 9, 40, 3]])
    with torch.inference_mode():
        before = model(kept[ids]).logits[..., kept]
        after = shorten_model(model, short.kept)(ids).logits
    assert torch.allclose(before, after, atol=1e-5)


@pytest.mark.parametrize("text", ["", "{}", '{"model": {"type": "Unigram", "vocab": {}}}'])
def test_another_kind_of_tokenizer_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BuildError, match="shortened"):
        shorten_tokenizer(path)
