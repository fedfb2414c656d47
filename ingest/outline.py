"""Which lines are headings, article labels and appendix starts, and which only look like them.

第十二条 at the start of a line is a label only where the numbers before and after it and the words behind it say so:
第十二条规定的…, 第三条、第四条所称… and 第五条第二款… are references, and the articles that an amending decision quotes
belong to the item that quotes them.
"""

from __future__ import annotations

import re
from dataclasses import replace

from ingest.labels import NUMBER, Label, read_appendix, read_article, read_division, read_item
from ingest.lines import Line, Role, read_lines
from ingest.parse.layout import Block, BlockKind

__all__ = ["HEADING_CHARS", "is_heading_text", "read_outline"]

HEADING_CHARS = 50
"""A heading is not longer than this."""

_MIDDLE_LABEL = re.compile(rf"(?<=[。；])\s*(?=第\s*{NUMBER}\s*条(?:之{NUMBER})?\s)")
_SENTENCE = re.compile(r"[。；！？;]|[，,：:]\s*$")
# What stands behind 第X条 where it is a reference, whatever stands between them.
_REFERENCE = re.compile(
    rf"\s*(?:[、，,。；）)》”]|的|之规定|第\s*[（(]?\s*{NUMBER}\s*[）)]?\s*[款项目]|[（(]{NUMBER}[）)]\s*项"
    r"|(?:和|及|与|至|到|或|或者|以及)\s*第|(?:修改为|改为|删去|删除|增加一款|作为第))"
)
# The same, where it is one only if no space stands between.
_CLOSE_REFERENCE = re.compile(
    r"(?:(?:和|及|与|或|或者|以及)(?:本|其他|《|前)|规定|所称|所列|所述|所指|所规定|所涉|中(?:的|所|规定|有关|第)|以外|以上|以下|之外|至第|明确)"
)
_DATE_LINE = re.compile(
    r"\s*[（(]?(?:\d{4}|[一二〇○零ＯO0]{4}|二[〇○零ＯO0].{2})\s*年\s*[\d一二三四五六七八九十]{1,2}\s*月\s*[\d一二三四五六七八九十]{1,3}\s*日[）)]?\s*"
)
_CLOSING_NOTE = re.compile(
    r"\s*(?:[（(]?(?:此件|本文|信息公开|公开|联系人|联系电话).{0,40}|(?:抄送|主送|印发)[：:].*|.{2,30}(?:办公室|办公厅|秘书处)\s*\d{4}年.{3,9}印发)\s*"
)
_ATTACHMENTS = re.compile(r"\s*附\s*[件表录]?\s*[：:]\s*\S")
# What a word processor's heading style doesn't make a heading: a history or a number below the title.
_NOTE = re.compile(r"\s*(?:[（(].*[）)]|.*(?:\d{4}\s*年|[〔\[]\s*\d{4}\s*[〕\]])第?\s*\d+\s*号)\s*")
# The closing of a document: attachments, who signed, when, to whom.
_CLOSING_LINES = 40
_CLOSING_CHARS = 60


def read_outline(blocks: tuple[Block, ...]) -> list[Line]:
    """Cut blocks into lines and give each its role."""
    lines = read_lines(blocks)
    _mark_titles(lines)
    lines = _Marker(lines).run()
    _mark_closings(lines)
    return lines


def is_heading_text(text: str) -> bool:
    """Whether a line can be a heading: short, and no sentence."""
    text = text.strip()
    return 0 < len(text) <= HEADING_CHARS and not _SENTENCE.search(text)


def _mark_titles(lines: list[Line]) -> None:
    """Titles that the parser found, and a heading that opens the document."""
    for place, line in enumerate(lines):
        opens = place == 0 and line.block.kind is BlockKind.HEADING
        if opens and (read_division(line.text) or read_article(line.text)):
            continue
        if line.role is Role.TEXT and (opens or line.block.kind is BlockKind.TITLE):
            line.role = Role.TITLE


