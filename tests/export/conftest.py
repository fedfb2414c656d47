"""A tiny model in the packed format, written by an encoder of the tests' own."""

from __future__ import annotations

import string
import struct
import sys
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from export.probes import PASSAGES, QUERIES
from export.runs import Vectors

HIDDEN, LAYERS, HEADS, WIDE, POSITIONS = 64, 2, 4, 128, 160
CONTROL = ["<s>", "<pad>", "</s>", "<unk>"]
# Every letter of the plain probes: the engine, unlike SentencePiece, does not make one of neighbouring unknowns.
LETTERS = string.ascii_letters + string.digits + unicodedata.normalize("NFKC", "".join((*QUERIES, *PASSAGES)))
PIECES = [
    *CONTROL,
    "▁",
    *dict.fromkeys(LETTERS.replace(" ", ".")),
    "▁query",
    "▁passage",
    "医保",
    "百分之",
    "报销",
    "住院",
    "<mask>",
]


@dataclass(frozen=True)
class Tiny:
    """What goes into a packed file; tests replace a part to damage it."""

    magic: bytes = b"E5S1"
    version: int = 1
    hidden: int = HIDDEN
    layers: int = LAYERS
    heads: int = HEADS
    wide: int = WIDE
    words: int = len(PIECES) + 3  # the real table, too, has more rows than there are pieces
    positions: int = POSITIONS
    types: int = 2
    epsilon: float = 1e-12
    block: int = 32
    pieces: tuple[str, ...] = tuple(PIECES)
    missing: str = ""
    seed: int = 7

    def changed(self, **changes: Any) -> Tiny:
        return replace(self, **changes)

    def tensors(self) -> dict[str, Vectors]:
        """float32 arrays by packed name; matrices hold only values that Q4_0 can express."""
        random = np.random.default_rng(self.seed)

        def matrix(rows: int, columns: int) -> Vectors:
            codes = random.integers(-8, 8, (rows, columns // 32, 32))
            codes[..., 0] = -8
            scales = random.uniform(0.01, 0.03, (rows, columns // 32, 1)).astype(np.float16)
            return (codes * scales.astype(np.float32)).astype(np.float32).reshape(rows, columns)

        def vector(size: int, centre: float = 0.0) -> Vectors:
            return random.normal(centre, 0.05, size).astype(np.float32)

        h, w = self.hidden, self.wide
        found = {
            "emb.word": matrix(self.words, h),
            "emb.pos": random.normal(0, 0.05, (self.positions, h)).astype(np.float32),
            "emb.type": random.normal(0, 0.05, (self.types, h)).astype(np.float32),
            "emb.ln.w": vector(h, 1.0),
            "emb.ln.b": vector(h),
        }
        for layer in range(self.layers):
            shapes = {"q": (h, h), "k": (h, h), "v": (h, h), "ao": (h, h), "fi": (w, h), "fo": (h, w)}
            for short, (rows, columns) in shapes.items():
                found[f"l{layer}.{short}.w"] = matrix(rows, columns)
                found[f"l{layer}.{short}.b"] = vector(rows)
            for short in ("aln", "oln"):
                found[f"l{layer}.{short}.w"] = vector(h, 1.0)
                found[f"l{layer}.{short}.b"] = vector(h)
        return found

    def to_bytes(self) -> bytes:
        sizes = (self.hidden, self.layers, self.heads, self.wide, self.words, self.positions, self.types)
        head = self.magic + struct.pack("<I7ifi", self.version, *sizes, self.epsilon, self.block)
        encoded = [piece.encode() for piece in self.pieces]
        offsets = np.cumsum([0, *map(len, encoded)]).astype("<u4")
        # Longer pieces are likelier than their letters together, so that segmentations differ from single letters.
        scores = np.array([0.0 if piece in CONTROL else -4.0 - 0.01 * rank for rank, piece in enumerate(self.pieces)])
        head += struct.pack("<5iQ", len(encoded), 0, 2, 1, 3, int(offsets[-1]))
        head += offsets.tobytes() + scores.astype("<f4").tobytes() + b"".join(encoded) + struct.pack("<iI", 0, 0)
        tensors = {name: array for name, array in self.tensors().items() if name != self.missing}
        kinds = {name: int(array.ndim == 2 and name not in ("emb.pos", "emb.type")) for name, array in tensors.items()}
        bodies = {name: _q4_0(array) if kinds[name] else array.tobytes() for name, array in tensors.items()}
        directory_size = 4 + sum(2 + len(name) + 1 + 4 + 8 + 8 for name in tensors)
        at = len(head) + directory_size
        padding = -at % 64
        at += padding
        directory = struct.pack("<i", len(tensors))
        for name, array in tensors.items():
            directory += struct.pack("<H", len(name)) + name.encode()
            directory += struct.pack("<BIQQ", kinds[name], array.size, at, len(bodies[name]))
            at += len(bodies[name])
        return head + directory + bytes(padding) + b"".join(bodies.values())


def _q4_0(array: Vectors) -> bytes:
    blocks = array.reshape(-1, 32)
    scales = np.abs(blocks).max(1, keepdims=True) / 8
    codes = np.rint(blocks / scales).astype(np.int8) + 8
    halves = (codes[:, :16] | codes[:, 16:] << 4).astype(np.uint8)
    return b"".join(
        scale.astype("<f2").tobytes() + half.tobytes() for scale, half in zip(scales[:, 0], halves, strict=True)
    )


@pytest.fixture(scope="session")
def tiny() -> Tiny:
    return Tiny()


@pytest.fixture(scope="session")
def packed(tmp_path_factory: pytest.TempPathFactory, tiny: Tiny) -> Path:
    """The tiny model as ``tiny.bin`` in an importable package ``tinyweights``."""
    folder = tmp_path_factory.mktemp("source") / "tinyweights"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    information = folder.parent / "tinyweights-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: tinyweights\nVersion: 1.0\n")
    path = folder / "tiny.bin"
    path.write_bytes(tiny.to_bytes())
    return path


@pytest.fixture
def importable(packed: Path) -> Iterator[None]:
    """Have ``tinyweights`` be found as an installed package."""
    sys.path.insert(0, str(packed.parents[1]))
    yield
    sys.path.remove(str(packed.parents[1]))
