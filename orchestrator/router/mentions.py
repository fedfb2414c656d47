"""What the question says about documents and time: named documents, clause labels, versions, an as-of date."""

from __future__ import annotations

import calendar
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from orchestrator.router.normalise import MARKED_TITLE
from trias.v1 import plan_pb2

__all__ = [
    "Mention",
    "TimeReading",
    "find_mentions",
    "marked_spans",
    "read_time",
    "title_within",
]

_NUMERAL = r"[\d〇零○一二三四五六七八九十百千两]+"
_LABEL = re.compile(
    rf"第\s?{_NUMERAL}\s?条(?:之{_NUMERAL})?(?:\s?第\s?{_NUMERAL}\s?款)?(?:\s?第\s?[（(]?{_NUMERAL}[）)]?\s?项)?"
    rf"|附[件表录]\s?{_NUMERAL}"
)
# 云医保发〔2024〕12号
_OPEN, _CLOSE = r"\s?[〔\[［(（【〖]", r"[〕\]］)）】〗]"
_DOC_NUMBER = re.compile(rf"[\u4e00-\u9fff]{{1,12}}{_OPEN}\s?(?:19|20)\d{{2}}\s?{_CLOSE}\s?第?\d{{1,5}}号")
_NUMBER_PARTS = re.compile(rf"([^\d\s]+?){_OPEN}\s?(\d{{4}})\s?{_CLOSE}\s?第?(\d+)号")
# A label belongs to the document named this many characters before it, at most.
LABEL_DISTANCE = 12

_YEAR = r"(?P<year>(?:19|20)\d{2})年(?:度)?"
_MOMENT = re.compile(rf"{_YEAR}(?:(?P<month>\d{{1,2}})月(?:份)?(?:(?P<day>\d{{1,2}})日)?|(?P<part>底|末|初))?")
_ANY_MOMENT = re.sub(r"\?P<\w+>", "?:", _MOMENT.pattern)
# A year is an as-of date where it places the question in time, not where it names an edition.
_AS_OF = re.compile(
    rf"(?:(?:在|于|截至|截止到?|到)?{_ANY_MOMENT}(?:的?时候|的?时|期间|当时|那时|那年|那会儿?|当年|以前|之前|前后|为止)"
    rf"|(?:截至|截止到?|在){_ANY_MOMENT}|^{_ANY_MOMENT}(?!的?[^，。；？]{{0,12}}(?:版|办法|规定|通知|条例|细则|文件|意见|方案|政策)))"
)
_BOUND = re.compile(r"\d|日|以后|之后|后|起|以来|以前|之前|前")
_RELATIVE = re.compile(r"(?P<word>大前年|前年|去年|上年度?|今年|本年度?|明年|目前|现在|现行|如今|当前|最新)")
_RELATIVE_YEARS = {"大前年": -3, "前年": -2, "去年": -1, "上年": -1, "上年度": -1, "明年": 1}
_ANY_YEAR = re.compile(r"(?<!\d)(?:19|20)\d{2}年")
_EDITION = re.compile(
    r"(?P<label>(?:19|20)\d{2}年?版|(?:19|20)\d{2}年?(?:修正|修订)(?:版|本)?)"
    r"|(?P<year>(?:19|20)\d{2})年(?:发布|印发|出台|公布|颁布)?的?[^，。；？]{0,12}?(?:办法|规定|通知|条例|细则|文件|意见|方案)"
    r"|(?P<old>旧版|老版|原版|修订前|修正前|旧的?(?:办法|规定|通知|条例|文件|政策))"
)
_ACROSS_VERSIONS = re.compile(
    r"历次|历年|各版|各个版本|新旧|沿革|演变|前后(?:对比|比较|变化)|修订前后|(?:有|发生)(?:了)?(?:什么|哪些)(?:变化|调整|修改)"
    r"|(?:比|和|与|跟|同)(?:以前|原来|过去|之前|去年|前年|旧|老)|变了(?:吗|没)"
)


@dataclass(frozen=True, slots=True)
class Mention:
    """A document named at [start, end) of the text; ``title`` without 《》, empty where only a label stands."""

    title: str
    start: int
    end: int
    label: str = ""


@dataclass(frozen=True, slots=True)
class TimeReading:
    """What the question says about time.

    Attributes:
        as_of_date: ISO date, empty where the question names none.
        preference: which version is wanted.
        version_label: of a named version: "2021年版".
    """

    as_of_date: str
    preference: plan_pb2.VersionPreference
    version_label: str


def marked_spans(text: str) -> list[tuple[int, int]]:
    """Where titles in 《》 stand."""
    return [match.span() for match in MARKED_TITLE.finditer(text)]


