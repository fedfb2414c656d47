from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.inference.batching import pad, plan_batches

BUCKETS = (16, 32, 64, 128)


@given(
    lengths=st.lists(st.integers(1, 100), max_size=200),
    max_tokens=st.integers(16, 4096),
    max_rows=st.integers(1, 40),
)
def test_every_row_travels_once_within_the_limits(lengths: list[int], max_tokens: int, max_rows: int) -> None:
    batches = plan_batches(lengths, buckets=BUCKETS, max_tokens=max_tokens, max_rows=max_rows, max_length=100)
    assert sorted(row for batch in batches for row in batch.rows) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch.rows) <= max_rows
        assert len(batch.rows) == 1 or len(batch.rows) * batch.length <= max_tokens
        assert batch.length in {16, 32, 64, 100}
        longest = max(lengths[row] for row in batch.rows)
        assert longest <= batch.length
        assert longest > max((size for size in (0, 16, 32, 64) if size < batch.length), default=0)


def test_like_lengths_share_a_request() -> None:
    batches = plan_batches([3, 60, 16, 17], buckets=(64, 16, 32), max_tokens=64, max_rows=8, max_length=64)
    assert [(batch.rows, batch.length) for batch in batches] == [((0, 2), 16), ((3,), 32), ((1,), 64)]


def test_buckets_beyond_the_model_are_cut() -> None:
    (batch,) = plan_batches([20], buckets=(512,), max_tokens=2048, max_rows=8, max_length=24)
    assert batch.length == 24


def test_padding_is_on_the_right_and_masked() -> None:
    tokens, mask = pad([[5, 6, 7], [8]], length=4, pad_id=1)
    assert tokens.tolist() == [[5, 6, 7, 1], [8, 1, 1, 1]]
    assert mask.tolist() == [[1, 1, 1, 0], [1, 0, 0, 0]]
    assert tokens.dtype == mask.dtype == np.int64
