"""Dates and numbers of a document: its legislative history, and what it says of its own validity."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ingest.authority import authority_in
from ingest.dates import DATE, end_of_term, find_dates, parse_date, shift_days
from ingest.labels import NUMBER, parse_number
from ingest.lines import Line

__all__ = ["REVISIONS", "Event", "find_doc_number", "find_effective", "find_expiry", "first_published", "read_history"]

_ACT = re.compile(r"(通过|公布|发布|颁布|批准|印发|修订|修正|修改)")
REVISIONS = ("修订", "修正", "修改")
"""The acts that change a document that was published before."""

_IN_FORCE = r"(?:施行|实施|执行|生效|起效|试行)"
_OWN = (
    r"本(?:法|条例|办法|规定|细则|决定|通知|意见|规则|规范|标准|方案|目录|清单|解释|命令|公告|章程|制度|程序|政策|规程|指南|令"
    r"|实施细则|暂行办法)"
)
_FROM_DATE = re.compile(rf"自\s*({DATE})\s*(?:零时)?起(?:正式)?{_IN_FORCE}|({DATE})\s*起?\s*(?:正式)?{_IN_FORCE}")
_FROM_PUBLICATION = re.compile(
    rf"自?(?:公布|发布|颁布|印发|签发|下发)之日起(?:\s*({NUMBER})\s*(日|天|个月)后)?(?:正式)?(?:开始)?{_IN_FORCE}"
)
_TERM = re.compile(
    rf"(?:{_OWN}|起{_IN_FORCE})[，,\s]*的?有效期\s*(?:限|为|：|:)?\s*"
    rf"(?:({NUMBER})\s*(个月|年)|(?:至|到)\s*({DATE}))"
)
_UNTIL = re.compile(
    rf"(?:{_OWN}|{_IN_FORCE})[^。；]{{0,40}}?(?:有效期)?(?:至|到)\s*({DATE})\s*(?:止|为止|废止|。|，|$)"
)

_BRACKETED = re.compile(r"([A-Za-z一-鿿]{1,16}\s*[〔\[（(【﹝［]\s*[12]\d{3}\s*[〕\]）)】﹞］]\s*第?\s*\d{1,5}\s*号)")
_ORDER = re.compile(rf"([一-鿿、]{{2,80}}?(?:令|公告|通告)\s*(?:[12]\d{{3}}\s*年\s*)?第?\s*{NUMBER}\s*号)")
_OWN_NUMBER = re.compile(r"\s*[（(]?\s*(.*号)\s*[）)]?\s*")


@dataclass(frozen=True, slots=True)
class Event:
    """One step of a legislative history: 2005年8月15日…公布.

    Attributes:
        act: 通过, 公布, 修订, …; empty where the text doesn't say.
        line: where it was read.
    """

    iso: str
    act: str
    authority: str
    line: Line
    excerpt: str


def read_history(front: Sequence[Line]) -> list[Event]:
    """The events that the lines below a title tell, in their order: who passed, published, revised it, and when."""
    events = []
    for line, text in _whole_lines(front):
        dates = list(find_dates(text))
        for place, found in enumerate(dates):
            end = dates[place + 1].start if place + 1 < len(dates) else len(text)
            behind = re.sub(r"《[^》]*》", "", text[found.end : end])
            acts = _ACT.findall(behind)
            if not acts or text[: found.start].rstrip().endswith("自"):
                continue
            excerpt = text[found.start : end].strip("　 ）)")
            act = next((act for act in acts if act in REVISIONS), acts[-1])
            events.append(Event(found.iso, act, authority_in(behind), line, excerpt))
    return events


def _whole_lines(front: Sequence[Line]) -> Iterator[tuple[Line, str]]:
    """Lines with their text; a bracket that goes on over several lines is one text."""
    start: Line | None = None
    text = ""
    for line in front:
        start = start or line
        text += line.text.strip()
        if len(re.findall("[（(]", text)) <= len(re.findall("[）)]", text)):
            yield start, text
            start, text = None, ""
    if start is not None:
        yield start, text


def first_published(history: Sequence[Event]) -> str:
    """The day of the first publication; empty where the history tells none."""
    published = [event.iso for event in history if event.act in ("公布", "发布", "颁布", "印发")]
    return min(published or [event.iso for event in history], default="")


def find_doc_number(front: Sequence[Line], history: Sequence[Event]) -> tuple[str, Line] | None:
    """The document's own number: a line that holds nothing else, or the order that first published it."""
    for line in front:
        own = _OWN_NUMBER.fullmatch(line.text)
        alone = own and (_BRACKETED.fullmatch(own[1].strip()) or _ORDER.fullmatch(own[1].strip()))
        if alone:
            return re.sub(r"\s", "", alone[1]), line
    for event in history:
        behind = re.sub(rf"^{DATE}", "", event.excerpt)
        within = _ORDER.search(re.sub(r"《[^》]*》", "", behind)) or _BRACKETED.search(behind)
        if within and event.act not in REVISIONS:
            return re.sub(r"\s", "", within[1]), event.line
    return None


def find_effective(lines: Sequence[Line], publish_date: str) -> tuple[str, Line, str] | None:
    """The first day in force, the line that says so, and its words; the last statement of the document counts."""
    for line in reversed(lines):
        for match in reversed(list(_FROM_DATE.finditer(line.text))):
            if _speaks_of_itself(line.text, match.start()):
                return parse_date(match[1] or match[2]), line, match[0]
        since = _FROM_PUBLICATION.search(line.text)
        if since and publish_date and _speaks_of_itself(line.text, since.start()):
            return _after(publish_date, since[1], since[2]), line, since[0]
    return None


def find_expiry(lines: Sequence[Line], effective_date: str) -> tuple[str, Line, str] | None:
    """The last day in force, where the document sets itself one (有效期五年, 有效期至2028年12月31日)."""
    for line in reversed(lines):
        match = _TERM.search(line.text)
        if match and match[3]:
            return parse_date(match[3]), line, match[0]
        number = parse_number(match[1]) if match and effective_date else None
        if match and number:
            term = {"years": number} if match[2] == "年" else {"months": number}
            return end_of_term(effective_date, **term), line, match[0]
        until = _UNTIL.search(line.text)
        if until:
            return parse_date(until[1]), line, until[0]
    return None


def _after(publish_date: str, number: str | None, unit: str | None) -> str:
    value = parse_number(number) if number else None
    if not value:
        return publish_date
    if unit == "个月":
        return shift_days(end_of_term(publish_date, months=value), 1)
    return shift_days(publish_date, value)


def _speaks_of_itself(text: str, start: int) -> bool:
    """Whether the sentence is about this document and not about another that it names."""
    begin = max(text.rfind(mark, 0, start) for mark in "。；") + 1
    before = text[begin:start]
    return bool(re.search(_OWN, before)) or "《" not in before
