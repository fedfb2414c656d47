"""Bytes into text, whatever encoding a text file has: Unicode with or without a mark, GB 18030, Big5, others."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from charset_normalizer import from_bytes

from orchestrator.errors import DocumentError

__all__ = ["Decoded", "decode", "utf16_without_mark"]

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# GBK and GB 2312 are subsets of GB 18030; pages that claim them use its other characters all the same.
_ALIASES = {"gb2312": "gb18030", "gbk": "gb18030", "gb_2312-80": "gb18030", "x-gbk": "gb18030", "big5": "big5hkscs"}
# First bytes of the characters that make up nearly all of ordinary text: GB 2312 level 1, Big5 level 1.
_COMMON_FIRST_BYTES = {"gb18030": (0xB0, 0xD7), "big5hkscs": (0xA4, 0xC6)}
_DAMAGED_SHARE = 0.002  # so many characters may be beyond repair before the file is refused
_CONTROL_SHARE = 0.01
_SAMPLE_BYTES = 200_000
_LATIN_BYTES_SHARE = 0.75  # UTF-16 never has more: every other byte of Latin text is zero
_ORDINARY_SHARE = 0.9  # of the characters are Latin or Chinese where a text is read in its own encoding
_CONTROLS = frozenset(map(chr, range(32))) - frozenset("\t\n\r\f\v\x1a\x1c\x1d\x1e\x1f")


@dataclass(frozen=True, slots=True)
class Decoded:
    """A text, the encoding that it had, and a warning where a part could not be decoded."""

    text: str
    encoding: str
    warning: str = ""


def decode(data: bytes, source: str, declared: str = "") -> Decoded:
    """Decode a text file.

    Args:
        data: the whole file.
        source: how the user named it.
        declared: what the file itself says of its encoding; believed where it holds.

    Raises:
        DocumentError: ``UNDECODABLE``: binary data, or no encoding fits.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _checked(_lenient(data, encoding), source)
    wide = utf16_without_mark(data)
    if b"\x00" in data and not wide:
        raise _undecodable(source)
    candidates = [wide, _known(declared), "utf-8", *_chinese_by_likelihood(data)]
    for candidate in dict.fromkeys(filter(None, candidates)):
        text = _strict(data, candidate)
        if text is not None and "\x00" not in text:
            return _checked(Decoded(text, candidate), source)
    for candidate in dict.fromkeys(filter(None, candidates)):
        decoded = _lenient(data, candidate)
        if decoded.text.count("\ufffd") <= _DAMAGED_SHARE * len(decoded.text):
            return _checked(decoded, source)
    best = from_bytes(data[:_SAMPLE_BYTES]).best()
    if best is None:
        raise _undecodable(source)
    return _checked(_lenient(data, best.encoding), source)


def _strict(data: bytes, encoding: str) -> str | None:
    try:
        # A file cut inside its last character is still text: what is left over is dropped.
        return codecs.getincrementaldecoder(encoding)().decode(data, final=False)
    except UnicodeDecodeError:
        return None


def _lenient(data: bytes, encoding: str) -> Decoded:
    text = data.decode(encoding, errors="replace")
    damaged = text.count("\ufffd")
    warning = f"{damaged} characters could not be decoded as {encoding}." if damaged else ""
    return Decoded(text, encoding, warning)


def _checked(decoded: Decoded, source: str) -> Decoded:
    text = decoded.text
    controls = sum(text.count(char) for char in _CONTROLS)
    damaged = text.count("\ufffd")
    if "\x00" in text or controls > _CONTROL_SHARE * len(text) or damaged > _DAMAGED_SHARE * len(text) + 1:
        raise _undecodable(source)
    return decoded


def _known(encoding: str) -> str:
    try:
        name = codecs.lookup(_ALIASES.get(encoding.strip().lower(), encoding.strip())).name
    except (LookupError, ValueError):
        return ""
    # Codecs that are no encodings of text (rot13, base64) are names that a hostile page may give.
    return name if codecs.lookup(name)._is_text_encoding and name not in {"idna", "punycode"} else ""


def utf16_without_mark(data: bytes) -> str:
    """``utf-16-le`` or ``utf-16-be`` where data without a byte order mark are most likely that; else empty."""
    sample = data[: _SAMPLE_BYTES // 2 * 2]
    if b"\x00" not in sample:
        return ""  # not one Latin letter, blank or line end: Chinese in another encoding, or no text
    if sum(0x20 <= byte < 0x7F for byte in sample) > _LATIN_BYTES_SHARE * len(sample):
        return ""  # pairs of Latin letters would pass for ideographs
    for encoding in ("utf-16-le", "utf-16-be"):
        text = _strict(sample, encoding)
        if text and sum(_is_ordinary(char) for char in text) >= _ORDINARY_SHARE * len(text):
            return encoding
    return ""


def _is_ordinary(char: str) -> bool:
    return (
        " " <= char <= "~" or char in "\t\n\r" or "\u4e00" <= char <= "\u9fff" or "\u3000" <= char <= "\u303f"
        or "\uff00" <= char <= "\uffef" or "\u2010" <= char <= "\u2027"
    )  # fmt: skip


def _chinese_by_likelihood(data: bytes) -> list[str]:
    """GB 18030 and Big5, the likelier one first: nearly any bytes are valid in either."""
    sample = data[:_SAMPLE_BYTES]
    return sorted(_COMMON_FIRST_BYTES, key=lambda encoding: -_common_share(sample, *_COMMON_FIRST_BYTES[encoding]))


def _common_share(sample: bytes, low: int, high: int) -> float:
    """The share of two-byte characters whose first byte is of the common ones."""
    common = total = place = 0
    while place < len(sample):
        first = sample[place]
        if first < 0x80:
            place += 1
            continue
        total += 1
        common += low <= first <= high
        place += 2
    return common / total if total else 0.0


def _undecodable(source: str) -> DocumentError:
    return DocumentError(
        source,
        "the file is not text in any encoding that can be recognised.",
        kind="UNDECODABLE",
        hint="Save it as UTF-8 and ingest it again.",
    )
