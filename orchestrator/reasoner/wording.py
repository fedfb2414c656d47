"""What the reasoner itself says, in the language of the documents. Nothing here states what a source says."""

from __future__ import annotations

from trias.v1 import reasoning_pb2

__all__ = [
    "NO",
    "NOTHING_VERIFIED",
    "PREVAILS",
    "UNDECIDED",
    "YES",
    "about",
    "cited",
    "display",
    "not_found",
    "not_in_force",
    "part_heading",
    "part_not_found",
    "states",
    "stopped",
    "withheld",
]

YES, NO = "是。", "否。"
# Nothing that was written survived the check.
NOTHING_VERIFIED = "拟作的答复未通过与条文原文的核对，已全部保留待人工复核。"
UNDECIDED = "两者不一致，现有规则无法裁定孰先，一并列出。"

# How a ruling ends the sentence that explains it: “…，以较新的《…》为准。”
PREVAILS = {
    reasoning_pb2.RULING_REASON_OVERRIDE: "，按照法务确认的意见，以",
    reasoning_pb2.RULING_REASON_AMENDMENT: "，以修订或者替代后的",
    reasoning_pb2.RULING_REASON_NEWER: "，以较新的",
    reasoning_pb2.RULING_REASON_AUTHORITY: "，按效力层级与年限折算，以",
}


def about(matter: str) -> str:
    """What a ruling is about, before it."""
    return f"关于{matter}，" if matter else ""


def states(title: str) -> str:
    """Which document says what follows, where several are quoted."""
    return f"《{title}》规定：" if title else ""


def cited(text: str, numbers: list[int]) -> str:
    """A sentence with its citation marks."""
    return text + "".join(f"[#{number}]" for number in numbers)


def display(title: str, label: str, page: int) -> str:
    """A citation for a person: 《…》第十二条，第3页."""
    where = f"，第{page}页" if page else ""
    return f"《{title}》{label}{where}"


def part_heading(question: str) -> str:
    """Above the answer to one part of a compound question."""
    return f"关于“{question.rstrip('？?。')}”："


def not_found(subject: str) -> str:
    """That the sources say nothing of it."""
    matter = f"关于“{subject}”的规定" if subject else "能够回答该问题的规定"
    return f"我不知道：现有资料中没有{matter}，无法据以作答。"


def part_not_found(subject: str) -> str:
    """The same for one part of a compound question."""
    return f"现有资料中没有关于“{subject.rstrip('？?。')}”的规定，这一部分我不知道。"


def stopped(title: str, state: str, newer: str) -> str:
    """That the only source no longer holds, and which document does."""
    tail = f"，请以现行的《{newer}》为准" if newer else "，资料中没有找到替代它的现行文件"
    return f"能够回答该问题的《{title}》{state}{tail}。"


def not_in_force(title: str, since: str) -> str:
    """That a source does not hold yet."""
    return f"《{title}》自{since}起施行，尚未生效，未据以作答" if since else f"《{title}》尚未生效，未据以作答"


def withheld(text: str, reason: str) -> str:
    """Which sentence was withheld, and why."""
    return f"“{text}”未通过核对：{reason}"
