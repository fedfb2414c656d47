"""An encoder cut in two: the frozen lower layers, run once a text and remembered, and the upper ones, trained."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence

__all__ = ["LowerLayers", "grouped_by_length", "mean_pool", "upper_layers"]

# Texts of like length share a forward pass: padding is the dearest part of a batch of clauses.
ROWS_TOGETHER = 16


class LowerLayers:
    """Token states after the embeddings and the first ``frozen`` layers, kept in half precision.

    Args:
        encoder: a ``BertModel``; its lower layers must not change any more.
        frozen: how many layers count as lower.
    """

    def __init__(self, encoder: Any, frozen: int) -> None:
        self._encoder = encoder
        self._frozen = frozen
        self._known: dict[tuple[int, ...], torch.Tensor] = {}

    def states(self, ids: Sequence[Sequence[int]]) -> list[torch.Tensor]:
        """One tensor a row of token ids; float16, shape [tokens, hidden]."""
        rows = [tuple(row) for row in ids]
        fresh = [row for row in dict.fromkeys(rows) if row not in self._known]
        for group in grouped_by_length([len(row) for row in fresh]):
            for row, state in zip(group, self._run([fresh[place] for place in group]), strict=True):
                self._known[fresh[row]] = state
        return [self._known[row] for row in rows]

    def _run(self, rows: list[tuple[int, ...]]) -> list[torch.Tensor]:
        ids = pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=1)
        lengths = torch.tensor([len(row) for row in rows])
        mask = torch.arange(ids.shape[1])[None, :] < lengths[:, None]
        was_training = self._encoder.training
        self._encoder.eval()
        with torch.no_grad():
            states = self._encoder.embeddings(input_ids=ids)
            additive = _additive(mask, states.dtype)
            for layer in self._encoder.encoder.layer[: self._frozen]:
                states = layer(states, additive)[0]
        self._encoder.train(was_training)
        return [state[:length].to(torch.float16).clone() for state, length in zip(states, lengths, strict=True)]


def upper_layers(encoder: Any, frozen: int, states: Sequence[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    """The rest of the encoder, with gradients.

    Args:
        encoder: the ``BertModel``, adapters in place.
        frozen: how many layers `LowerLayers` has run.
        states: one tensor a text, [tokens, hidden].

    Returns:
        Token states, float32 [b, L, hidden], and the boolean mask of tokens, [b, L].
    """
    padded = pad_sequence([state.float() for state in states], batch_first=True)
    lengths = torch.tensor([len(state) for state in states])
    mask = torch.arange(padded.shape[1])[None, :] < lengths[:, None]
    additive = _additive(mask, padded.dtype)
    for layer in encoder.encoder.layer[frozen:]:
        padded = layer(padded, additive)[0]
    return padded, mask


def grouped_by_length(lengths: Sequence[int], rows: int = ROWS_TOGETHER) -> Iterator[list[int]]:
    """Places of ``lengths``, in groups of at most ``rows`` of like length."""
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    for start in range(0, len(order), rows):
        yield order[start : start + rows]


def mean_pool(states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The mean over tokens; [b, L, hidden] and [b, L] to [b, hidden]."""
    kept = mask.unsqueeze(-1).to(states.dtype)
    return (states * kept).sum(dim=1) / kept.sum(dim=1).clamp(min=1.0)


def _additive(mask: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The mask as attention takes it: 0 where a token is, the lowest number where none is; [b, 1, 1, L]."""
    return (~mask)[:, None, None, :].to(dtype) * torch.finfo(dtype).min
