"""A golden set of clauses as requests to the reasoner, asked as the agent asks, and what is right of its claims."""

from __future__ import annotations

from collections.abc import Mapping

from export.golden import ClaimSet, LabelledClause
from export.text_canary import TextRequest
from orchestrator.domain.claim_prompt import claim_grammar, number_prompt, rule_prompt
from orchestrator.inference.generator import generation_inputs

__all__ = ["MAX_CLAIM_CHARS", "claim_requests"]

# What a claim is, at most.
MAX_CLAIM_CHARS = 15
MAX_TOKENS = 32


def claim_requests(golden: ClaimSet) -> list[TextRequest]:
    """One request a clause; judged by ``number_right``, ``within_length`` and ``topic_right``."""
    return [_request(row) for row in golden.rows]


def _request(row: LabelledClause) -> TextRequest:
    place = row.clause.find(row.number) if row.number else -1
    if place >= 0:
        prompt = number_prompt(row.clause, place, place + len(row.number))
        grammar = claim_grammar(row.clause, [row.number], MAX_CLAIM_CHARS)
    else:
        prompt = rule_prompt(row.clause, row.question)
        grammar = claim_grammar(row.clause, [], MAX_CLAIM_CHARS)

    def judge(text: str) -> Mapping[str, bool]:
        claim = text.strip()
        found = {
            "within_length": 0 < len(claim) <= MAX_CLAIM_CHARS,
            "topic_right": all(any(word in claim for word in group) for group in row.topic),
        }
        return {**found, "number_right": row.number in claim} if row.number else found

    return TextRequest(generation_inputs(prompt, MAX_TOKENS, grammar), judge)
