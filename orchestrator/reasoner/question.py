"""A question as the reasoner reads it: its content words, the kind of quantity that it wants, its slots and matters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from orchestrator.domain.pack import DomainPack
from orchestrator.domain.quantity import QuantityKind
from orchestrator.domain.quantity_text import parse_quantities
from orchestrator.reasoner.matters import MatterReader
from orchestrator.reasoner.scope import Scope, years_of
from trias.v1 import plan_pb2

__all__ = ["QuestionPart", "bigrams", "content_runs", "read_question"]

# Words that ask, address or join; what is left is what the question is about.
_FILLERS = re.compile(
    r"请问|您好|你好|谢谢|麻烦|想问(?:一?下)?|咨询(?:一?下)|是什么意思|什么意思|是什么|指的是|是指|什么时候|什么样|什么|为什么|为何"
    r"|多少钱|多少|多久|多长时间|多长|多大|多高|几[个天日年次倍种家人周岁]|哪些|哪个|哪种|哪类|哪里|哪儿|哪|谁|何时|何种|何"
    r"|如何|怎么办|怎么样|怎么|怎样|咋办|咋|是否|能否|可否|可不可以|能不能|会不会|是不是|有没有|需不需要|要不要|应不应该|该不该"
    r"|如果|假如|的话|有关|相关|关于|对于|根据|按照|依据|以及|或者|还是|并且|而且|但是|因为|所以|他们|我们|你们|自己|这个|那个|这种|那种|这些|那些"
    r"|需要|应该|应当|必须|可以|能够|可能|一般|通常|目前|现在|具体|分别|主要|通过|进行|属于|包括|包含|哪几|情况下|情形下|规定的?|要求"
    # single characters only where they do not begin a word: 在职, 和解, 被保险人, 到期, 对象
    r"|[的了吗呢吧啊嘛呀我你您他她它这那是把很又]|在(?![职校编建岗线途押逃])|和(?![解谐平])|与(?!会)|或(?![有然])|及(?![时格])"
    r"|被(?![保告害申征执继监处许])|到(?![期位达账岗案])|对(?![象外价口方比账])|会(?=被)|能(?=[不报享领办申退用得买拿])|要(?=[交缴办多付带花等去])"
)
_WORD = re.compile(r"[\u3400-\u9fffA-Za-z0-9０-９]+")
# Wording → the kinds of quantity that would answer.
_KIND_CUES: tuple[tuple[re.Pattern[str], frozenset[QuantityKind]], ...] = tuple(
    (re.compile(pattern), frozenset(kinds))
    for pattern, kinds in (
        (
            r"多少钱|金额|几元|多少元|起付[线标]|封顶|限额|罚款|罚多少|交多少|缴多少|补助多少|标准是多少",
            {QuantityKind.MONEY},
        ),
        (r"报销多少|报多少|比例|百分之几|多少%|几成|费率|税率|利率|多大比例", {QuantityKind.RATIO, QuantityKind.MONEY}),
        (
            r"多久|多长时间|几[天日年周]|几个(?:工作日|月)|多少[天日年]|多少个(?:工作日|月)|期限|时限|时效|有效期|多长",
            {QuantityKind.DURATION},
        ),
        (
            r"何时|什么时候|什么时间|哪[天年月日]|几[月号]|日期|截止|到期|时间",
            {QuantityKind.DATE, QuantityKind.DURATION},
        ),
        (r"几次|多少次|几[人名个家种项份张]|多少[人名个家种项份张]|人数|数量|频次", {QuantityKind.COUNT}),
        (r"几岁|多大年龄|年龄|周岁", {QuantityKind.OTHER}),
        (r"多少", {QuantityKind.MONEY, QuantityKind.RATIO, QuantityKind.COUNT, QuantityKind.DURATION}),
    )
)


# 何时开始实施, 什么时候生效: documents say 自…起施行.
_STARTS = re.compile(
    r"(?:何时|什么时候|时间|日期|哪[天年月日]|几月)[^，。？?]{0,4}(?:实施|施行|生效|执行)|(?:实施|施行|生效|执行)(?:的?时间|的?日期)"
)
_START_WORDS = ("起施行",)
# A named document says where to look, not what for.
_TITLE = re.compile(r"《[^》]{2,60}》")


@dataclass(frozen=True, slots=True)
class QuestionPart:
    """One question, or one part of a compound one.

    Attributes:
        part_id: the sub-question's id; empty for a plain question.
        text: as understood (normalised).
        runs: its content, cut where fillers stood: 宠物医疗保险, 报销.
        canonical_runs: the same in the pack's usual terms (synonyms replaced).
        grams: the character bigrams of both, each once, in order; a run of one character is a gram itself.
        kinds: the kinds of quantity that would answer it; empty where no number is asked for.
        scope: what it limits the answer to.
        matters: what it is about, in the pack's words.
        titles: documents that it names, without 《》.
    """

    part_id: str
    text: str
    question_type: plan_pb2.QuestionType
    runs: tuple[str, ...]
    canonical_runs: tuple[str, ...]
    grams: tuple[str, ...]
    kinds: frozenset[QuantityKind] = frozenset()
    scope: Scope = field(default_factory=dict)
    matters: frozenset[str] = frozenset()
    titles: frozenset[str] = frozenset()


def content_runs(text: str) -> tuple[str, ...]:
    """What a question is about: its words without those that ask, cut where they stood."""
    return tuple(match[0] for piece in _FILLERS.split(text) for match in _WORD.finditer(piece or ""))


def bigrams(runs: Iterable[str]) -> tuple[str, ...]:
    """Character bigrams within runs, each once, in order."""
    grams: dict[str, None] = {}
    for run in runs:
        if len(run) == 1:
            grams[run] = None
        for index in range(len(run) - 1):
            grams[run[index : index + 2]] = None
    return tuple(grams)


def read_question(
    plan: plan_pb2.Plan, pack: DomainPack, matters: MatterReader, canonical: Callable[[str], str]
) -> tuple[QuestionPart, ...]:
    """The parts of a plan's question: its sub-questions, or the question itself."""
    whole = plan.normalized_question or plan.question
    node_path = pack.intent_paths.get(plan.intent.intent_id)
    intended = frozenset(node_path[-1].matters) if node_path else frozenset()
    dimensions = set(pack.scope_dimensions)
    common = _scope_of(plan.slots, dimensions)
    titles = frozenset(mention.text.strip("《》") for mention in plan.named_documents if mention.text)
    asked: list[tuple[str, str, plan_pb2.QuestionType, Scope]] = [("", whole, plan.question_type, common)]
    if len(plan.sub_questions) > 1:
        asked = [
            (
                part.sub_question_id,
                part.text,
                part.question_type or plan.question_type,
                {**common, **_scope_of(part.slots, dimensions)},
            )
            for part in plan.sub_questions
        ]
    parts = []
    for part_id, text, question_type, scope in asked:
        usual = canonical(text)
        canonical_runs = content_runs(_TITLE.sub(" ", usual)) or content_runs(usual)
        if _STARTS.search(text):
            canonical_runs = (*_START_WORDS, *content_runs(_STARTS.sub(" ", _TITLE.sub(" ", usual))))
        named = matters.names(text) | matters.names(usual)
        parts.append(
            QuestionPart(
                part_id=part_id,
                text=text,
                question_type=question_type,
                runs=content_runs(text),
                canonical_runs=canonical_runs,
                grams=bigrams(canonical_runs),
                kinds=_kinds(text, question_type),
                scope={**scope, **years_of(text)},
                # The intent speaks for the whole question, not for each part.
                titles=titles | {title[1:-1] for title in _TITLE.findall(text)},
                matters=named or (intended if len(asked) == 1 else frozenset()),
            )
        )
    return tuple(parts)


def _kinds(text: str, question_type: plan_pb2.QuestionType) -> frozenset[QuantityKind]:
    if question_type in {plan_pb2.QUESTION_TYPE_DEFINITION, plan_pb2.QUESTION_TYPE_PROCEDURE}:
        return frozenset()
    for pattern, kinds in _KIND_CUES:
        if pattern.search(text):
            return kinds
    # 超过5年还能申请吗: a number in the question is one to compare with.
    return frozenset(quantity.kind for quantity in parse_quantities(text))


def _scope_of(slots: Iterable[plan_pb2.Slot], dimensions: set[str]) -> Scope:
    found: dict[str, set[str]] = {}
    for slot in slots:
        if slot.type in dimensions and (slot.value or slot.text):
            found.setdefault(slot.type, set()).add(slot.value or slot.text)
    return {name: frozenset(values) for name, values in found.items()}
