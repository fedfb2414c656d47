from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from orchestrator.domain.lexicon import SlotMatcher
from orchestrator.domain.pack import DomainPack, load_pack
from orchestrator.router.questions import QuestionSplitter
from orchestrator.settings import PathSettings

PACK = load_pack(PathSettings().domains / "medical_insurance")


def splitter(pack: DomainPack = PACK, limit: int = 4) -> QuestionSplitter:
    return QuestionSplitter(pack, SlotMatcher(pack).find, limit)


SPLITTER = splitter()


@pytest.mark.parametrize(
    "text",
    [
        "职工在三级医院住院的报销比例是多少？",
        "我爸得了糖尿病，在青岚想办门诊慢特病，需要提交哪些材料？",
        "《甲和乙的办法》第三条是什么",
        "报销",
        "？？？",
        "和",
        "职工基本医疗保险和你",
        "保存几年？代表什么？",
        "什么情形下，住院不纳入支付范围？",
        "判断备案是否有效时，可以考虑哪些因素？",
        "住院有起付标准吗？如果有，是多少？",
        "起付标准以及对住院不利的支付比例会怎样？",
    ],
)
def test_a_plain_question_stays_whole(text: str) -> None:
    assert splitter().split(text) == [text]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "职工和居民的住院起付标准分别是多少？",
            ["职工的住院起付标准是多少？", "居民的住院起付标准是多少？"],
        ),
        (
            "职工住院和居民住院的起付标准分别是多少？",
            ["职工住院的起付标准是多少？", "居民住院的起付标准是多少？"],
        ),
        (
            "奥希替尼片的医保支付标准和职工支付比例分别是多少？",
            ["奥希替尼片的医保支付标准是多少？", "奥希替尼片的职工支付比例是多少？"],
        ),
        (
            "三级、二级和一级医院的住院起付标准各是多少",
            ["三级的住院起付标准是多少", "二级的住院起付标准是多少", "一级医院的住院起付标准是多少"],
        ),
        (
            "三级医院和二级医院住院报销比例一样吗",
            ["三级医院住院报销比例", "二级医院住院报销比例"],
        ),
        (
            "职工在三级医院住院报销比例是多少？那居民呢？",
            ["职工在三级医院住院报销比例是多少？", "居民在三级医院住院报销比例是多少？"],
        ),
        (
            "异地就医备案如何办理？需要提交哪些材料？",
            ["异地就医备案如何办理？", "异地就医备案需要提交哪些材料？"],
        ),
        (
            "我在望江市参保，住院报销比例是多少，门诊起付标准是多少？",
            ["我在望江市参保，住院报销比例是多少", "我在望江市参保，门诊起付标准是多少？"],
        ),
        (
            "《甲办法》和《乙办法》分别什么时候施行",
            ["《甲办法》什么时候施行", "《乙办法》什么时候施行"],
        ),
        (
            "职工住院报销比例是多少？居民异地备案如何办理？",
            ["职工住院报销比例是多少？", "居民异地备案如何办理？"],
        ),
    ],
)
def test_each_part_is_complete(text: str, parts: list[str]) -> None:
    assert splitter().split(text) == parts


def test_values_that_are_meant_as_one_are_not_separated() -> None:
    general = load_pack(PathSettings().domains / "general")
    assert splitter(general).split("单位和个人应当遵守哪些规定？") == ["单位和个人应当遵守哪些规定？"]
    assert len(splitter(general).split("北京和上海的规定分别是什么？")) == 2


def test_conditions_and_matters_multiply() -> None:
    parts = splitter().split("职工和居民住院的起付标准和报销比例分别是多少")
    assert parts == [
        "职工住院的起付标准是多少",
        "职工住院的报销比例是多少",
        "居民住院的起付标准是多少",
        "居民住院的报销比例是多少",
    ]


def test_what_exceeds_the_limit_stays_together_in_the_last_part() -> None:
    text = "住院怎么报？门诊怎么报？生育怎么报？异地怎么报？"
    parts = splitter(limit=3).split(text)
    assert len(parts) == 3
    assert "生育" in parts[-1]
    assert "异地" in parts[-1]
    assert splitter(limit=1).split(text) == [text]


@given(st.text(alphabet="职工居民三二级医院住门诊和与、，；？？起付标准报销比例分别是多少那呢《》", max_size=80))
@hypothesis_settings(max_examples=200, deadline=None)
def test_any_text_is_split_into_few_parts_that_are_not_blank(text: str) -> None:
    parts = SPLITTER.split(text)
    assert 1 <= len(parts) <= 4
    assert len(set(parts)) == len(parts)
    assert all(part.strip() for part in parts) or parts == [text]


@pytest.mark.parametrize("unit", ["职工和", "起付标准和", "《甲》和", "多少？", "多少，", "那居民呢？", "职工住院和"])
def test_long_lists_are_not_taken_apart(unit: str) -> None:
    assert len(splitter().split((unit * 2000)[:2000])) <= 4