class _Marker:
    """One pass over the lines with the article number that comes next in mind."""

    def __init__(self, lines: list[Line]) -> None:
        self._lines = lines
        self._last: tuple[int, ...] = ()

    def run(self) -> list[Line]:
        place = 0
        while place < len(self._lines):
            line = self._lines[place]
            if line.role is Role.TEXT and not line.quoted:
                self._mark(place, line)
                self._split(place, line)
            place += 1
        return self._lines

    def _mark(self, place: int, line: Line) -> None:
        if appendix := self._appendix(place, line):
            line.role, line.label = Role.APPENDIX, appendix
            line.heading = _clean_heading(line.text[appendix.end :])
            self._last = ()
            if not line.heading:
                self._take_heading(place, line)
        elif (division := read_division(line.text)) and _is_division(line.text[division.end :]):
            line.role, line.label = Role.DIVISION, division
            line.heading = _clean_heading(line.text[division.end :])
            if not line.heading:
                self._take_heading(place, line)
        elif (article := read_article(line.text)) and self._is_label(place, line, article):
            line.role, line.label = Role.ARTICLE, article
            slip = article.number != (1,) and article.number < self._last
            self._last = (self._last[0] + 1,) if slip else article.number
        elif line.block.kind is BlockKind.HEADING and is_heading_text(line.text) and not _NOTE.fullmatch(line.text):
            item = read_item(line.text)
            line.role, line.label = Role.HEADING, item
            line.heading = _clean_heading(line.text[item.end :] if item else line.text)
        elif self._is_group(place, line):
            line.role, line.label = Role.HEADING, read_item(line.text)
            line.heading = _clean_heading(line.text[line.label.end :] if line.label else line.text)

    def _split(self, place: int, line: Line) -> None:
        """第二十七条 behind a full stop, in one paragraph with 第二十六条, is a line of its own."""
        if line.role not in (Role.TEXT, Role.ARTICLE):
            return
        for match in _MIDDLE_LABEL.finditer(line.text):
            label = read_article(line.text, match.end())
            if label and self._last and label.number in _next_numbers(self._last):
                rest = line.text[match.end() :]
                gap = line.text[match.start() : match.end()]
                self._lines.insert(place + 1, replace(line, text=rest, glue=gap, role=Role.TEXT, label=None))
                line.text = line.text[: match.start()]
                return

    def _take_heading(self, place: int, line: Line) -> None:
        """The text of 第一章 or 附件1 may stand on the next line."""
        following = self._lines[place + 1] if place + 1 < len(self._lines) else None
        if (
            following is not None
            and following.role in (Role.TEXT, Role.TITLE)
            and is_heading_text(following.text)
            and not (read_article(following.text) or read_division(following.text) or read_appendix(following.text))
            and not read_item(following.text)
        ):
            line.heading = _clean_heading(following.text)
            line.text = f"{line.text}{following.glue}{following.text}"
            line.blocks += following.blocks if following.blocks != line.blocks else ()
            del self._lines[place + 1]

    def _appendix(self, place: int, line: Line) -> Label | None:
        label = read_appendix(line.text)
        if label is None:
            return None
        rest = line.text[label.end :]
        behind = rest.strip("：: \t\u3000\u00a0")
        if behind and (not is_heading_text(behind) or not (rest[:1].isspace() or rest.lstrip()[:1] in "：:")):
            return None
        listed = bool(behind) and (rest.lstrip()[:1] in "：:" or bool(label.number))
        if listed and (self._comes_again(place, label) or self._only_closing_follows(place) or read_item(behind)):
            return None
        return label

    def _comes_again(self, place: int, label: Label) -> bool:
        others = (read_appendix(line.text) for line in self._lines[place + 1 :] if line.role is Role.TEXT)
        return any(other is not None and other.canonical == label.canonical for other in others)

    def _only_closing_follows(self, place: int) -> bool:
        following = self._lines[place + 1 :]
        return len(following) <= _CLOSING_LINES and all(
            line.role is Role.TEXT and len(line.text) <= _CLOSING_CHARS and not line.text.rstrip().endswith("。")
            for line in following
        )

    def _is_group(self, place: int, line: Line) -> bool:
        """一、总则 above 第一条: an item that stands where a chapter would."""
        item = read_item(line.text)
        if item is None or not is_heading_text(line.text) or place + 1 >= len(self._lines):
            return False
        following = self._lines[place + 1]
        article = read_article(following.text) if following.role is Role.TEXT else None
        return article is not None and self._is_label(place + 1, following, article)

    def _is_label(self, place: int, line: Line, label: Label) -> bool:
        behind = line.text[label.end :]
        spaced = not behind or behind[0].isspace() or behind[0] in "：:【〔["
        if _REFERENCE.match(behind) or (not spaced and _CLOSE_REFERENCE.match(behind)):
            return False
        return self._fits(place, label.number, spaced=spaced)

    def _fits(self, place: int, number: tuple[int, ...], *, spaced: bool) -> bool:
        """Whether the number belongs where it stands."""
        if not self._last:
            return number == (1,) or (spaced and self._goes_on(place, number))
        if number in _next_numbers(self._last):
            return True
        if number > self._last:
            return self._goes_on(place, number) or (spaced and number[0] - self._last[0] <= _SMALL_GAP)
        if number == (1,):
            return spaced or self._goes_on(place, number)
        # A label out of order is a slip of the pen where the next one fits the number that it should have had.
        return spaced and self._goes_on(place, (self._last[0] + 1,))

    def _goes_on(self, place: int, number: tuple[int, ...]) -> bool:
        """Whether the next label-like line carries on from ``number``."""
        for line in self._lines[place + 1 :]:
            label = read_article(line.text) if line.role is Role.TEXT and not line.quoted else None
            if label is None or _REFERENCE.match(line.text[label.end :]):
                continue
            return label.number in _next_numbers(number)
        return False


