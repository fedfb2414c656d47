"""The intent of a question: rules and labelled examples vote together, and the vote's worth is calibrated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from orchestrator.domain.pack import DomainPack
from orchestrator.router.calibrate import Calibrator
from orchestrator.router.examples import ExampleBank
from orchestrator.router.rules import RuleScorer

__all__ = ["IntentClassifier", "IntentGuess", "IntentReading"]

Shares = npt.NDArray[np.float64]

# The vote is a product of the examples' shares and the rules', the latter softened: rules are sure where they speak,
# but know only the words that somebody thought of. Chosen with the development questions in tests/router.
RULE_WEIGHT = 0.3
RULE_FLOOR = 0.2
# An alternative worth naming.
SMALLEST_ALTERNATIVE = 0.05
MOST_ALTERNATIVES = 3
# The wider intent is taken where so much of the vote lies below it.
BROADER_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class IntentGuess:
    """An intent and how sure it is, in [0,1]. ``decided_by``: "rule", "examples", "vote" or "default"."""

    intent_id: str
    confidence: float
    decided_by: str


@dataclass(frozen=True, slots=True)
class IntentReading:
    """What the vote came to.

    Attributes:
        best: the leaf that won; None where neither rules nor examples say anything.
        broader: the nearest wider intent that holds most of the vote, where the leaf is in doubt.
        alternatives: other leaves, the likeliest first.
        by_rules: the intent that the rules alone would choose, with their share as its confidence.
    """

    best: IntentGuess | None
    broader: IntentGuess | None
    alternatives: tuple[IntentGuess, ...]
    by_rules: IntentGuess | None


class IntentClassifier:
    """The rules of one pack, and its examples once they are embedded (`learn`).

    The confidence is learnt when the examples come: each is left out in turn, and how often the vote on it was right
    is fitted to how clear the vote was.
    """

    def __init__(self, pack: DomainPack, neighbours: int) -> None:
        leaves = [path for path in pack.intent_paths.values() if not path[-1].children]
        self._pack = pack
        self._neighbours = neighbours
        self._leaves = tuple(path[-1].intent_id for path in leaves)
        self._rules = RuleScorer(pack, self._leaves)
        self.examples: tuple[tuple[int, str], ...] = tuple(
            (place, example.question) for place, path in enumerate(leaves) for example in path[-1].examples
        )
        self._bank: ExampleBank | None = None
        self._with_examples: Calibrator | None = None
        self._rules_only: Calibrator | None = None

    @property
    def bank(self) -> ExampleBank | None:
        """The embedded examples; None before `learn`."""
        return self._bank

    def calibrate_rules(self, texts: Sequence[str]) -> None:
        """Learn how far rules alone can be trusted; ``texts`` are the examples, normalised, in their order."""
        votes = [self._rules.vote(text) for text in texts]
        spoken = [(vote, label) for vote, (label, _) in zip(votes, self.examples, strict=True) if vote.any()]
        if spoken:
            features = np.stack([_rule_features(vote) for vote, _ in spoken])
            self._rules_only = Calibrator(features, np.array([int(vote.argmax()) == label for vote, label in spoken]))

    def learn(self, texts: Sequence[str], vectors: npt.NDArray[np.float32], fingerprint: str) -> None:
        """Take the examples' vectors, shape [examples, dimension], and learn how far the votes can be trusted."""
        labels = [label for label, _ in self.examples]
        bank = ExampleBank(labels, len(self._leaves), vectors, fingerprint, self._neighbours)
        features, right = [], []
        for row, (text, label) in enumerate(zip(texts, labels, strict=True)):
            rules = self._rules.vote(text)
            vote = bank.vote_without(row)
            shares = _pool(vote.shares, rules)
            features.append(_features(shares, vote.nearest, rules))
            right.append(int(shares.argmax()) == label)
        self._with_examples = Calibrator(np.stack(features), np.array(right))
        self._bank = bank

    def read(self, text: str, vector: npt.NDArray[np.float32] | None) -> IntentReading:
        """Vote on a normalised question; ``vector`` is its embedding, None where there is none."""
        rules = self._rules.vote(text)
        spoke = bool(rules.any())
        if vector is None or self._bank is None or self._with_examples is None:
            if not spoke or self._rules_only is None:
                return IntentReading(None, None, (), None)
            confidence = self._rules_only.confidence(_rule_features(rules))
            return self._reading(rules / rules.sum(), confidence, "rule", rules)
        vote = self._bank.vote(vector)
        shares = _pool(vote.shares, rules)
        confidence = self._with_examples.confidence(_features(shares, vote.nearest, rules))
        return self._reading(shares, confidence, "vote" if spoke else "examples", rules)

    def _reading(self, shares: Shares, confidence: float, decided_by: str, rules: Shares) -> IntentReading:
        order = np.argsort(-shares, kind="stable")
        best = IntentGuess(self._leaves[int(order[0])], confidence, decided_by)
        alternatives = tuple(
            # What the winner leaves is shared out as the vote was.
            IntentGuess(self._leaves[int(place)], float((1 - confidence) * shares[place] / rest), decided_by)
            for place in order[1 : MOST_ALTERNATIVES + 1]
            if shares[place] >= SMALLEST_ALTERNATIVE and (rest := 1 - float(shares[order[0]])) > 0
        )
        return IntentReading(best, self._broader(best, shares), alternatives, self._by_rules(rules))

    def _by_rules(self, rules: Shares) -> IntentGuess | None:
        if not rules.any():
            return None
        place = int(rules.argmax())
        return IntentGuess(self._leaves[place], float(rules[place]), "rule")

    def _broader(self, best: IntentGuess, shares: Shares) -> IntentGuess | None:
        for node in reversed(self._pack.intent_paths[best.intent_id][:-1]):
            below = sum(
                float(share)
                for leaf, share in zip(self._leaves, shares, strict=True)
                if node in self._pack.intent_paths[leaf]
            )
            if below >= BROADER_SHARE:
                return IntentGuess(node.intent_id, max(below * best.confidence, best.confidence), best.decided_by)
        return None


def _pool(examples: Shares, rules: Shares) -> Shares:
    product = examples * (rules + RULE_FLOOR) ** RULE_WEIGHT
    pooled: Shares = product / product.sum()
    return pooled


def _features(shares: Shares, nearest: float, rules: Shares) -> Shares:
    second, first = np.sort(shares)[-2:] if len(shares) > 1 else (1e-9, shares[0])
    agreed = rules[int(shares.argmax())] - max(0.0, float(rules.max() - rules[int(shares.argmax())]))
    return np.array([np.log(first), np.log(first / max(second, 1e-9)), nearest, agreed])


def _rule_features(rules: Shares) -> Shares:
    second, first = np.sort(rules)[-2:] if len(rules) > 1 else (0.0, rules[0])
    return np.array([first, first - second])
