"""Three voices on the intent of a question, pooled: rules, labelled examples and a trained model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from orchestrator.router.examples import ExampleVote

__all__ = ["Shares", "Voices", "features", "pool", "tempered"]

Shares = npt.NDArray[np.float64]

# The vote is a product of the voices' shares (a logarithmic pool), the rules' and the model's softened: rules are sure
# where they speak, but know only the words that somebody thought of; a model is sure of too much outside of what it
# was trained on. Chosen with the development questions in tests/router and the validation wordings.
RULE_WEIGHT = 0.3
RULE_FLOOR = 0.2
EXAMPLE_WEIGHT = 0.3
MODEL_WEIGHT = 1.0
MODEL_FLOOR = 0.002
# Of the log-odds of a confidence that a model had a say in. The examples on which it is learnt are more like the
# templates that the model was trained on than people's questions are. Fitted (Platt, 1999) to the same two sets.
MODEL_TRUST = 0.67
NEVER_CERTAIN = 1e-12
SMALLEST = np.finfo(float).tiny


@dataclass(frozen=True, slots=True)
class Voices:
    """What each says about one question; None where it has no say.

    Attributes:
        rules: shape [intents]; all zero where no rule applies.
        model: shape [intents], summing to 1.
    """

    rules: Shares
    examples: ExampleVote | None = None
    model: Shares | None = None

    @property
    def speaking(self) -> tuple[str, ...]:
        """Those that have a say: "rule", "examples", "model"."""
        spoken = {
            "rule": bool(self.rules.any()),
            "examples": self.examples is not None,
            "model": self.model is not None,
        }
        return tuple(name for name, has_say in spoken.items() if has_say)


def pool(voices: Voices) -> Shares:
    """The pooled shares, summing to 1. Rules alone are not softened: where they are silent, nothing is known."""
    if voices.examples is None and voices.model is None:
        total = voices.rules.sum()
        return voices.rules / total if total else voices.rules
    logs = RULE_WEIGHT * np.log(voices.rules + RULE_FLOOR)
    if voices.examples is not None:
        # With a model beside them, examples of which it has seen the like count for less.
        weight = 1.0 if voices.model is None else EXAMPLE_WEIGHT
        logs = logs + weight * np.log(np.maximum(voices.examples.shares, SMALLEST))
    if voices.model is not None:
        logs = logs + MODEL_WEIGHT * np.log(voices.model + MODEL_FLOOR)
    odds = np.exp(logs - logs.max())
    shares: Shares = odds / odds.sum()
    return shares


def features(voices: Voices, shares: Shares) -> Shares:
    """What tells how far a pooled vote can be trusted: how clear it is, and how far the voices agree with it."""
    second, first = np.sort(shares)[-2:] if len(shares) > 1 else (0.0, shares[0])
    if voices.examples is None and voices.model is None:
        return np.array([first, first - second])
    place = int(shares.argmax())
    agreed = voices.rules[place] - max(0.0, float(voices.rules.max() - voices.rules[place]))
    found = [np.log(first), np.log(first / max(second, 1e-9)), agreed]
    if voices.examples is not None:
        found.append(voices.examples.nearest)
    if voices.examples is not None and voices.model is not None:
        found.append(np.log(voices.examples.shares[place] + MODEL_FLOOR))
        found.append(np.log(voices.model[place] + MODEL_FLOOR))
    return np.array(found)


def tempered(confidence: float) -> float:
    """A confidence that was learnt on the pack's examples, as it holds for wordings that a model knows less well."""
    odds = confidence / max(1 - confidence, NEVER_CERTAIN)
    return float(1 / (1 + odds**-MODEL_TRUST)) if odds > 0 else 0.0
