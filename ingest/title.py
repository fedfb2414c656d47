"""A document's title, and what its title and file name say of its version."""

from __future__ import annotations

import re
import unicodedata
from pathlib import PurePath

from ingest.dates import parse_date
from ingest.labels import read_appendix, read_item
from ingest.lines import Line, Role
from ingest.outline import is_heading_text
from orchestrator.knowledge.clause import Provenance

__all__ = ["find_title", "front_lines", "name_of_file", "version_marker"]

# Titles, numbers, histories and salutations stand within this many lines.
_FRONT_LINES = 25
# A title goes over at most this many lines.
_TITLE_LINES = 5

_ACTS = (
    "法|法典|条例|规定|办法|细则|通知|意见|决定|公告|标准|规则|方案|目录|清单|批复|复函|函|规范|章程|制度|指南|通告|命令|解释|答复"
    "|决议|措施|规程|规划|纲要|要点|通报|报告|协议|指引|导则|程序|准则|政策|问答|解读|说明|大纲|总则|公约|宪法|令"
)
_MARKER = r"(?:\s*[（(〔\[][^）)〕\]]{1,20}[）)〕\]])*"
_ENDS_TITLE = re.compile(rf"(?:{_ACTS}){_MARKER}\s*$")
_RED_HEAD = re.compile(r".{2,40}文件\s*$")
_NUMBER_LINE = re.compile(
    r"\s*[（(]?.{0,25}(?:[〔\[（(【]\s*\d{4}\s*[〕\]）)】]|第|\d{4}\s*年)\s*第?\s*\d+\s*号\s*[）)]?\s*$"
)
_FILE_DATE = re.compile(r"[\s_-]*[（(\[]?(?:[12]\d{3}[-._年]\d{1,2}[-._月]\d{1,2}日?|[12]\d{7})[）)\]]?\s*$")
_VERSION = re.compile(r"[（(〔\[]\s*([^）)〕\]]{0,8}(?:试行|暂行|修订|修正|版|本|稿|草案)[^）)〕\]]{0,8})\s*[）)〕\]]")


def front_lines(lines: list[Line]) -> list[Line]:
    """The lines above the first heading, article, numbered item or table."""
    front: list[Line] = []
    for line in lines[:_FRONT_LINES]:
        if line.role not in (Role.TEXT, Role.TITLE, Role.CLOSING) or (front and read_item(line.text)):
            break
        front.append(line)
    return front


def name_of_file(source: str) -> tuple[str, str]:
    """A file's name as a title, and the date at its end: 医疗事故处理条例(2002-04-04).md."""
    stem = PurePath(source).stem
    match = _FILE_DATE.search(stem)
    if match and match.start() > 0:
        digits = re.sub(r"\D", "-", match[0].strip("()（）[] _-日"))
        iso = parse_date(digits if "-" in digits else f"{digits[:4]}-{digits[4:6]}-{digits[6:]}")
        return stem[: match.start()].strip(), iso
    return stem.strip(), ""


def find_title(source: str, front: list[Line], properties: dict[str, str]) -> tuple[str, Provenance]:
    """The title and where it was read: the document's first lines, else its properties, else the file's name."""
    name, _ = name_of_file(source)
    candidates = _title_lines(front)
    for count in range(1, min(_TITLE_LINES, len(candidates)) + 1):
        for start in range(len(candidates) - count + 1):
            group = candidates[start : start + count]
            if _plain("".join(line.text for line in group)) == _plain(name):
                return _from_lines(group)
    titled = [line for line in candidates if line.role is Role.TITLE]
    if titled:
        return _from_lines(_whole_title(titled))
    if candidates and (group := _whole_title(candidates)) and _ENDS_TITLE.search(group[-1].text):
        return _from_lines(group)
    own = properties.get("title", "").strip()
    if own and (_plain(own) == _plain(name) or _ENDS_TITLE.search(own)):
        return own, Provenance("title", "core_properties", own)
    return name, Provenance("title", "filename", PurePath(source).name)


def version_marker(title: str) -> str:
    """What a title says of its version: 试行, 2023年版, 征求意见稿; empty where it says nothing."""
    match = _VERSION.search(title)
    return re.sub(r"\s", "", match[1]) if match else ""


def _title_lines(front: list[Line]) -> list[Line]:
    """The front's lines that can be (part of) a title, up to the first that can't."""
    found: list[Line] = []
    for line in front:
        text = line.text.strip()
        if _RED_HEAD.match(text) or _NUMBER_LINE.match(text) or parse_date(text):
            if found:
                break
            continue
        if line.role is not Role.TITLE and (not is_heading_text(text) or read_appendix(text) or text[0] in "（("):
            break
        found.append(line)
    return found


def _whole_title(lines: list[Line]) -> list[Line]:
    for count, line in enumerate(lines[:_TITLE_LINES], start=1):
        if _ENDS_TITLE.search(line.text):
            following = lines[count].text.strip() if count < len(lines) else ""
            extra = 1 if re.fullmatch(_MARKER.replace("*", "+"), following) else 0
            return lines[: count + extra]
    return lines[:1]


def _from_lines(lines: list[Line]) -> tuple[str, Provenance]:
    parts = [re.sub(r"\s+", " ", line.text.strip()) for line in lines]
    title = parts[0]
    for part in parts[1:]:
        title += (" " if title[-1].isascii() and part[0].isascii() else "") + part
    # Spaces between Chinese characters only set the title.
    title = re.sub(r"(?<=[一-鿿（）《》]) +(?=[一-鿿（）《》])", "", title)
    return title, Provenance("title", "heading", "\n".join(line.text for line in lines))


def _plain(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKC", text) if c.isalnum()).lower()
