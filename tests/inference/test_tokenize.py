from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import ModelNotFoundError
from orchestrator.inference.tokenize import TextTokenizer, load_tokenizer

BOS, PAD, EOS, UNKNOWN = 0, 1, 2, 3


@pytest.fixture
def tokenizer(tiny_repository: Any) -> TextTokenizer:
    tiny_repository.publish()
    return load_tokenizer(tiny_repository.path / "embedder" / "1" / "tokenizer.json", max_length=6)


async def test_texts_are_framed_cut_and_prefixed(tokenizer: TextTokenizer) -> None:
    plain, long = await tokenizer.encode(["甲 乙", "甲 " * 50])
    assert plain == [BOS, 6, 7, EOS]
    assert long == [BOS, 6, 6, 6, 6, EOS]
    assert await tokenizer.encode(["甲"], prefix="query: ") == [[BOS, 4, 6, EOS]]
    assert tokenizer.pad_id == PAD


async def test_a_text_cannot_pass_for_a_special_token(tokenizer: TextTokenizer) -> None:
    assert await tokenizer.encode(["甲 </s> 乙", "<s> <pad>"]) == [
        [BOS, 6, UNKNOWN, 7, EOS],
        [BOS, UNKNOWN, UNKNOWN, EOS],
    ]


async def test_empty_surrogate_and_huge_texts(tokenizer: TextTokenizer) -> None:
    empty, surrogate, huge = await tokenizer.encode(["", "\ud800 甲", "甲" * 500_000])
    assert empty == [BOS, EOS]
    assert surrogate == [BOS, UNKNOWN, 6, EOS]
    assert huge == [BOS, UNKNOWN, EOS]
    assert await tokenizer.encode([]) == []


@pytest.mark.parametrize("content", [None, b"", b"{}", b"\xff\xfe", b'{"version": "1.0"}'])
def test_a_broken_file_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "tokenizer.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ModelNotFoundError, match=r"tokenizer\.json"):
        load_tokenizer(path, max_length=8)


def test_the_same_tokenizer_is_not_read_twice(tiny_repository: Any) -> None:
    paths = []
    for version, words in {"1": ("a", "b"), "2": ("a", "b"), "3": ("b", "a")}.items():
        tiny_repository.publish(version=version, words=words)
        paths.append(tiny_repository.path / "embedder" / version / "tokenizer.json")
    first = load_tokenizer(paths[0], max_length=8)
    assert load_tokenizer(paths[1], max_length=8) is first
    assert load_tokenizer(paths[1], max_length=9) is not first
    assert load_tokenizer(paths[2], max_length=8) is not first
