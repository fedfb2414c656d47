"""Shortens a causal language model's vocabulary to what Chinese regulations are written with.

Most of Gemma 3 270M is its table of 262,144 words, which every decoded token multiplies with. Chinese pieces, short
ASCII pieces and the 256 bytes (by which anything else is still spelt) are an eighth of it. What is kept is closed
under merging, so text of kept characters is cut into the same pieces as before, and the logits of kept pieces are
those of the whole model; a build checks both.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.errors import BuildError

__all__ = ["Shortened", "shorten_model", "shorten_tokenizer"]

# Longer ASCII pieces are English words and code; regulations hold numbers, units and abbreviations.
ASCII_LENGTH = 3
_BYTE = re.compile(r"<0x[0-9A-F]{2}>")
_CONTROL = frozenset({"<pad>", "<eos>", "<bos>", "<unk>"})
# Ideographs, CJK and full-width punctuation, general punctuation, circled and Roman numerals, and single signs.
_CHINESE = re.compile(
    "[\u4e00-\u9fff\u3400-\u4dbf\u3000-\u303f\uff00-\uffef\u2010-\u2027\u2460-\u24ff\u2160-\u216b\u00b7\u00d7\u2030\u2103\u3220-\u3229]"
)
SPACE = "▁"


@dataclass(frozen=True, slots=True)
class Shortened:
    """A tokenizer with fewer words.

    Attributes:
        tokenizer: the tree of its ``tokenizer.json``.
        kept: the old id of each new one, rising.
    """

    tokenizer: dict[str, Any]
    kept: tuple[int, ...]


def shorten_tokenizer(path: Path) -> Shortened:
    """The tokenizer of ``path`` (byte-pair encoding with byte fallback) without the words that are not kept.

    Raises:
        BuildError: it is malformed or of another kind.
    """
    try:
        tree = json.loads(path.read_text(encoding="utf-8"))
        model = tree["model"]
        vocabulary: Mapping[str, int] = model["vocab"]
        if model["type"] != "BPE" or not model["byte_fallback"]:
            raise BuildError(f"{path} is no byte-pair encoding with byte fallback, so it cannot be shortened.")
        words = {word for word in vocabulary if _is_kept(word)}
        # A word that is not whole by itself must be mergeable from kept ones, else its own parts go astray.
        merges = [(left, right) for left, right in model["merges"] if left in words and right in words]
        merges = [pair for pair in merges if "".join(pair) in words]
        ordered = sorted(words, key=lambda word: vocabulary[word])
        ids = {word: place for place, word in enumerate(ordered)}
        model["vocab"] = ids
        model["merges"] = [list(pair) for pair in merges]
        tree["added_tokens"] = [
            {**token, "id": ids[token["content"]]} for token in tree["added_tokens"] if token["content"] in ids
        ]
        for token in tree["post_processor"]["special_tokens"].values():
            token["ids"] = [ids[word] for word in token["tokens"]]
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise BuildError(f"{path} cannot be shortened: {error!r}.") from None
    return Shortened(tree, tuple(vocabulary[word] for word in ordered))


def shorten_model(model: Any, kept: tuple[int, ...]) -> Any:
    """A transformers model with the rows of ``kept`` alone in its (tied) word table; ``model`` itself is changed."""
    import torch  # noqa: PLC0415 (seconds to import)

    table = model.get_input_embeddings()
    with torch.no_grad():
        rows = table.weight[torch.tensor(kept)].clone()
        model.resize_token_embeddings(len(kept), mean_resizing=False)
        table = model.get_input_embeddings()
        table.weight.copy_(rows)
    model.tie_weights()
    return model


def _is_kept(word: str) -> bool:
    if word in _CONTROL or _BYTE.fullmatch(word):
        return True
    text = word.replace(SPACE, " ")
    if text.isascii():
        return len(text) <= ASCII_LENGTH
    return all(character.isascii() or _CHINESE.match(character) for character in text)
