"""What the pack's rules say about the intent of a question: keywords and patterns, the more specific the louder."""

from __future__ import annotations

import math
import re
from collections import Counter

import numpy as np
import numpy.typing as npt

from orchestrator.domain.lexicon import fold
from orchestrator.domain.pack import DomainPack
from orchestrator.domain.schema import IntentNode

__all__ = ["RuleScorer"]

# A pattern says more than a keyword: it saw words together. A longer match is more specific.
PATTERN_WEIGHT = 2.0
PATTERN_WEIGHT_PER_CHAR = 0.1
PATTERN_CHARS = 12
# What a node's rules say about each of its descendants: less than their own.
INHERITED = 0.5
# The evidence that "no rule applies" starts with; a single short keyword stays close to it.
SILENCE = 1.0


class RuleScorer:
    """The rules of one pack, compiled. Votes go to leaves of the tree only.

    Args:
        pack: with the rules.
        leaves: intent ids; a vote has one share for each, in this order.
    """

    def __init__(self, pack: DomainPack, leaves: tuple[str, ...]) -> None:
        listed = Counter(keyword for path in pack.intent_paths.values() for keyword in _keywords(path[-1]))
        self._leaves = len(leaves)
        self._keywords: dict[str, list[tuple[int, float]]] = {}
        self._patterns: dict[str, tuple[re.Pattern[str], list[tuple[int, float]]]] = {}
        for place, intent_id in enumerate(leaves):
            path = pack.intent_paths[intent_id]
            for node in path:
                share = 1.0 if node is path[-1] else INHERITED
                for keyword in _keywords(node):
                    weight = share * math.sqrt(len(keyword)) / listed[keyword]
                    self._keywords.setdefault(keyword, []).append((place, weight))
                for pattern in node.patterns:
                    self._patterns.setdefault(pattern, (re.compile(pattern), []))[1].append((place, share))

    def vote(self, text: str) -> npt.NDArray[np.float64]:
        """The vote on a normalised question: shape [leaves]; what is missing to 1 says that the rules are silent."""
        scores = self._scores(fold(text))
        if not scores.any():
            return scores
        best = max(float(scores.max()), SILENCE)
        odds = np.where(scores > 0, np.exp(scores - best), 0.0)
        shares: npt.NDArray[np.float64] = odds / (odds.sum() + math.exp(SILENCE - best))
        return shares

    def _scores(self, folded: str) -> npt.NDArray[np.float64]:
        scores = np.zeros(self._leaves)
        for keyword, weights in self._keywords.items():
            if keyword in folded:
                for place, weight in weights:
                    scores[place] += weight
        for pattern, shares in self._patterns.values():
            match = pattern.search(folded)
            if match:
                length = min(match.end() - match.start(), PATTERN_CHARS)
                for place, share in shares:
                    scores[place] += share * (PATTERN_WEIGHT + PATTERN_WEIGHT_PER_CHAR * length)
        return scores


def _keywords(node: IntentNode) -> set[str]:
    return {fold(keyword) for keyword in node.keywords}
