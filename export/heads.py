"""What stands on an encoder: pooling, normalisation and task heads, as the torch modules that are exported.

Whatever precision the encoder runs in, everything here is float32: pooling and norms lose too much in less.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import torch
from torch.nn.functional import linear, normalize, relu

from orchestrator.errors import BuildError

if TYPE_CHECKING:
    from transformers import BertModel, XLMRobertaForSequenceClassification

__all__ = [
    "DenseEncoder",
    "HeadWeights",
    "MultiVectorEncoder",
    "OnEncoder",
    "OwnHeadScorer",
    "PairScorer",
    "QuestionClassifier",
    "halved",
    "head_shape",
]

HeadWeights = Mapping[str, torch.Tensor]
Pooling = Literal["mean", "cls"]
# Below this a norm counts as zero: keeps an all-zero vector from becoming NaN.
SMALLEST_NORM = 1e-12
# What a masked score gets in half precision. The usual least finite value overflows to -inf when a score is added, and
# a row of nothing but -inf turns to NaN; exp(-1e4) is zero all the same.
HALF_MASK = -1e4


class OnEncoder(torch.nn.Module):
    """A module over an encoder, which alone may run in half precision."""

    def __init__(self, encoder: BertModel) -> None:
        super().__init__()
        self.encoder = encoder
        self.half_encoder = False

    def states(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """The encoder's last states; float32, shape [b, L, hidden]."""
        if not self.half_encoder:
            states: torch.Tensor = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
            return states
        embedded = self.encoder.embeddings(input_ids=input_ids)
        hidden = (1.0 - attention_mask[:, None, None, :].to(embedded.dtype)) * HALF_MASK
        encoded: torch.Tensor = self.encoder.encoder(embedded, attention_mask=hidden).last_hidden_state
        return encoded.float()


class DenseEncoder(OnEncoder):
    """Token ids to one L2-normalised vector a text: the mean over the tokens that the mask keeps, or the first's."""

    def __init__(self, encoder: BertModel, pooling: Pooling = "mean") -> None:
        super().__init__(encoder)
        self.pooling = pooling

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Encode.

        Args:
            input_ids: int64, shape [b, L].
            attention_mask: int64, shape [b, L]; 1 for a token, 0 for padding.

        Returns:
            float32, shape [b, hidden], rows of length 1.
        """
        states = self.states(input_ids, attention_mask)
        pooled = states[:, 0] if self.pooling == "cls" else mean_of(states, attention_mask)
        return normalize(pooled, p=2.0, dim=1, eps=SMALLEST_NORM)


class MultiVectorEncoder(DenseEncoder):
    """BGE-M3's three outputs (arXiv 2402.03216, section 3.2): dense, a weight a token, a vector a token.

    Args:
        encoder: the trunk.
        heads: ``sparse.weight`` [1, H], ``sparse.bias`` [1], ``colbert.weight`` [D, H], ``colbert.bias`` [D].
        pooling: of the dense vector.
    """

    def __init__(self, encoder: BertModel, heads: HeadWeights, pooling: Pooling) -> None:
        super().__init__(encoder, pooling)
        _register(self, heads, {"sparse": 1, "colbert": None}, encoder.config.hidden_size)

    def forward(  # type: ignore[override]
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Encode; arguments as in `DenseEncoder.forward`.

        Returns:
            ``dense`` [b, H], rows of length 1; ``sparse`` [b, L], not negative, 0 on padding; ``colbert`` [b, L-1, D],
            without the first token, rows of length 1, 0 on padding.
        """
        states = self.states(input_ids, attention_mask)
        pooled = states[:, 0] if self.pooling == "cls" else mean_of(states, attention_mask)
        kept = attention_mask.to(states.dtype)
        sparse = relu(_apply(self, "sparse", states)).squeeze(-1) * kept
        colbert = normalize(_apply(self, "colbert", states[:, 1:]), p=2.0, dim=-1, eps=SMALLEST_NORM)
        return normalize(pooled, p=2.0, dim=1, eps=SMALLEST_NORM), sparse, colbert * kept[:, 1:].unsqueeze(-1)


