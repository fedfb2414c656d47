"""Citations in running text: which document, which 条, 款 and 项; ranges and lists resolved to single labels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ingest.labels import ARTICLE, NUMBER, canonical_label, format_number, parse_number

__all__ = ["Citation", "find_citations"]

# 第二十条至第二十五条 names six articles; a range with more than this many is a slip or no range.
_LONGEST_RANGE = 60

_ACT = (
    "法典|法|条例|规定|办法|细则|通知|意见|决定|公告|通告|规则|方案|目录|清单|规范|章程|制度|指南|解释|批复|决议|规程|规划|纲要|准则"
    "|公约|协定|标准|命令|宪法|议定书|政策"
)
_TITLE = re.compile(r"《((?:[^《》]|《[^《》]*》)+)》")
_REFERABLE = re.compile(rf"(?:{_ACT})(?:\s*[（(〔][^）)〕]*[）)〕])*$")
_SHORT_NAME = re.compile(r"(?:以下|下)(?:统|合|分别)?简称[为：:]?[^（()）]*$")
_ITSELF = re.compile(rf"本(?:实施|暂行|试行|管理)?(?:{_ACT}|令|文件|章|节)")
# A law named without 《》: 依照刑法第一百六十二条.
_BARE_NAME = re.compile(r"([一-鿿]{1,30}(?:法典|法|条例|实施细则|细则))$")
_LEADING_WORDS = re.compile(
    r"^.*(?:依照|按照|依据|根据|违反|适用|参照|符合|属于|对照|比照|执行|援引|落实|贯彻|遵守|以及|关于|具有|除|将|和|与|及|或|由|按|依|对|在|的|有|是|为|因|其)(?=[一-鿿]{2})"
)
_STEP = rf"第\s*[（(]?\s*{NUMBER}\s*[）)]?\s*[款项目]"
_ARTICLE = rf"第\s*{NUMBER}\s*条(?:之{NUMBER})?"
_LABEL = re.compile(rf"(?:{_ARTICLE}(?:\s*{_STEP})*|(?:{_STEP}\s*)+)")
# 第五条第（一）至（七）项: the first number has no unit of its own.
_INNER_RANGE = re.compile(
    rf"((?:{_ARTICLE}(?:\s*第\s*{NUMBER}\s*款)?)?)\s*第\s*[（(]?\s*({NUMBER})\s*[）)]?\s*(?:至|到)"
    rf"\s*[（(]?\s*({NUMBER})\s*[）)]?\s*([款项目])"
)
_LIST = re.compile(rf"\s*(?:、|，|和|与|或者|或|及|以及)\s*(?={_ARTICLE}|{_STEP})")
_RANGE = re.compile(rf"\s*(?:至|到|—|－|-|~)\s*(?={_ARTICLE}|{_STEP})")
_PREVIOUS = re.compile(r"(?:本条)?前(两|[二三四五六]|)(款|条|项)(?![例件约目])")
_OWN_ARTICLE = re.compile(rf"本条(?=\s*{_STEP})")
_APPENDIX = re.compile(r"附(?:件|表|录)\s*[0-9０-９一二三四五六七八九十]{0,2}(?![一-鿿]*[：:])")
# 本 of 基本法 and of 样本 is not 本法.
_STARTS = re.compile(rf"《|(?<![基根样标版资成文])本|前|附[件表录]|{_ARTICLE}|{_STEP}")


@dataclass(frozen=True, slots=True)
class Citation:
    """One thing that a text refers to.

    Attributes:
        title: the document named, without 《》; empty where it is the text's own.
        labels: of clauses, canonical: ``第五条第二款``; several for a range; empty for a whole document.
        of_itself: whether the text names its own document (本法).
        within_article: whether the labels start below 条, so that they are of the article at hand.
        previous: ``("条", 2)`` for 前两条.
        start: offset of the first character; the title's, where it stands directly before.
        end: offset behind the last character.
    """

    title: str
    labels: tuple[str, ...]
    start: int
    end: int
    of_itself: bool = False
    within_article: bool = False
    previous: tuple[str, int] | None = None


def find_citations(text: str, names: Mapping[str, str]) -> Iterator[Citation]:
    """Every citation of a text, in order.

    Args:
        text: of a clause.
        names: short names that the document gives to others.
    """
    place = 0
    while match := _STARTS.search(text, place):
        start = match.start()
        found = _read(text, start, names)
        yield from found
        place = max(match.end() if match[0] != "《" else start + 1, max((c.end for c in found), default=0))
        if match[0] == "《" and not found and (title := _TITLE.match(text, start)):
            place = title.end()


def _read(text: str, start: int, names: Mapping[str, str]) -> list[Citation]:
    match text[start]:
        case "《":
            return _read_title(text, start, names)
        case "前":
            return _read_previous(text, start)
        case "附":
            return _read_appendix(text, start)
        case "本":
            return _read_own(text, start)
        case _:
            title, name_start = _bare_name(text, start, names)
            return _read_labels(text, start, title=title, span_start=name_start)


def _read_previous(text: str, start: int) -> list[Citation]:
    match = _PREVIOUS.match(text, start)
    if match is None:
        return []
    count = 2 if match[1] == "两" else parse_number(match[1]) or 1
    return [Citation("", (), start, match.end(), previous=(match[2], count))]


def _read_appendix(text: str, start: int) -> list[Citation]:
    match = _APPENDIX.match(text, start)
    at_line_start = not text[:start].rpartition("\n")[2].strip()
    if match is None or at_line_start:
        return []
    return [Citation("", (re.sub(r"\s", "", match[0]),), start, match.end())]


def _read_title(text: str, start: int, names: Mapping[str, str]) -> list[Citation]:
    match = _TITLE.match(text, start)
    if match is None or _SHORT_NAME.search(text[:start]):
        return []
    title = re.sub(r"\s", "", match[1])
    behind = re.compile(r"\s*(?:[（(][^（()）]{0,80}[）)])?\s*").match(text, match.end())
    labels_at = behind.end() if behind else match.end()
    found = _read_labels(text, labels_at, title=title, span_start=start) if _LABEL.match(text, labels_at) else []
    if found and not found[0].within_article:
        return found
    # 《营业执照》 and other papers have titles too.
    is_document = bool(_REFERABLE.search(names.get(title, title)))
    return [Citation(title, (), start, match.end())] if is_document else []


def _read_own(text: str, start: int) -> list[Citation]:
    if match := _OWN_ARTICLE.match(text, start):
        return _read_labels(text, match.end(), span_start=start)
    match = _ITSELF.match(text, start)
    if match is None:
        return []
    at = match.end() + len(text[match.end() :]) - len(text[match.end() :].lstrip())
    if appendix := _APPENDIX.match(text, at):
        return [Citation("", (re.sub(r"\s", "", appendix[0]),), start, appendix.end(), of_itself=True)]
    return _read_labels(text, at, span_start=start, of_itself=True) if _LABEL.match(text, at) else []


def _bare_name(text: str, start: int, names: Mapping[str, str]) -> tuple[str, int]:
    """The law named directly before 第X条 without 《》, and where its name starts; ("", start) where none is."""
    match = _BARE_NAME.search(text[max(start - 30, 0) : start])
    if match is None:
        return "", start
    name = _LEADING_WORDS.sub("", match[1])
    known = next((short for short in sorted(names, key=len, reverse=True) if match[1].endswith(short)), "")
    name = known or name
    if not known and (len(name) < 2 or name.startswith(("本", "该", "前", "此", "上述", "方法", "办法"))):
        return "", start
    return name, start - len(name)


def _read_labels(
    text: str, start: int, *, title: str = "", span_start: int | None = None, of_itself: bool = False
) -> list[Citation]:
    """A label and those that are listed with it: 第三条、第四条第一款和第二款."""
    found: list[Citation] = []
    article = ""
    place, begin = start, start if span_start is None else span_start
    while piece := _read_piece(text, place, article):
        labels, end = piece
        if ARTICLE in labels[-1]:
            article = _article_of(labels[-1])
        found.append(Citation(title, labels, begin, end, of_itself=of_itself, within_article=not article))
        joint = _LIST.match(text, end)
        if joint is None:
            break
        place = begin = joint.end()
    return found


def _read_piece(text: str, place: int, article: str) -> tuple[tuple[str, ...], int] | None:
    """The labels of one label or one range, and where it ends. ``article``: to which a bare 款 or 项 belongs."""
    if inner := _INNER_RANGE.match(text, place):
        head = _canonical(inner[1]) or article
        return _expand(f"{head}第{inner[2]}{inner[4]}", f"第{inner[3]}{inner[4]}"), inner.end()
    match = _LABEL.match(text, place)
    if match is None:
        return None
    label = _canonical(match[0])
    whole = label if ARTICLE in label else article + label
    joint = _RANGE.match(text, match.end())
    last = _LABEL.match(text, joint.end()) if joint else None
    if last is None:
        return (whole,), match.end()
    return _expand(whole, _canonical(last[0])), last.end()


def _canonical(label: str) -> str:
    """第 ５ 条第(二)款 → 第五条第二款."""
    steps = re.findall(rf"第\s*[（(]?\s*({NUMBER})\s*[）)]?\s*([条款项目])((?:之{NUMBER})?)", label)
    return "".join(canonical_label(f"第{number}{level}{branch}") for number, level, branch in steps)


def _article_of(label: str) -> str:
    """第五条之一 of 第五条之一第二款."""
    match = re.match(r"第[^条]+条(?:之[一二三四五六七八九十百]+)*", label)
    return match[0] if match else ""


def _expand(first: str, last: str) -> tuple[str, ...]:
    """Every label of a range, in order: 第三条 … 第五条; the two ends where it can't be counted."""
    start = re.fullmatch(r"(.*?)第([^第条款项目]+)([条款项目])", first)
    end = re.fullmatch(r"(.*?)第([^第条款项目]+)([条款项目])", last)
    if start is None or end is None or start[3] != end[3] or end[1] not in ("", start[1]):
        return first, last
    low, high = parse_number(start[2]), parse_number(end[2])
    if low is None or high is None or not low < high <= low + _LONGEST_RANGE:
        return first, (last if end[1] or end[3] == ARTICLE else start[1] + last)
    return tuple(f"{start[1]}第{format_number(number)}{start[3]}" for number in range(low, high + 1))
