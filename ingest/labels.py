"""Labels of clauses as people write them: 第十二条之一, 第１２条, 第 十二 条, 第一百○二条, 一、 （一） 1. ① 附件1."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

__all__ = [
    "ARTICLE",
    "DIVISIONS",
    "NUMBER",
    "Label",
    "canonical_label",
    "format_number",
    "parse_number",
    "read_appendix",
    "read_article",
    "read_division",
    "read_item",
]

ARTICLE = "条"
# Outermost first. 条, 款, 项 and 目 stand below all of them.
DIVISIONS = ("编", "分编", "章", "节")

_DIGITS = {character: value for value, character in enumerate("零一二三四五六七八九")}
_DIGITS |= {
    "〇": 0,
    "○": 0,
    "Ｏ": 0,
    "两": 2,
    "壹": 1,
    "贰": 2,
    "叁": 3,
    "肆": 4,
    "伍": 5,
    "陆": 6,
    "柒": 7,
    "捌": 8,
    "玖": 9,
}
_UNITS = {"十": 10, "拾": 10, "百": 100, "佰": 100, "千": 1000, "仟": 1000}
_TENS = {"廿": 20, "卅": 30}
_TEN_THOUSAND = {"万": 10_000}
_NUMERAL = "零〇○一二两三四五六七八九十百千万廿卅"
# U+3000 and U+00A0 are spaces to Python's \s; so is every space that Word writes.
_SPACE = r"[^\S\n]*"

NUMBER = rf"(?:[0-9０-９](?:{_SPACE}[0-9０-９])*|[{_NUMERAL}](?:{_SPACE}[{_NUMERAL}])*)"
"""A number in a label, as a regular expression: Chinese numerals or digits of either width, spaces allowed inside."""

_BRANCH = rf"(?:{_SPACE}之{_SPACE}(?:[0-9０-９]{{1,3}}|[一二三四五六七八九十]{{1,3}})(?![一二三四五六七八九十0-9]))"
_ARTICLE = re.compile(rf"\s*(第{_SPACE}({NUMBER}){_SPACE}条((?:{_BRANCH})*))")
_DIVISION = re.compile(rf"\s*(第{_SPACE}({NUMBER}){_SPACE}(分{_SPACE}编|编|章|节))((?:{_BRANCH})*)")
_ANY = re.compile(rf"\s*第?{_SPACE}({NUMBER}){_SPACE}(分编|编|章|节|条|款|项|目)((?:{_BRANCH})*)")
_APPENDIX = re.compile(
    rf"\s*(附{_SPACE}(?:件|录|表|图|則|)){_SPACE}"
    rf"([0-9０-９]{{1,3}}(?:[-－—][0-9０-９]{{1,3}})*|[A-ZＡ-Ｚ](?![A-Za-z])|[一二三四五六七八九十]{{1,3}}(?![一-鿿])|)"
)
_LATIN = {"Ⅰ": 1, "Ⅱ": 2, "Ⅲ": 3, "Ⅳ": 4, "Ⅴ": 5, "Ⅵ": 6, "Ⅶ": 7, "Ⅷ": 8, "Ⅸ": 9, "Ⅹ": 10}

# Styles of numbered items as (name, pattern); the first that matches wins. Group 1 is the label, group 2 its number.
_ITEM_STYLES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("一、", re.compile(rf"\s*(([{_NUMERAL}]{{1,5}}){_SPACE}[、．.])")),
    ("（一）", re.compile(rf"\s*([（(〔]{_SPACE}([{_NUMERAL}]{{1,5}}){_SPACE}[）)〕])")),
    ("1.1", re.compile(r"\s*(([0-9０-９]{1,3}(?:[.．][0-9０-９]{1,3})+)[.．]?)(?![0-9０-９%％‰年月日万亿元])")),
    ("1.", re.compile(r"\s*(([0-9０-９]{1,3})(?:[、．]|\.(?![0-9])))")),
    ("（1）", re.compile(rf"\s*([（(]{_SPACE}([0-9０-９]{{1,3}}){_SPACE}[）)])")),
    ("1）", re.compile(r"\s*(([0-9０-９]{1,2})[）)])")),
    ("①", re.compile(r"\s*(([①-⑳]))")),
    ("⑴", re.compile(r"\s*(([⑴-⒇]))")),
    ("⒈", re.compile(r"\s*(([⒈-⒛]))")),
    ("㈠", re.compile(r"\s*(([㈠-㈩]))")),
    ("Ⅰ", re.compile(r"\s*(([Ⅰ-Ⅹ])[、．.]?)")),
    ("A.", re.compile(r"\s*(([A-Za-zＡ-Ｚ])(?:[、．]|\.(?![A-Za-z0-9])))")),
    ("甲、", re.compile(r"\s*(([甲乙丙丁戊己庚辛])、)")),
    (
        "1 ",
        re.compile(
            r"\s*(([0-9]{1,2}))(?=[^\S\n]+[一-鿿]|[一-鿿])(?![年月日时分秒天个元万亿件份名次倍米克级种项号户人岁周])"
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class Label:
    """A label at the start of a line.

    Attributes:
        level: ``编``, ``分编``, ``章``, ``节``, ``条``, ``项`` (any numbered item) or ``附件``.
        text: as written.
        canonical: the one form of it: ``第十二条之一``, ``附件1``, ``（一）``.
        number: its numbers, outermost first: ``(12, 1)`` for 第十二条之一, ``(2, 1, 3)`` for 2.1.3.
        end: offset in the line of the first character after the label.
        style: what the numbering looks like (``（一）``, ``1.``); items of one style are siblings.
    """

    level: str
    text: str
    canonical: str
    number: tuple[int, ...]
    end: int
    style: str


def parse_number(text: str) -> int | None:
    """Read a whole number: 十二, 一百○二, 二〇二四, 两千, 廿三, １２, 12; None where it is none."""
    text = re.sub(r"\s", "", unicodedata.normalize("NFKC", text).replace("○", "〇"))
    if not text:
        return None
    if text.isdecimal():
        return int(text)
    if all(character in _DIGITS for character in text):
        return int("".join(str(_DIGITS[character]) for character in text))
    total = section = digit = 0
    for character in text:
        if character in _DIGITS:
            digit = _DIGITS[character]
        elif character in _UNITS:
            section += (digit or 1) * _UNITS[character]
            digit = 0
        elif character in _TENS:
            section += _TENS[character]
        elif character in _TEN_THOUSAND:
            total = (total + section + digit) * _TEN_THOUSAND[character]
            section = digit = 0
        else:
            return None
    return total + section + digit


def format_number(number: int) -> str:
    """Write a whole number below 100,000,000 in Chinese numerals as laws do: 12 → 十二, 102 → 一百零二."""
    if number == 0:
        return "零"
    if number >= 10_000:
        head, tail = divmod(number, 10_000)
        zero = "零" if 0 < tail < 1000 else ""
        return f"{format_number(head)}万{zero}{format_number(tail) if tail else ''}"
    digits = "零一二三四五六七八九"
    written = ""
    for unit, name in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit, number = divmod(number, unit)
        if digit:
            written += digits[digit] + name
        elif written and number:
            written += "" if written.endswith("零") else "零"
    return written.removeprefix("一") if written.startswith("一十") else written


def canonical_label(text: str) -> str:
    """The one form of a label of a 编, 章, 节, 条, 款 or 项: 第１２条, 第 十二 条 and 12条 are all 第十二条.

    Text that isn't such a label comes back without spaces.
    """
    match = _ANY.fullmatch(text.strip())
    number = parse_number(match[1]) if match else None
    if match is None or number is None:
        return re.sub(r"\s", "", text)
    return f"第{format_number(number)}{match[2]}" + "".join(f"之{format_number(n)}" for n in _branches(match[3]))


def read_article(line: str, start: int = 0) -> Label | None:
    """The 第X条 that stands at ``start`` of a line, whether it is a label there or a reference."""
    match = _ARTICLE.match(line, start)
    return _ordinal(match, ARTICLE) if match else None


def read_division(line: str) -> Label | None:
    """The 第X编/分编/章/节 that a line starts with, where the rest of the line can be a heading."""
    match = _DIVISION.match(line)
    return _ordinal(match, re.sub(r"\s", "", match[3]), 4) if match else None


def read_appendix(line: str) -> Label | None:
    """The 附件, 附件1, 附录A, 附表 or 附 that a line starts with; 附则 is a chapter's heading and none of these."""
    match = _APPENDIX.match(line)
    if not match:
        return None
    kind = re.sub(r"\s", "", match[1])
    rest = line[match.end() :].lstrip()
    if kind == "附" and not rest.startswith(("：", ":")):
        return None
    mark = unicodedata.normalize("NFKC", match[2]).replace("—", "-")
    numbers = tuple(number for part in mark.split("-") if (number := parse_number(part)) is not None)
    canonical = kind + ("-".join(map(str, numbers)) if numbers else mark)
    text = line[match.start(1) : match.end()].rstrip()
    return Label("附件", text, canonical, numbers, match.end(), "附件")