class PairScorer(OnEncoder):
    """A question and a passage, encoded as a pair, to one logit: a linear layer on the mean.

    Args:
        encoder: the trunk.
        heads: ``score.weight`` [1, H], ``score.bias`` [1].
    """

    def __init__(self, encoder: BertModel, heads: HeadWeights) -> None:
        super().__init__(encoder)
        _register(self, heads, {"score": 1}, encoder.config.hidden_size)

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Score; arguments as in `DenseEncoder.forward`. Returns float32, shape [b, 1]."""
        return _apply(self, "score", mean_of(self.states(input_ids, attention_mask), attention_mask))


class OwnHeadScorer(OnEncoder):
    """A question and a passage, encoded as a pair, to one logit, by the head that the checkpoint has on its ``<s>``."""

    def __init__(self, model: XLMRobertaForSequenceClassification) -> None:
        super().__init__(model.roberta)  # type: ignore[arg-type]  # XLM-R's and BERT's are called alike
        # A copy in float32, whatever the trunk is turned into.
        self.classifier = copy.deepcopy(model.classifier).float()

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Score; arguments as in `DenseEncoder.forward`. Returns float32, shape [b, 1]."""
        score: torch.Tensor = self.classifier(self.states(input_ids, attention_mask))
        return score


class QuestionClassifier(OnEncoder):
    """A question to logits of its intent (on the mean) and of each token's slot label.

    Args:
        encoder: the trunk.
        heads: ``intent.weight`` [intents, H], ``intent.bias``, ``slots.weight`` [labels, H], ``slots.bias``.
    """

    def __init__(self, encoder: BertModel, heads: HeadWeights) -> None:
        super().__init__(encoder)
        _register(self, heads, {"intent": None, "slots": None}, encoder.config.hidden_size)

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Classify; arguments as in `DenseEncoder.forward`. Returns [b, intents] and [b, L, labels], float32."""
        states = self.states(input_ids, attention_mask)
        return _apply(self, "intent", mean_of(states, attention_mask)), _apply(self, "slots", states)


def halved(module: OnEncoder, precision: Literal["fp16", "bf16"]) -> OnEncoder:
    """A copy of a module of this file whose encoder, and nothing else, runs in half precision."""
    found = copy.deepcopy(module)
    trunk: torch.nn.Module = found.encoder
    trunk.to(torch.float16 if precision == "fp16" else torch.bfloat16)
    found.half_encoder = True
    return found.eval()


def mean_of(states: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
    """The mean over the tokens that the mask keeps; an empty mask gives zeros. Shape [b, hidden]."""
    kept = attention_mask.unsqueeze(-1).to(states.dtype)
    return (states * kept).sum(dim=1) / kept.sum(dim=1).clamp(min=1.0)


def head_shape(heads: HeadWeights, name: str, hidden: int) -> int:
    """How many outputs the linear head ``name`` has.

    Raises:
        BuildError: its tensors are missing, or do not fit each other or the encoder; names them.
    """
    weight, bias = heads.get(f"{name}.weight"), heads.get(f"{name}.bias")
    if weight is None or bias is None:
        raise BuildError(
            f"The checkpoint has no head '{name}': {name}.weight and {name}.bias are wanted, of {sorted(heads)}.",
            hint="Is it a checkpoint of another kind of model?",
        )
    if weight.ndim != 2 or weight.shape[1] != hidden or bias.shape != weight.shape[:1]:
        raise BuildError(
            f"The head '{name}' does not fit: weight {list(weight.shape)}, bias {list(bias.shape)}, and the encoder's "
            f"states have {hidden} values."
        )
    return int(weight.shape[0])


def _register(module: torch.nn.Module, heads: HeadWeights, sizes: Mapping[str, int | None], hidden: int) -> None:
    for name, wanted in sizes.items():
        size = head_shape(heads, name, hidden)
        if wanted is not None and size != wanted:
            raise BuildError(f"The head '{name}' has {size} outputs, not {wanted}.")
        for part in ("weight", "bias"):
            module.register_buffer(f"{name}_{part}", heads[f"{name}.{part}"].to(torch.float32).contiguous())


def _apply(module: torch.nn.Module, name: str, states: torch.Tensor) -> torch.Tensor:
    weight, bias = module.get_buffer(f"{name}_weight"), module.get_buffer(f"{name}_bias")
    return linear(states, weight, bias)
