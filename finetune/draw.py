"""Which texts are held out: drawn by the text itself."""

from __future__ import annotations

import hashlib

__all__ = ["draw"]


def draw(seed: int, text: str) -> float:
    """A number in [0,1) that follows from seed and text alone, so that adding a text moves no other one."""
    digest = hashlib.sha256(f"{seed}:{text}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64
