"""The intent of a question: rules, labelled examples and a model vote together, and the vote's worth is calibrated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from orchestrator.domain.pack import DomainPack
from orchestrator.domain.schema import IntentNode
from orchestrator.router.calibrate import Calibrator
from orchestrator.router.examples import ExampleBank, ExampleVote
from orchestrator.router.rules import RuleScorer
from orchestrator.router.vote import Shares, Voices, features, pool, tempered

__all__ = ["IntentClassifier", "IntentGuess", "IntentReading"]

# An alternative worth naming.
SMALLEST_ALTERNATIVE = 0.05
MOST_ALTERNATIVES = 3
# The wider intent is taken where so much of the vote lies below it.
BROADER_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class IntentGuess:
    """An intent and how sure it is, in [0,1]. ``decided_by``: "rule", "examples", "model", "vote" or "default"."""

    intent_id: str
    confidence: float
    decided_by: str


@dataclass(frozen=True, slots=True)
class IntentReading:
    """What the vote came to.

    Attributes:
        best: the leaf that won; None where none of them says anything.
        broader: the nearest wider intent that holds most of the vote, where the leaf is in doubt.
        alternatives: other leaves, the likeliest first.
        by_rules: the intent that the rules alone would choose, with their share as its confidence.
    """

    best: IntentGuess | None
    broader: IntentGuess | None
    alternatives: tuple[IntentGuess, ...]
    by_rules: IntentGuess | None


class IntentClassifier:
    """The rules of one pack, its examples once they are embedded (`learn`), and a model's say (`learn_model`).

    The confidence is learnt when the examples come: each is left out in turn, and how often the vote on it was right
    is fitted to how clear the vote was. A model has not seen the examples either: it is trained on templates.
    """

    def __init__(self, pack: DomainPack, neighbours: int) -> None:
        leaves = [path for path in pack.intent_paths.values() if not path[-1].children]
        self._pack = pack
        self._neighbours = neighbours
        self.leaves: tuple[str, ...] = tuple(path[-1].intent_id for path in leaves)
        self._rules = RuleScorer(pack, self.leaves)
        self.examples: tuple[tuple[int, str], ...] = tuple(
            (place, example.question) for place, path in enumerate(leaves) for example in path[-1].examples
        )
        self._below = _leaves_below(leaves)
        self._bank: ExampleBank | None = None
        self._rule_votes: list[Shares] = []
        self._example_votes: Sequence[ExampleVote] = ()
        self._model_votes: Mapping[int, Shares] = {}
        self._calibrators: dict[tuple[bool, bool], Calibrator] = {}

    @property
    def bank(self) -> ExampleBank | None:
        """The embedded examples; None before `learn`."""
        return self._bank

    def calibrate_rules(self, texts: Sequence[str]) -> None:
        """Learn how far rules alone can be trusted; ``texts`` are the examples, normalised, in their order."""
        self._rule_votes = [self._rules.vote(text) for text in texts]
        self._calibrate(examples=False, model=False)

    def learn(self, vectors: npt.NDArray[np.float32], fingerprint: str) -> None:
        """Take the examples' vectors, shape [examples, dimension], and learn how far the votes can be trusted."""
        labels = [label for label, _ in self.examples]
        bank = ExampleBank(labels, len(self.leaves), vectors, fingerprint, self._neighbours)
        self._example_votes = [bank.vote_without(row) for row in range(len(labels))]
        self._calibrate(examples=True, model=False)
        if self._model_votes:
            self._calibrate(examples=True, model=True)
        self._bank = bank

    def learn_model(self, shares: Mapping[int, Shares]) -> None:
        """Take what a model says about examples (place → shape [leaves]), and learn how far it can be trusted."""
        self._model_votes = shares
        self._calibrate(examples=False, model=True)
        if self._example_votes:
            self._calibrate(examples=True, model=True)

    def forget_model(self) -> None:
        """No model has a say until the next `learn_model`."""
        self._model_votes = {}

    def by_rules(self, text: str) -> Shares:
        """What the rules alone say of a normalised question: shares of the leaves, all zero where none applies."""
        return self._rules.vote(text)

    def read(self, rules: Shares, vector: npt.NDArray[np.float32] | None, model: Shares | None = None) -> IntentReading:
        """Vote on a question.

        Args:
            rules: what `by_rules` says of it.
            vector: its embedding by the embedder of `learn`; None where there is none.
            model: shares of the leaves by the model of `learn_model`; None where there are none.
        """
        voices = Voices(
            rules,
            self._bank.vote(vector) if vector is not None and self._bank is not None else None,
            model if self._model_votes else None,
        )
        speaking = voices.speaking
        calibrator = self._calibrators.get((voices.examples is not None, voices.model is not None))
        if not speaking or calibrator is None:
            return IntentReading(None, None, (), None)
        shares = pool(voices)
        confidence = calibrator.confidence(features(voices, shares))
        if voices.model is not None:
            confidence = tempered(confidence)
        return self._reading(shares, confidence, speaking[0] if len(speaking) == 1 else "vote", voices.rules)

    def _calibrate(self, *, examples: bool, model: bool) -> None:
        found, right = [], []
        for row, (label, _) in enumerate(self.examples):
            if model and row not in self._model_votes:
                continue
            voices = Voices(
                self._rule_votes[row],
                self._example_votes[row] if examples else None,
                self._model_votes[row] if model else None,
            )
            if voices.speaking:
                shares = pool(voices)
                found.append(features(voices, shares))
                right.append(int(shares.argmax()) == label)
        if found:
            self._calibrators[examples, model] = Calibrator(np.stack(found), np.array(right))

    def _reading(self, shares: Shares, confidence: float, decided_by: str, rules: Shares) -> IntentReading:
        order = np.argsort(-shares, kind="stable")
        best = IntentGuess(self.leaves[int(order[0])], confidence, decided_by)
        alternatives = tuple(
            # What the winner leaves is shared out as the vote was.
            IntentGuess(self.leaves[int(place)], float((1 - confidence) * shares[place] / rest), decided_by)
            for place in order[1 : MOST_ALTERNATIVES + 1]
            if shares[place] >= SMALLEST_ALTERNATIVE and (rest := 1 - float(shares[order[0]])) > 0
        )
        return IntentReading(best, self._broader(best, shares), alternatives, self._by_rules(rules))

    def _by_rules(self, rules: Shares) -> IntentGuess | None:
        if not rules.any():
            return None
        place = int(rules.argmax())
        return IntentGuess(self.leaves[place], float(rules[place]), "rule")

    def _broader(self, best: IntentGuess, shares: Shares) -> IntentGuess | None:
        for node in reversed(self._pack.intent_paths[best.intent_id][:-1]):
            below = float(shares[self._below[node.intent_id]].sum())
            if below >= BROADER_SHARE:
                return IntentGuess(node.intent_id, max(below * best.confidence, best.confidence), best.decided_by)
        return None


def _leaves_below(leaves: Sequence[Sequence[IntentNode]]) -> dict[str, npt.NDArray[np.intp]]:
    """Wider intent's id → the places of the leaves below it."""
    below: dict[str, list[int]] = {}
    for place, path in enumerate(leaves):
        for node in path[:-1]:
            below.setdefault(node.intent_id, []).append(place)
    return {intent_id: np.array(places) for intent_id, places in below.items()}
