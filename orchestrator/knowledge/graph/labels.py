"""Clause labels, made comparable: 第１２条, 第十二条 and 第12条 are one label."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from orchestrator.knowledge.clause import PathElement

__all__ = ["label_key", "label_keys", "label_search_keys", "parse_numeral"]

_DIGITS = {character: value for value, character in enumerate("〇一二三四五六七八九")} | {"零": 0, "两": 2, "○": 0}
_UNITS = {"十": 10, "百": 100, "千": 1000}
_NUMERAL = re.compile(r"[〇零○一二三四五六七八九两十百千万]+")
# 第12条之1, 第(3)项; (3); 附件2.
_STEP = re.compile(
    r"第\(?(?P<number>\d+)\)?(?P<level>[编章节条款项目])(?:之(?P<insert>\d+))?"
    r"|\((?P<item>\d+)\)"
    r"|(?P<kind>附件|附表|附录|附图|表|图)(?P<of>\d*)"
)
_ARTICLE = "条"


def parse_numeral(text: str) -> int:
    """The number that a Chinese numeral stands for: 一百零三 → 103, 二〇二四 → 2024, 十二 → 12, 一万零五 → 10005."""
    if not any(character in _UNITS or character == "万" for character in text):
        return int("".join(str(_DIGITS[character]) for character in text))
    total, section, digit = 0, 0, 0
    for character in text:
        if character == "万":
            total, section, digit = (total + section + digit) * 10_000, 0, 0
        elif character in _UNITS:
            section += (digit or 1) * _UNITS[character]
            digit = 0
        else:
            digit = _DIGITS[character]
    return total + section + digit


def label_key(label: str) -> str:
    """The comparable form of a label; empty for a blank one."""
    steps = _steps(label)
    return "".join(steps) if steps else _fold(label).strip("、.．,，:：")


def label_keys(label: str, path: Sequence[PathElement]) -> set[str]:
    """Every key under which a clause is found: its own label, each step above it, and the steps from 条 down."""
    keys = {label_key(label)}
    below_article: list[str] = []
    for element in path:
        key = label_key(element.label)
        keys.add(key)
        if below_article or (key.startswith("第") and _ARTICLE in key):
            below_article.append(key)
            keys.add("".join(below_article))
    return keys - {""}


def label_search_keys(label: str) -> list[str]:
    """What to look a label up by, best first: as it is, without 款 (few documents number those), then its 条 alone."""
    steps = _steps(label)
    if not steps:
        key = label_key(label)
        return [key] if key else []
    without_paragraph = [step for step in steps if not step.endswith("款")] or steps
    tries = [steps, without_paragraph] + [steps[:length] for length in range(len(steps) - 1, 0, -1)]
    return list(dict.fromkeys("".join(steps) for steps in tries))


def _fold(label: str) -> str:
    folded = "".join(unicodedata.normalize("NFKC", label).split()).lower()
    return _NUMERAL.sub(lambda match: str(parse_numeral(match[0])), folded)


def _steps(label: str) -> list[str]:
    steps = []
    for match in _STEP.finditer(_fold(label)):
        if match["level"]:
            insert = f"之{int(match['insert'])}" if match["insert"] else ""
            steps.append(f"第{int(match['number'])}{match['level']}{insert}")
        elif match["item"]:
            steps.append(f"第{int(match['item'])}项")
        else:
            steps.append(f"{match['kind']}{match['of']}")
    return steps
