"""What the flow itself says to the one who asked, in the language of the documents."""

from __future__ import annotations

__all__ = [
    "CLARIFY",
    "FALLBACK",
    "FALLBACK_UNVERIFIED",
    "NOTHING_FOUND",
    "NOTHING_TO_LOOK_UP",
    "SEARCH_FAILED",
    "display",
    "superseded",
]

# A full answer could not be made in time: here is what the sources say, verbatim.
FALLBACK = "系统暂时无法完成完整的分析，以下为检索到的条文原文，未经归纳和冲突核对，请以原文为准。"
FALLBACK_UNVERIFIED = "条文之间的冲突、时效与适用范围未作核对。"
# No source bears on the question.
NOTHING_FOUND = "现有文件中没有找到能够回答该问题的条文。"
# Nothing could be searched.
SEARCH_FAILED = "检索服务暂时不可用，无法查阅文件，请稍后重试。"
# A greeting, thanks, small talk.
NOTHING_TO_LOOK_UP = "您好！我依据已收录的政策法规文件回答问题，请告诉我您想查询的具体事项。"
# The plan's clarifications follow.
CLARIFY = "问题的指向还不明确，请先补充以下信息。"


def superseded(title: str, newer: str) -> str:
    """That a source no longer holds, and which document holds in its place (empty where unknown)."""
    tail = f"，现行文件为《{newer}》" if newer else ""
    return f"《{title}》已失效{tail}。"


def display(title: str, label: str, page: int) -> str:
    """A citation for a person: 《…》第十二条，第3页."""
    where = f"，第{page}页" if page else ""
    return f"《{title}》{label}{where}"
