"""A tiny real encoder with a tokenizer, and a small labelled set: real training, in seconds."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from tokenizers import Regex, Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Split
from tokenizers.processors import TemplateProcessing
from transformers import BertConfig, BertModel

CONTROL = ["<s>", "<pad>", "</s>", "<unk>"]
# Each matter has a word of lay people and a word of the law, without a character in common.
LAY = ("看病", "开除", "房东", "小孩", "坐牢", "欠钱", "离婚", "偷窃")
LEGAL = ("医疗", "解聘", "出租", "幼儿", "徒刑", "债务", "婚姻", "盗取")
MATTERS = len(LAY)
FILLER = "之一二三四五六七八九十条款应当规定办理部门申请材料期限"


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    """Two threads of torch on a tiny model wait for each other, most of all on a busy machine."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def tiny_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Hugging Face folder: two layers of 32, random weights, a token a character."""
    folder = tmp_path_factory.mktemp("checkpoint")
    characters = sorted({*"query: passage?怎么办", *FILLER, *"".join(LAY + LEGAL)})
    vocabulary = {piece: number for number, piece in enumerate([*CONTROL, *characters])}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = Split(Regex("."), "isolated")
    tokenizer.post_processor = TemplateProcessing("<s> $A </s>", "<s> $A </s> </s> $B </s>", [("<s>", 0), ("</s>", 2)])
    tokenizer.save(str(folder / "tokenizer.json"))
    torch.manual_seed(3)
    config = BertConfig(  # type: ignore[no-untyped-call]
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
        pad_token_id=1,
        attn_implementation="eager",
    )
    BertModel(config, add_pooling_layer=False).save_pretrained(folder)  # type: ignore[no-untyped-call]
    return folder


@pytest.fixture(scope="session")
def labelled_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus, questions and judgements as the README describes them; what is asked is never said in its clause."""
    folder = tmp_path_factory.mktemp("labelled")
    rng = random.Random(5)
    rows, questions, judgements = [], [], []
    for number in range(64):
        matter = number % MATTERS
        lay, legal = LAY[matter], LEGAL[matter]
        fill = "".join(rng.choices(FILLER, k=8))
        rows.append({"id": f"c{number}", "title": f"法{matter}", "content": f"{fill[:4]}{legal}{fill[4:]}"})
        questions.append({"id": f"q{number}", "text": f"{lay}怎么办{fill[:2]}?", "answer": f"{legal}{fill}"})
        judgements += [f"q{number}	c{other}	1" for other in range(matter, 64, MATTERS)]
    (folder / "corpus.jsonl").write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    (folder / "queries.jsonl").write_text("\n".join(json.dumps(row) for row in questions), encoding="utf-8")
    (folder / "qrels.tsv").write_text("\n".join(judgements), encoding="utf-8")
    return folder
