"""How the reasoner's language model is asked, and the grammar that its answers must keep to.

Training and serving share this module: a model answers well only to what it was trained on. The model is a base model,
so a prompt is a short form that its answer completes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

__all__ = ["claim_grammar", "number_prompt", "pieces_of", "rewrite_prompt", "rule_prompt"]

# The fewest characters of a piece: single ones can be stitched into anything.
LEAST_PIECE = 2
# Pieces before and after a number, and in a claim without one.
BEFORE, AFTER, WITHOUT = 3, 2, 3
_MARKS = "【】"
# Whatever ends a piece: punctuation, digits that are not the claim's number, the marks themselves.
_BREAKS = r"\s，,；;。：:、！？!?（）()《》“”\"'|" + _MARKS
_NUMBER = "0-9０-９%％"


def number_prompt(sentence: str, start: int, end: int) -> str:
    """Asks for the claim about the number at [start, end) of a sentence."""
    return f"条文：{sentence[:start]}【{sentence[start:end]}】{sentence[end:]}\n主张："


def rule_prompt(sentence: str, question: str) -> str:
    """Asks for what a sentence says about a question, no number being stated."""
    return f"条文：{sentence}\n问题：{question}\n主张："


def rewrite_prompt(question: str) -> str:
    """Asks for a colloquial question in the words of regulations."""
    return f"口语：{question}\n规范："


def claim_grammar(sentence: str, numbers: Sequence[str], limit: int) -> str:
    """A Lark grammar of the claims that a sentence admits: pieces of it and one of the numbers, nothing else.

    Args:
        sentence: where each piece must stand verbatim.
        numbers: the wordings of the number that must be in the claim; empty for a claim without a number.
        limit: characters at most.

    Returns:
        A grammar for llguidance: its ``substring_chunks`` and ``&`` (both must match) are not of Lark itself.
    """
    words = json.dumps(_words(sentence), ensure_ascii=False)
    if numbers:
        number = " | ".join(json.dumps(wording, ensure_ascii=False) for wording in numbers)
        shape = f"{'PIECE? ' * (BEFORE - 1)}PIECE? NUMBER{' PIECE?' * AFTER}"
    else:
        number = ""
        shape = f"PIECE{' PIECE?' * (WITHOUT - 1)}"
    lines = [
        "start: CLAIM",
        f"CLAIM: ({shape}) & /[^\\n]{{{LEAST_PIECE},{limit}}}/",
        f"PIECE: PART & /[^{_BREAKS}{_NUMBER}]{{{LEAST_PIECE},{limit}}}/",
        f'PART: %regex {{"substring_chunks": {words}}}',
    ]
    if numbers:
        lines.append(f"NUMBER: {number}")
    return "\n".join(lines) + "\n"


def pieces_of(claim: str, sentence: str, numbers: Sequence[str]) -> tuple[str, ...] | None:
    """The pieces that a claim is made of, as `claim_grammar` admits them; None where it is not.

    A model that answers without a grammar (TensorRT-LLM takes none through its public tensors) is held to the same.
    """
    if not numbers:
        parts = _cover(claim, sentence, WITHOUT)
        return tuple(parts) if parts else None
    for wording in sorted(numbers, key=len, reverse=True):
        for match in re.finditer(re.escape(wording), claim):
            before = _cover(claim[: match.start()], sentence, BEFORE)
            after = _cover(claim[match.end() :], sentence, AFTER)
            if before is not None and after is not None:
                return (*before, wording, *after)
    return None


def _words(sentence: str) -> list[str]:
    """The sentence cut into words, so that no piece ends within one; into characters without a segmenter."""
    try:
        import rjieba  # noqa: PLC0415 (of the extra `local`)
    except ImportError:
        return list(sentence)
    words: list[str] = rjieba.cut(sentence)
    return words


_FORBIDDEN = re.compile(f"[{_BREAKS}{_NUMBER}]")


def _cover(text: str, sentence: str, most: int) -> list[str] | None:
    """The fewest pieces of ``sentence`` that make up ``text``, no piece with a break or a digit in it."""
    if not text:
        return []
    if most == 0 or _FORBIDDEN.search(text):
        return None
    for size in range(len(text), LEAST_PIECE - 1, -1):
        if text[:size] in sentence:
            rest = _cover(text[size:], sentence, most - 1)
            if rest is not None:
                return [text[:size], *rest]
    return None
