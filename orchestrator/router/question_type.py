"""What kind of answer a question wants, by the way it is worded."""

from __future__ import annotations

import re
from collections.abc import Mapping

from orchestrator.domain.pack import DomainPack
from trias.v1 import plan_pb2

__all__ = ["INTERROGATIVE", "QuestionTyper", "question_type_of_word"]

# Without one of these, a stretch of text states a condition rather than asks.
INTERROGATIVE = re.compile(
    r"多少|多久|多长|多大|多高|几(?!乎)|什么|哪|怎么|怎样|如何|为何|为什么|吗|么(?=$|[？?])|呢|是否|能否|可否|有没有|能不能"
    r"|可不可以|要不要|是不是|会不会|算不算|该不该|需不需要|谁|[？?]|区别|分别"
)

# In order: the first that is found decides. A comparison may also ask how much, a yes/no question also name a rate.
_CUES: dict[str, tuple[str, ...]] = {
    "comparison": (
        r"区别|不同(?!意)|差别|差异|相比|比较|对比|哪个更|哪个高|哪个为准|谁高",
        r"一样(?:吗|多|么)|(?:什么|哪些)变化|变了",
    ),
    "reason": (r"为什么|为何|原因|凭什么|理由|何以|依据是什么|目的是什么",),
    "definition": (r"什么是|是什么意思|什么意思|指什么|指的是|是指|定义|含义|何谓|何为|怎么理解",),
    "enumeration": (r"哪些|哪几|包括什么|包含什么|有哪|什么材料|什么情[况形]|什么行为|什么条件|哪类|列举",),
    "procedure": (
        r"(?:怎么|如何|怎样)(?:才能)?(?:申请|办理?|报销|备案|申报|申领|领取|参保|缴费|登记|变更|补缴|转移|走)",
        r"(?:怎么|如何|怎样)(?:才能)?(?:投诉|举报|申诉|操作|弄)|流程|步骤|手续|程序|怎么办|怎么报|去哪",
        r"(?:在|去|到)?(?:哪里|哪儿|哪)(?:能|可以)?(?:办|申请|报销|报|备案|领|缴|交)",
    ),
    "yes_no": (
        r"吗|是否|能否|可否|有没有|能不能|可不可以|要不要|是不是|会不会|算不算|该不该|需不需要|还是不",
        r"(?:了|有)没有?[？?]?$",
    ),
    "fact": (r"多少|多久|多长|多大|多高|几|百分之|什么时候|何时|哪[年天月]|谁|由哪|比例|标准|限额|期限|时限",),
}


def question_type_of_word(word: str) -> plan_pb2.QuestionType:
    """The contract's value of a pack's word: ``yes_no``."""
    found: plan_pb2.QuestionType = getattr(plan_pb2, f"QUESTION_TYPE_{word.upper()}")
    return found


class QuestionTyper:
    """Wording → question type: the pack's own cues first, then those of the language."""

    def __init__(self, pack: DomainPack) -> None:
        self._own: Mapping[str, tuple[re.Pattern[str], ...]] = pack.question_cues
        self._cues = [(word, re.compile("|".join(patterns))) for word, patterns in _CUES.items()]

    def classify(self, text: str, hint: str = "") -> plan_pb2.QuestionType:
        """The type of ``text``; ``hint`` (the intent's) decides where the wording leaves it open, else a fact."""
        for word, patterns in self._own.items():
            if any(pattern.search(text) for pattern in patterns):
                return question_type_of_word(word)
        for word, pattern in self._cues:
            if pattern.search(text):
                return question_type_of_word(word)
        return question_type_of_word(hint or "fact")
