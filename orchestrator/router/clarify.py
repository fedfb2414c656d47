"""When to ask back, and what: an open intent, an open slot. Required only where an answer would be a guess."""

from __future__ import annotations

import re
from collections.abc import Sequence

from orchestrator.domain.pack import DomainPack
from orchestrator.router.question_type import INTERROGATIVE
from trias.v1 import plan_pb2

__all__ = ["ask_intent", "ask_slots", "is_vague", "points_outside"]

# Words that point at something the question itself does not name.
_POINTING = re.compile(
    r"这(?:个|种|些|类|款|样|药|病|项)|那(?:个|种|些|类|款|样|药|病)(?!时)|该(?:药|病|项)|它|上面(?:的|那)|刚才"
)
_FUNCTION_WORDS = re.compile(
    r"请问|我们?|你们?|他|她|想要?|需要|应该|可以|可|能|会|要|得|的|了|是|在|有|到|给|把|和|跟|就|都|也|还|又|吧|啊|呀|问题|情况|事情|事"
    r"|办理|办|弄|做|一下|知道|了解|说|关于|[\s，。、；：？！,.;:?!~～…\"'“”‘’()（）]"
)
# With fewer characters of substance than this nothing is asked that a document could answer: 怎么办, 报销. One less is
# enough where the question says what it wants to know: 备案要几天, 什么是童工.
FEWEST_CHARACTERS = 3
_SPECIFIC = re.compile(r"多少|多久|多长|几|什么时候|何时|什么是|何谓|定义|含义|什么意思")
# More alternatives than this are no help to the one who is asked.
MOST_ALTERNATIVES = 4
MOST_VALUES = 12
_DIGIT_WORDS = re.compile(r"钱|天|年|月|次")


def points_outside(text: str) -> bool:
    """Whether the question points at something it does not name: 这个药能报多少."""
    return _POINTING.search(text) is not None


def is_vague(text: str) -> bool:
    """Whether hardly anything is left once question words and function words are gone."""
    rest = INTERROGATIVE.sub("", _POINTING.sub("", text))
    left = len(_DIGIT_WORDS.sub("", _FUNCTION_WORDS.sub("", rest)))
    return left < (FEWEST_CHARACTERS - 1 if _SPECIFIC.search(text) else FEWEST_CHARACTERS)


def ask_intent(pack: DomainPack, intent_ids: Sequence[str], *, required: bool) -> plan_pb2.Clarification:
    """Which of these intents is meant; without any, the pack's roots are offered."""
    offered = list(intent_ids) or [node.intent_id for node in pack.intents if node.retrieval]
    labels = [" › ".join(pack.labels(intent_id)) for intent_id in offered]
    return plan_pb2.Clarification(
        about="intent",
        question=pack.messages.clarify_intent,
        alternatives=list(dict.fromkeys(labels))[: MOST_ALTERNATIVES + 2],
        required=required,
    )


def ask_slots(pack: DomainPack, slot_types: Sequence[str], *, required: bool) -> list[plan_pb2.Clarification]:
    """One question a slot type that the intent needs and the question leaves open."""
    asked = []
    for name in slot_types:
        slot = pack.slot_types[name]
        values = [entry.value for entry in slot.values]
        asked.append(
            plan_pb2.Clarification(
                about=name,
                question=slot.ask or pack.messages.clarify_slot.replace("{}", slot.label),
                alternatives=values if len(values) <= MOST_VALUES else [],
                required=required,
            )
        )
    return asked