# Between two labels with a space behind them, as many may be missing: repealed articles, or labels lost in the source.
_SMALL_GAP = 3


def _next_numbers(number: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """The numbers that may follow: 第十三条 or 第十二条之一 after 第十二条, also 第十二条之三 after 第十二条之二."""
    following = ((number[0] + 1,), (*number, 1))
    return (*following, (*number[:-1], number[-1] + 1)) if len(number) > 1 else following


def _is_division(behind: str) -> bool:
    text = behind.strip()
    return not text or (is_heading_text(text) and not re.match(r"(?:的|规定|所|、|和第|至第|第)", text))


def _clean_heading(text: str) -> str:
    """A heading without the spaces that only set it: 总    则 → 总则."""
    text = re.sub(r"\s+", " ", text.strip("：: \t\n\u3000\u00a0"))
    return text.replace(" ", "") if re.fullmatch(r"[一-鿿](?: [一-鿿])+", text) else text


def _mark_closings(lines: list[Line]) -> None:
    """What stands behind the last clause of the body or of an appendix: attachments, signature, date, recipients."""
    ends = [place for place, line in enumerate(lines) if line.role is Role.APPENDIX] + [len(lines)]
    for end in ends:
        start = _closing_start(lines, end)
        for line in lines[start:end]:
            if line.role is Role.TEXT:
                line.role = Role.CLOSING


def _closing_start(lines: list[Line], end: int) -> int:
    start = end
    dated = False
    for place in range(end - 1, max(end - _CLOSING_LINES, 0) - 1, -1):
        line = lines[place]
        if line.role is not Role.TEXT or line.quoted:
            break
        text = line.text
        if _DATE_LINE.fullmatch(text) or _CLOSING_NOTE.fullmatch(text):
            dated = dated or bool(_DATE_LINE.fullmatch(text))
            start = place
        elif _ATTACHMENTS.match(text) or (
            dated and place == start - 1 and is_heading_text(text) and not read_item(text)
        ):
            start = place
        elif len(text) > _CLOSING_CHARS or text.rstrip().endswith(("。", "；", "：")):
            break
    return start