def read_item(line: str) -> Label | None:
    """The item number that a line starts with: 一、 （一） 1. 1、 （1） ① 2.1 A. and the like."""
    for style, pattern in _ITEM_STYLES:
        match = pattern.match(line)
        if not match:
            continue
        numbers = _item_numbers(match[2])
        if numbers is None:
            return None
        if style == "1.1":
            style = f"1.{len(numbers)}"  # noqa: PLW2901 (2.1 and 2.1.1 are not siblings)
        return Label("项", match[1], re.sub(r"\s", "", match[1]), numbers, match.end(1), style)
    return None


def _ordinal(match: re.Match[str], level: str, branch_group: int = 3) -> Label | None:
    number = parse_number(match[2])
    if number is None:
        return None
    branches = _branches(match[branch_group])
    canonical = f"第{format_number(number)}{level}" + "".join(f"之{format_number(branch)}" for branch in branches)
    text = match[0].lstrip()
    return Label(level, text, canonical, (number, *branches), match.end(), level)


def _branches(text: str) -> tuple[int, ...]:
    parts = (parse_number(part) for part in text.split("之")[1:])
    return tuple(part for part in parts if part is not None)


def _item_numbers(text: str) -> tuple[int, ...] | None:
    if text in _LATIN:
        return (_LATIN[text],)
    if text in (heavenly := "甲乙丙丁戊己庚辛"):
        return (heavenly.index(text) + 1,)
    for first, last in (("①", "⑳"), ("⑴", "⒇"), ("⒈", "⒛"), ("㈠", "㈩")):
        if len(text) == 1 and first <= text <= last:
            return (ord(text) - ord(first) + 1,)
    plain = unicodedata.normalize("NFKC", text)
    if len(plain) == 1 and plain.isascii() and plain.isalpha():
        return (ord(plain.lower()) - ord("a") + 1,)
    parts = [parse_number(part) for part in plain.split(".")]
    return None if any(part is None for part in parts) else tuple(part for part in parts if part is not None)
