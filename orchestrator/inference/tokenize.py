"""Texts to token ids, with the tokenizer that belongs to a model version."""

from __future__ import annotations

import asyncio
import hashlib
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path

from tokenizers import Encoding, Tokenizer

from orchestrator.errors import ModelNotFoundError

__all__ = ["TextTokenizer", "load_tokenizer"]

# Below this many characters, handing over to a thread costs more than tokenising (about 1 µs a character).
INLINE_CHARS = 2_000
# A token stands for 64 characters at most, or the text is noise: what lies beyond the model's length is not read.
MAX_CHARS_PER_TOKEN = 64
PAD_TOKENS = ("<pad>", "[PAD]")
UNKNOWN_TOKENS = ("<unk>", "[UNK]")


def load_tokenizer(path: Path, *, max_length: int) -> TextTokenizer:
    """Read a ``tokenizer.json``; one that is in use anywhere in this process is given back.

    Parsing takes a second for a large vocabulary and leaves a quarter of a gigabyte behind. A model that was
    fine-tuned keeps its tokenizer, and models made from one encoder share it: that second must not be taken from the
    questions that come while a version goes live.

    Args:
        path: the file.
        max_length: tokens kept, the special ones included.

    Raises:
        ModelNotFoundError: the file is missing or is not a tokenizer.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ModelNotFoundError(
            f"{path} cannot be read ({error.strerror}).", hint="`trias models build` makes it."
        ) from None
    key = (hashlib.sha256(content).hexdigest(), max_length)
    with _LOADING:
        known = _IN_USE.get(key)
        if known is None:
            try:
                known = _IN_USE[key] = TextTokenizer(content, max_length=max_length)
            except Exception as error:  # the library raises bare exceptions
                raise ModelNotFoundError(
                    f"{path} is not a tokenizer: {error}.", hint="`trias models build` makes a new one."
                ) from None
    return known


class TextTokenizer:
    """A tokenizer that cuts to its model's length.

    A special token that is spelled out in a text (``</s>``, ``＜/s＞``) counts as an unknown word: no question can end
    itself early or pass for padding.

    Args:
        content: of a ``tokenizer.json``.
        max_length: tokens kept, the special ones included.
    """

    def __init__(self, content: bytes, *, max_length: int) -> None:
        self._tokenizer = Tokenizer.from_buffer(content)
        self.digest = hashlib.sha256(content).hexdigest()
        self.max_length = max_length
        self._max_chars = max_length * MAX_CHARS_PER_TOKEN
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(max_length)
        self._tokenizer.encode_special_tokens = True
        self.pad_id = self._id_of(PAD_TOKENS)
        self._unknown_id = self._id_of(UNKNOWN_TOKENS)
        added = self._tokenizer.get_added_tokens_decoder()
        self._special = frozenset(number for number, token in added.items() if token.special) - {self._unknown_id}
        self._framing: int = self._tokenizer.num_special_tokens_to_add(False)

    async def encode(self, texts: Sequence[str], *, prefix: str = "") -> list[list[int]]:
        """Token ids of each text, special tokens included, at most ``max_length`` of them.

        Args:
            texts: any text; lone surrogates, which no encoding has, become U+FFFD.
            prefix: put before each.
        """
        prepared = [prefix + text[: self._max_chars] for text in texts]
        if sum(map(len, prepared)) <= INLINE_CHARS:
            return self._encode(prepared)
        return await asyncio.to_thread(self._encode, prepared)

    async def encode_pairs(self, pairs: Sequence[tuple[str, str]]) -> list[list[int]]:
        """Token ids of pairs, ``<s> first </s></s> second </s>`` or as the model has it; at most ``max_length`` a pair.

        Of a pair that is too long, the longer text is cut: a question keeps half of the tokens whatever the passage.
        """
        prepared = [(first[: self._max_chars], second[: self._max_chars]) for first, second in pairs]
        if sum(len(first) + len(second) for first, second in prepared) <= INLINE_CHARS:
            return self._encode_pairs(prepared)
        return await asyncio.to_thread(self._encode_pairs, prepared)

    def encode_with_offsets(self, text: str, *, prefix: str = "") -> tuple[list[int], list[tuple[int, int]]]:
        """Token ids of one short text, and where each token stands in it: characters [start, end).

        Special tokens and those of the prefix stand at (0, 0).
        """
        prepared = _without_surrogates(prefix + text[: self._max_chars])
        encoding = self._tokenizer.encode(prepared)
        skip = len(prefix)
        offsets = [
            (0, 0) if special or end <= skip else (max(start - skip, 0), end - skip)
            for (start, end), special in zip(encoding.offsets, encoding.special_tokens_mask, strict=True)
        ]
        return self._disarmed(encoding), offsets

    def _encode(self, texts: list[str]) -> list[list[int]]:
        try:
            encodings = self._tokenizer.encode_batch_fast(texts)
        except (UnicodeError, TypeError):
            encodings = self._tokenizer.encode_batch_fast([_without_surrogates(text) for text in texts])
        return [self._disarmed(encoding) for encoding in encodings]

    def _encode_pairs(self, pairs: list[tuple[str, str]]) -> list[list[int]]:
        try:
            encodings = self._tokenizer.encode_batch_fast(pairs)
        except (UnicodeError, TypeError):
            clean = [(_without_surrogates(first), _without_surrogates(second)) for first, second in pairs]
            encodings = self._tokenizer.encode_batch_fast(clean)
        return [self._disarmed(encoding) for encoding in encodings]

    def _disarmed(self, encoding: Encoding) -> list[int]:
        ids: list[int] = encoding.ids
        if sum(map(self._special.__contains__, ids)) <= self._framing:
            return ids
        framing = encoding.special_tokens_mask
        return [
            self._unknown_id if number in self._special and not frame else number
            for number, frame in zip(ids, framing, strict=True)
        ]

    def _id_of(self, names: Sequence[str]) -> int:
        found = (self._tokenizer.token_to_id(name) for name in names)
        return next((number for number in found if number is not None), 0)


def _without_surrogates(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


_LOADING = threading.Lock()
_IN_USE: weakref.WeakValueDictionary[tuple[str, int], TextTokenizer] = weakref.WeakValueDictionary()
