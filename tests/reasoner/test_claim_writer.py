"""Claims by a model: checked, within their budget, and never worse than none."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from orchestrator.errors import ModelNotFoundError
from orchestrator.reasoner.agent import ReasonerAgent
from orchestrator.reasoner.claim_writer import ClaimWriter, order_for
from orchestrator.reasoner.verifier import fault_of_claim
from orchestrator.settings import ReasonerSettings
from trias.v1 import common_pb2, reasoning_pb2

TEXT = "参保职工在三级医院住院发生的政策范围内医疗费用，统筹基金支付比例为70%。"
QUESTION = "三级医院报销比例是多少"


@dataclass
class Said:
    text: str
    complete: bool = True
    fingerprint: str = "f" * 64


class Model:
    """Answers as it is told to, and counts."""

    def __init__(self, answer: Callable[[str], Any]) -> None:
        self.answer = answer
        self.prompts: list[str] = []
        self.cancelled = 0

    async def generate(
        self, prompt: str, *, max_tokens: int, grammar: str = "", timeout_s: float | None = None
    ) -> Said:
        self.prompts.append(prompt)
        said = self.answer(prompt)
        if said is None:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
        if isinstance(said, Exception):
            raise said
        return said if isinstance(said, Said) else Said(said)


@pytest.fixture
def ask(pack: Any, passage: Any, request_for: Any) -> Callable[..., Any]:
    async def run(model: Model, *, tier: Any = common_pb2.TIER_DEEP, times: int = 1, **settings: Any) -> Any:
        chosen = ReasonerSettings(**{"claim_budget_s": 0.2, **settings})
        agent = ReasonerAgent(chosen, {"medical": pack}, "medical", claim_writer=ClaimWriter(model, chosen))
        for _ in range(times):
            response = await agent.reason(request_for(QUESTION, [passage(TEXT)], tier=tier))
        return response

    return run


async def test_a_claim_of_the_model_is_used(ask: Any) -> None:
    model = Model(lambda _: "三级医院住院支付比例70%")
    response = await ask(model)
    (claim,) = response.answer.claims
    assert claim.text == "三级医院住院支付比例70%"
    assert claim.decided_by == "reasoner@ffffffffffff"
    assert response.timing.stages[-1].stage == "model_claims"
    assert "【70%】" in model.prompts[0]


@pytest.mark.parametrize(
    "said",
    [
        "二级医院支付比例70%",  # not of the sentence
        "三级医院支付比例80%",  # another number
        "三级医院住院统筹基金支付比例为70%",  # too long
        "",
        Said("三级医院支付", complete=False),
    ],
)
async def test_a_claim_that_does_not_pass_leaves_the_extractive_one(ask: Any, said: Any) -> None:
    (claim,) = (await ask(Model(lambda _: said))).answer.claims
    assert claim.decided_by == "extractive"
    assert claim.text


async def test_a_model_that_is_late_is_given_up(ask: Any) -> None:
    model = Model(lambda _: None)
    (claim,) = (await ask(model)).answer.claims
    assert claim.decided_by == "extractive"
    assert model.cancelled == 1


async def test_a_model_that_is_not_served_is_left_alone(ask: Any) -> None:
    model = Model(lambda _: ModelNotFoundError("no such model"))
    (claim,) = (await ask(model, times=3)).answer.claims
    assert claim.decided_by == "extractive"
    assert len(model.prompts) == 1


async def test_a_claim_is_asked_for_once(ask: Any) -> None:
    model = Model(lambda _: "三级医院住院支付比例70%")
    (claim,) = (await ask(model, times=3)).answer.claims
    assert claim.decided_by.startswith("reasoner@")
    assert len(model.prompts) == 1


async def test_neither_a_fast_answer_nor_a_late_one_waits(ask: Any) -> None:
    model = Model(lambda _: "三级医院住院支付比例70%")
    assert (await ask(model, tier=common_pb2.TIER_FAST)).answer.claims[0].decided_by == "extractive"
    assert (await ask(model, claims_by_s=1e-9)).answer.claims[0].decided_by == "extractive"
    assert model.prompts == []


async def test_cancelling_an_answer_cancels_its_claims(ask: Any) -> None:
    model = Model(lambda _: None)
    task = asyncio.create_task(ask(model, claim_budget_s=60, claims_by_s=60))
    while not model.prompts:
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert model.cancelled == 1


def test_what_is_asked_about_a_claim() -> None:
    claim = reasoning_pb2.Claim(text="不超过15日", sentence="受理后应当在不超过15日内办结。")
    claim.quantities.add(text="15日", start=9, end=12)
    order = order_for(claim, QUESTION)
    assert order is not None
    assert order.numbers[0].startswith("不超过15日")
    assert "15日" in order.numbers
    claim.quantities[0].start = 3  # of a row as it is read, not as it stands
    assert order_for(claim, QUESTION) is None
    rule = reasoning_pb2.Claim(text="不得转借", sentence="凭证不得转借他人。")
    order = order_for(rule, QUESTION)
    assert order is not None
    assert order.numbers == ()
    assert QUESTION in order.prompt
    assert order_for(reasoning_pb2.Claim(text="长", sentence="长" * 1000), QUESTION) is None


@pytest.mark.parametrize(
    ("pieces", "sentence", "faulty"),
    [
        (("平台不得", "收取流转费"), "平台不得向药店指定品牌，也不得收取流转费。", False),
        (("平台", "收取流转费"), "平台不得向药店指定品牌，也不得收取流转费。", True),  # torn from under 不得
        (("住院", "不满24小时"), "住院不满24小时出院的，不得按住院病例申报。", False),
        (("支付", "5日"), "在15日内支付。", True),  # torn from a number
        (("支付", "15日"), "在15日内支付。", False),
    ],
)
def test_a_claim_faces_the_verifier(pieces: tuple[str, ...], sentence: str, faulty: bool) -> None:
    assert bool(fault_of_claim(pieces, sentence)) is faulty


@pytest.mark.parametrize(
    ("pieces", "number", "faulty"),
    [
        (("市级医院", "900元"), "900元", False),
        (("县医院", "900元"), "900元", True),
        (("居民", "住院", "400元"), "400元", False),
        (("住院", "100元"), "100元", False),
    ],
)
def test_a_piece_about_another_number_is_refused(pieces: tuple[str, ...], number: str, faulty: bool) -> None:
    sentence = "居民在乡镇卫生院住院，起付线100元，县医院400元，市级医院900元。"
    start = sentence.index(number)
    assert bool(fault_of_claim(pieces, sentence, (start, start + len(number)))) is faulty
