from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from orchestrator.domain.pack import DomainPack, load_pack
from orchestrator.inference.models import Embedding
from orchestrator.router.plan_schema import plan_problems
from orchestrator.router.planner import PackPlanner
from orchestrator.settings import PathSettings, RouterSettings
from tests.router.conftest import LIBRARY, TODAY, hashed_vector
from trias.v1 import plan_pb2

UNTAUGHT = PackPlanner(load_pack(PathSettings().domains / "medical_insurance"), RouterSettings())


def plan_of(planner: PackPlanner, asked: str, *, rewrite: bool = True, **changes: Any) -> plan_pb2.Plan:
    question = planner.read(
        asked, rewrite=rewrite, today=TODAY, as_of_date=changes.pop("as_of_date", ""), hint=changes.pop("hint", "")
    )
    vector = hashed_vector(question.compared)
    titles = [(key, title) for key, title in LIBRARY.items() if title in question.cleaned]
    return planner.plan("p1", question, vector, titles, changes.pop("marked", {}))


def slots(plan: plan_pb2.Plan) -> dict[str, str]:
    return {slot.type: slot.value for slot in plan.slots}


def test_a_colloquial_question_is_understood(planner: PackPlanner) -> None:
    plan = plan_of(planner, "俺爸得了糖尿病，在青岚想办慢病证，要带啥材料？")
    assert plan.question == "俺爸得了糖尿病，在青岚想办慢病证，要带啥材料？"
    assert plan.normalized_question == "我爸得了糖尿病，在青岚想办门诊慢特病，需要提交哪些材料？"
    assert ("慢病证", "门诊慢特病") in {(item.before, item.after) for item in plan.rewrites}
    assert plan.intent.intent_id == "benefit.chronic.apply"
    assert slots(plan) == {"disease": "糖尿病", "region": "青岚市", "service": "门诊慢特病"}


def test_rewriting_can_be_switched_off(planner: PackPlanner) -> None:
    plan = plan_of(planner, "门槛费是啥", rewrite=False)
    assert plan.normalized_question == "门槛费是啥"
    assert not plan.rewrites


def test_slots_of_a_part_stand_in_the_part(planner: PackPlanner) -> None:
    plan = plan_of(planner, "职工和居民的住院起付标准分别是多少？")
    assert [part.sub_question_id for part in plan.sub_questions] == ["q1", "q2"]
    for part in plan.sub_questions:
        assert all(part.text[slot.start : slot.end] == slot.text for slot in part.slots)
    assert [slots(part)["population"] for part in plan.sub_questions] == ["职工", "居民"]  # type: ignore[arg-type]


def test_documents_are_named_with_and_without_marks(planner: PackPlanner) -> None:
    marked = plan_of(
        planner,
        "《医疗救助办法》第四条怎么规定",
        marked={"医疗救助办法": [("d-assist", LIBRARY["d-assist"])]},
    )
    assert [(item.text, item.clause_label, list(item.document_ids)) for item in marked.named_documents] == [
        ("医疗救助办法", "第四条", ["d-assist"])
    ]
    plain = plan_of(planner, "云川省医疗救助办法第四条怎么规定")
    assert [(item.text, item.clause_label, list(item.document_ids)) for item in plain.named_documents] == [
        ("云川省医疗救助办法", "第四条", ["d-assist"])
    ]


def test_a_title_that_rewriting_changes_is_still_named(packs: dict[str, DomainPack]) -> None:
    planner = PackPlanner(packs["medical_insurance"], RouterSettings())
    question = planner.read("新农合办法怎么说", rewrite=True, today=TODAY, as_of_date="", hint="")
    plan = planner.plan("p1", question, None, [("d1", "新农合办法")], {})
    assert "新农合" not in plan.normalized_question
    assert [list(item.document_ids) for item in plan.named_documents] == [["d1"]]


def test_a_document_is_named_by_its_number(planner: PackPlanner) -> None:
    question = planner.read("云医保发[2024]12号第三条说了什么", rewrite=True, today=TODAY, as_of_date="", hint="")
    names = [("d-notice", "关于调整待遇的通知"), ("d-notice", "云医保发〔2024〕12号")]
    plan = planner.plan("p1", question, None, names, {})
    assert [(item.text, item.clause_label, list(item.document_ids)) for item in plan.named_documents] == [
        ("云医保发[2024]12号", "第三条", ["d-notice"])
    ]


def test_an_unknown_document_in_marks_is_named_without_ids(planner: PackPlanner) -> None:
    plan = plan_of(planner, "《没有这个办法》第一条")
    assert [(item.text, list(item.document_ids)) for item in plan.named_documents] == [("没有这个办法", [])]