def find_mentions(text: str, library_titles: Sequence[str] = ()) -> list[Mention]:
    """Documents named in ``text``: in 《》, by a title of the library, or by number; each with the label behind it."""
    found = [Mention(match[1], *match.span()) for match in MARKED_TITLE.finditer(text)]
    for title in sorted(library_titles, key=len, reverse=True):
        start = text.find(title)
        while start >= 0:
            _add(found, Mention(title, start, start + len(title)))
            start = text.find(title, start + len(title))
    for match in _DOC_NUMBER.finditer(text):
        _add(found, Mention(match[0], *match.span()))
    return _with_labels(text, sorted(found, key=lambda mention: mention.start))


def _add(found: list[Mention], mention: Mention) -> None:
    if not any(mention.start < other.end and other.start < mention.end for other in found):
        found.append(mention)


def _with_labels(text: str, mentions: list[Mention]) -> list[Mention]:
    labelled: list[Mention] = []
    loose: list[Mention] = []
    taken: dict[int, list[str]] = {}
    for match in _LABEL.finditer(text):
        if any(mention.start <= match.start() < mention.end for mention in mentions):
            continue
        owner = _owner(match.start(), mentions)
        label = "".join(match[0].split())
        if owner is None:
            loose.append(Mention("", *match.span(), label))
        else:
            taken.setdefault(owner, []).append(label)
    for place, mention in enumerate(mentions):
        labels = taken.get(place, [""])
        labelled.extend(Mention(mention.title, mention.start, mention.end, label) for label in labels)
    return labelled + loose


def _owner(start: int, mentions: Sequence[Mention]) -> int | None:
    """The document that a label at ``start`` belongs to: the last one close before it, or the only one."""
    before = [place for place, mention in enumerate(mentions) if 0 <= start - mention.end <= LABEL_DISTANCE]
    if before:
        return before[-1]
    return 0 if len(mentions) == 1 else None


def title_within(title: str, text: str) -> str:
    """The stretch of ``text`` that names the library's ``title`` (its version suffix may be missing); else empty.

    A document's number counts as its title, whichever brackets stand around the year.
    """
    for name in dict.fromkeys((title, _core(title))):
        if len(name) >= 2 and name in text:
            return name
    parts = _NUMBER_PARTS.fullmatch(title)
    if parts is None:
        return ""
    issuer, year, number = (re.escape(part) for part in parts.groups())
    found = re.search(rf"{issuer}{_OPEN}\s?{year}\s?{_CLOSE}\s?第?{number}号", text)
    return found[0] if found else ""


def _core(title: str) -> str:
    plain = unicodedata.normalize("NFKC", title).strip("《》 ")
    return re.sub(r"\([^()]*\)$", "", plain).removeprefix("中华人民共和国").strip()


def read_time(text: str, today: date) -> TimeReading:
    """As-of date and version preference, read from the text outside 《》."""
    outside = MARKED_TITLE.sub(lambda match: "〇" * len(match[0]), text)
    years = set(_ANY_YEAR.findall(outside))
    if _ACROSS_VERSIONS.search(outside) or len(years) > 1:
        return TimeReading("", plan_pb2.VERSION_PREFERENCE_ALL, "")
    as_of = _as_of(outside, today)
    if as_of:
        return TimeReading(as_of, plan_pb2.VERSION_PREFERENCE_CURRENT, "")
    edition = _EDITION.search(outside)
    if edition:
        label = edition["label"] or (f"{edition['year']}年" if edition["year"] else edition["old"])
        return TimeReading("", plan_pb2.VERSION_PREFERENCE_NAMED, label)
    return TimeReading("", plan_pb2.VERSION_PREFERENCE_CURRENT, "")


def _as_of(text: str, today: date) -> str:
    absolute = _AS_OF.search(text)
    # 2009年10月1日以后 bounds what is asked about; it is no day to stand on.
    bounds = absolute is not None and _BOUND.match(text, absolute.end()) is not None
    moment = _MOMENT.search(absolute[0]) if absolute and not bounds else None
    if moment:
        return _moment(moment, today)
    relative = _RELATIVE.search(text)
    if relative is None or relative["word"] not in _RELATIVE_YEARS:
        return ""
    return _representative(today.year + _RELATIVE_YEARS[relative["word"]], today)


def _moment(match: re.Match[str], today: date) -> str:
    year = int(match["year"])
    if match["month"] is None:
        return date(year, 1, 1).isoformat() if match["part"] == "初" else _representative(year, today)
    month = int(match["month"])
    if not 1 <= month <= 12:
        return ""
    last = calendar.monthrange(year, month)[1]
    day = int(match["day"]) if match["day"] else last
    return date(year, month, day).isoformat() if 1 <= day <= last else ""


def _representative(year: int, today: date) -> str:
    """The day that stands for a year: its last one where it is over, its first one where it is yet to come."""
    if year == today.year:
        return ""
    return date(year, 12, 31).isoformat() if year < today.year else date(year, 1, 1).isoformat()
