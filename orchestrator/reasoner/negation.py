"""Whether a sentence forbids or denies, and where it says so."""

from __future__ import annotations

import re

__all__ = ["is_negated", "negation_span", "without_negation"]

_NEGATION = re.compile(
    r"不得|不予|不能|不可(?!抗|分)|不应|不再|不必|不需|不纳入|不属于|不享受|不适用|不承担|不允许|不设|不支付|不报销|不收取|不计入|不受理"
    r"|禁止|严禁|无需|无须|毋须|免于|免予|免收|免缴|拒绝|除外"
)
# These bound a number and deny nothing: 不得超过15日.
_BOUNDING = re.compile(
    r"不(?:得|应|应当|能|可|宜)?(?:超过|低于|少于|高于|多于|大于|小于|早于|晚于|迟于)|不足|不满|未满|不予受理的|不予支持的"
)
_MODALITY = re.compile(
    r"不得|不予|不能|不可以?|不应当?|不再|不需要?|不必|无需|无须|禁止|严禁|免于|免予|不|可以|应当|必须|需要|能够|予以|允许"
)


def negation_span(text: str) -> tuple[int, int] | None:
    """Where a sentence first forbids or denies; None where it doesn't. A bound (不超过) denies nothing."""
    bounds = [match.span() for match in _BOUNDING.finditer(text)]
    for match in _NEGATION.finditer(text):
        if not any(start <= match.start() < end for start, end in bounds):
            return match.span()
    return None


def is_negated(text: str) -> bool:
    """Whether a statement forbids or denies."""
    return negation_span(text) is not None


def without_negation(text: str) -> str:
    """A rule's text without what allows, demands or forbids: 不得进入 and 可以进入 become the same."""
    return _MODALITY.sub("", text)