def test_the_date_of_the_request_goes_before_that_of_the_question(planner: PackPlanner) -> None:
    assert plan_of(planner, "去年住院报销比例是多少").as_of_date == "2025-12-31"
    assert plan_of(planner, "去年住院报销比例是多少", as_of_date="2022-05-01").as_of_date == "2022-05-01"


@pytest.mark.parametrize("asked", ["你好", "您好！", "谢谢", "再见", "你是谁？", "嗨～"])
def test_small_talk_needs_no_retrieval(planner: PackPlanner, asked: str) -> None:
    plan = plan_of(planner, asked)
    assert plan.strategy == plan_pb2.STRATEGY_NO_RETRIEVAL
    assert not plan.clarifications


@pytest.mark.parametrize("asked", ["谁发明了电灯？", "云川省的种植牙每颗限价多少钱？", "你好，住院报销比例是多少"])
def test_what_may_be_answered_is_searched_for(planner: PackPlanner, asked: str) -> None:
    assert plan_of(planner, asked).strategy == plan_pb2.STRATEGY_FULL


def test_a_frequent_question_is_recognised(planner: PackPlanner) -> None:
    assert plan_of(planner, "大病保险要另外交钱吗？").strategy == plan_pb2.STRATEGY_FAQ
    assert plan_of(planner, "大病保险要另外交钱吗？", as_of_date="2020-01-01").strategy == plan_pb2.STRATEGY_FULL


@pytest.mark.parametrize("asked", ["怎么办", "报销", "这个多少钱"])
def test_a_vague_question_is_asked_back(planner: PackPlanner, asked: str) -> None:
    plan = plan_of(planner, asked)
    assert [item.required for item in plan.clarifications if item.about == "intent"] == [True]
    assert plan.clarifications[0].alternatives
    assert plan.queued_for_labelling


def test_an_open_reference_is_asked_for(planner: PackPlanner) -> None:
    plan = plan_of(planner, "这个抗癌药能报多少")
    assert [(item.about, item.required) for item in plan.clarifications] == [("drug", True)]
    named = plan_of(planner, "奥希替尼片能报多少")
    assert not named.clarifications


def test_a_doubtful_intent_goes_on_with_a_wider_one_and_says_so(medical: DomainPack) -> None:
    planner = PackPlanner(medical, RouterSettings(clarify_below=1.0))
    planner.learn([Embedding(np.stack([hashed_vector(text) for text in planner.teaching]), "x", 0.0)])
    plan = plan_of(planner, "大病保险的起付标准是多少")
    assert plan.intent.intent_id == "benefit.major"
    assert [(item.about, item.required) for item in plan.clarifications] == [("intent", False)]
    assert any("大病保险起付标准" in item for item in plan.clarifications[0].alternatives)
    assert plan.queued_for_labelling


def test_a_named_clause_needs_no_clarification(planner: PackPlanner) -> None:
    plan = plan_of(planner, "《云川省职工基本医疗保险办法》第十五条规定了什么？")
    assert not plan.clarifications


def test_a_hint_joins_the_vote(planner: PackPlanner) -> None:
    plain = plan_of(planner, "大病保险的钱")
    hinted = plan_of(planner, "大病保险的钱", hint="起付标准是多少")
    assert hinted.intent.intent_id == "benefit.major.threshold"
    assert plain.normalized_question == hinted.normalized_question


@given(st.text(min_size=1, max_size=120))
@hypothesis_settings(max_examples=150, deadline=None)
def test_any_text_makes_a_valid_plan(asked: str) -> None:
    question = UNTAUGHT.read(asked, rewrite=True, today=dt.date(2026, 11, 30), as_of_date="", hint="")
    if not question.cleaned:
        return
    plan = UNTAUGHT.plan("p1", question, None, [], {})
    assert plan_problems(plan, UNTAUGHT.pack, 4) == []


@given(
    st.text(
        alphabet="职工居民三级医院住院和与、，？起付标准报销比例分别多少那呢《办法》第十条2023年的时候去你好",
        max_size=120,
    )
)
@hypothesis_settings(max_examples=150, deadline=None)
def test_any_question_makes_a_valid_plan(asked: str) -> None:
    question = UNTAUGHT.read(asked, rewrite=True, today=dt.date(2026, 11, 30), as_of_date="", hint="")
    if not question.cleaned:
        return
    plan = UNTAUGHT.plan("p1", question, None, [], {})
    assert plan_problems(plan, UNTAUGHT.pack, 4) == []
