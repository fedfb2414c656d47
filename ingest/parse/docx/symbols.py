"""Characters of symbol fonts (Symbol, Wingdings) as the Unicode characters that look like them."""

from __future__ import annotations

import re

__all__ = ["has_private", "readable", "symbol", "unicode_bullet"]

# Word stores a symbol font's code in the private use area, at U+F000 plus the code.
_PRIVATE_FIRST, _PRIVATE_LAST = 0xF000, 0xF0FF
_PRIVATE = re.compile("[\uf001-\uf0ff]")
_UNKNOWN = "□"

# Adobe's Symbol encoding, codes 0x20 to 0x7E and 0xA1 to 0xFE.
_SYMBOL_LOW = " !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧ∆ΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼"
_SYMBOL_HIGH = "ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊⟨®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪ ⟩∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭"
_SYMBOL = {0x20 + place: char for place, char in enumerate(_SYMBOL_LOW)} | {
    0xA1 + place: char for place, char in enumerate(_SYMBOL_HIGH)
}
_WINGDINGS = {
    0x22: "✂", 0x28: "☎", 0x2A: "✉", 0x36: "⌛", 0x41: "✌", 0x46: "☞", 0x4A: "☺", 0x4C: "☹", 0x6C: "●", 0x6D: "❍",
    0x6E: "■", 0x6F: "□", 0x70: "❐", 0x71: "❑", 0x72: "❒", 0x73: "⬧", 0x74: "⧫", 0x75: "◆", 0x76: "❖", 0x77: "⬥",
    0x78: "☒", 0x7A: "⌘", 0x9E: "·", 0x9F: "•", 0xA1: "○", 0xA7: "▪", 0xA8: "□", 0xAA: "✦", 0xAB: "★", 0xB2: "✧",
    0xD5: "⌫", 0xD8: "➢", 0xDC: "➲", 0xDF: "←", 0xE0: "→", 0xE1: "↑", 0xE2: "↓", 0xE8: "➔", 0xEF: "⇦", 0xF0: "⇨",
    0xF1: "⇧", 0xF2: "⇩", 0xFB: "✗", 0xFC: "✓", 0xFD: "☒", 0xFE: "☑",
    **{0x80 + number: chr(0x24EA if number == 0 else ord("①") + number - 1) for number in range(11)},
    **{0x8B + number: chr(0x24FF if number == 0 else ord("❶") + number - 1) for number in range(11)},
}  # fmt: skip
_WINGDINGS_2 = {
    0x4F: "✗", 0x50: "✓", 0x51: "☒", 0x52: "☑", 0x53: "☒", 0x54: "☒", 0x95: "⦁", 0x97: "●", 0x9A: "○", 0xA1: "■",
    0xA3: "□", **{0x6A + number - 1: chr(ord("①") + number - 1) for number in range(1, 11)},
}  # fmt: skip
_FONTS = {"symbol": _SYMBOL, "wingdings": _WINGDINGS, "wingdings 2": _WINGDINGS_2}
# Bullets whose font is not told: the codes that Word's own lists use.
_BULLETS = {0xB7: "•", 0xA7: "▪", 0xA8: "□", 0xD8: "➢", 0xFC: "✓", 0x6C: "●", 0x6E: "■", 0x75: "◆", 0x76: "❖"}


def symbol(font: str, code: int) -> str:
    """The character that a symbol font shows for a code.

    Args:
        font: the font's name; of one that is not a known symbol font the code is taken as Unicode.
        code: as ``w:sym`` gives it, with or without the private area's 0xF000.
    """
    private = _PRIVATE_FIRST <= code <= _PRIVATE_LAST
    table = _FONTS.get(font.strip().lower())
    if table is not None:
        return table.get(code - _PRIVATE_FIRST if private else code, _UNKNOWN)
    if private:
        return _UNKNOWN
    valid = 0x20 <= code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF
    return chr(code) if valid else _UNKNOWN


def readable(text: str, font: str) -> str:
    """A text with the private characters of a symbol font made readable; they are marked where the font is unknown."""
    return "".join(symbol(font, ord(char)) if _is_private(char) else char for char in text)


def has_private(text: str) -> bool:
    """Whether a text holds characters by which symbol fonts are addressed."""
    return _PRIVATE.search(text) is not None


def _is_private(char: str) -> bool:
    return _PRIVATE_FIRST < ord(char) <= _PRIVATE_LAST


def unicode_bullet(text: str, font: str) -> str:
    """A bullet's text with the private characters of symbol fonts made readable; an unknown one is a plain bullet."""
    table = _FONTS.get(font.strip().lower())
    if table is _WINGDINGS and len(text) == 1 and ord(text) < 0x100:
        return table.get(ord(text), "•")
    known = _BULLETS if table is None else table
    return "".join(known.get(ord(char) - _PRIVATE_FIRST, "•") if _is_private(char) else char for char in text)
