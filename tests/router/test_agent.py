from __future__ import annotations

import asyncio
import datetime as dt
import gc
from collections.abc import Callable

import pytest

from orchestrator.errors import ConfigurationError, InvalidFieldError, ModelNotFoundError, ModelUnavailableError
from orchestrator.inference.models import SlotSpan
from orchestrator.knowledge.clause import Document
from orchestrator.router import agent as agent_module
from orchestrator.router.agent import RouterAgent
from orchestrator.router.planner import PackPlanner
from orchestrator.settings import RouterSettings
from tests.router.conftest import ExampleClassifier, HashedEmbedder, Queue
from trias.v1 import plan_pb2, router_service_pb2

MakeRouter = Callable[..., RouterAgent]


def request(question: str, **fields: object) -> router_service_pb2.RouteRequest:
    return router_service_pb2.RouteRequest(question=question, **fields)  # type: ignore[arg-type]


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.01)


async def test_a_question_becomes_a_plan(make_router: MakeRouter) -> None:
    router = make_router()
    await router.warm_up()
    response = await router.route(request("请问职工在三级医院住院能报多少啊？"))
    plan = response.plan
    assert plan.question == "请问职工在三级医院住院能报多少啊？"
    assert plan.intent.intent_id == "benefit.inpatient.rate"
    assert list(plan.intent.path) == ["待遇", "住院待遇", "住院报销比例"]
    assert plan.intent.decided_by == "vote"
    assert plan.question_type == plan_pb2.QUESTION_TYPE_FACT
    assert plan.strategy == plan_pb2.STRATEGY_FULL
    assert plan.plan_id
    assert not plan.is_default
    assert not response.degradations


async def test_time_is_accounted_for(make_router: MakeRouter) -> None:
    router = make_router()
    await router.warm_up()
    timing = (await router.route(request("住院报销比例"))).timing
    assert [stage.stage for stage in timing.stages] == ["normalize", "embed", "titles", "route"]
    assert 0 < timing.model_ms + timing.index_ms <= timing.total_ms
    assert timing.overhead_ms == pytest.approx(timing.total_ms - timing.model_ms - timing.index_ms)


async def test_words_are_read_while_a_model_is_waited_for(
    make_router: MakeRouter, hashed: HashedEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    router = make_router()
    await router.warm_up()
    at_once = await router.route(request("职工和居民的住院起付标准分别是多少？"))
    hashed.takes_s = 0.05
    told: list[object] = []
    plan = PackPlanner.plan

    def spy(self: PackPlanner, *args: object, **kwargs: object) -> plan_pb2.Plan:
        told.append(kwargs["words"])
        return plan(self, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(PackPlanner, "plan", spy)
    response = await router.route(request("职工和居民的住院起付标准分别是多少？"))
    assert [words is not None for words in told] == [True]
    response.plan.plan_id = at_once.plan.plan_id
    assert response.plan == at_once.plan


async def test_words_that_cannot_be_read_cost_no_answer(
    make_router: MakeRouter, hashed: HashedEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise LookupError("no such word")

    router = make_router()
    hashed.takes_s = 0.05
    monkeypatch.setattr(PackPlanner, "read_words", fail)
    response = await router.route(request("住院报销比例"))
    assert response.plan.is_default


@pytest.mark.parametrize("head_start_s", [0.0, 3600.0])
async def test_a_route_that_is_given_up_leaves_no_look_up_behind(
    make_router: MakeRouter,
    hashed: HashedEmbedder,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    head_start_s: float,
) -> None:
    monkeypatch.setattr(agent_module, "HEAD_START_S", head_start_s)
    router = make_router()
    hashed.takes_s = 30.0
    before = asyncio.all_tasks()
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(router.route(request("住院报销比例")), 0.05)
    await asyncio.sleep(0.01)
    assert asyncio.all_tasks() == before
    gc.collect()
    assert not [record for record in caplog.records if record.name == "asyncio"]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"question": ""}, "question"),
        ({"question": " \n\t　"}, "question"),
        ({"question": "\x00\x01\u200b"}, "question"),
        ({"question": "问" * 2001}, "question"),
        ({"question": "问" * 100_000}, "question"),
        ({"question": "问题", "as_of_date": "yesterday"}, "as_of_date"),
        ({"question": "问题", "as_of_date": "2024-02-30"}, "as_of_date"),
        ({"question": "问题", "as_of_date": "20240101"}, "as_of_date"),
        ({"question": "问题", "as_of_date": "2024-W01-1"}, "as_of_date"),
        ({"question": "问题", "domain": "astrology"}, "domain"),
        ({"question": "问题", "hint": "问" * 501}, "hint"),
    ],
)
async def test_bad_input_names_its_field(make_router: MakeRouter, fields: dict[str, str], field: str) -> None:
    with pytest.raises(InvalidFieldError) as caught:
        await make_router().route(router_service_pb2.RouteRequest(**fields))  # type: ignore[arg-type]
    assert caught.value.field == field


async def test_the_longest_question_that_is_allowed(make_router: MakeRouter) -> None:
    response = await make_router().route(request("职工和" * 666 + "居民"))
    assert not response.plan.is_default


async def test_the_pack_is_chosen_per_request(make_router: MakeRouter) -> None:
    router = make_router()
    await router.warm_up()
    response = await router.route(request("未取得许可证经营如何处罚", domain="general"))
    assert response.plan.domain == "general"
    assert response.plan.intent.intent_id == "liability.fine"


def test_the_default_pack_must_exist(make_router: MakeRouter) -> None:
    with pytest.raises(ConfigurationError, match=r"domain\.default.*'astrology'.*general"):
        make_router(default_domain="astrology")


async def test_a_dead_embedder_leaves_the_rules(make_router: MakeRouter, hashed: HashedEmbedder) -> None:
    router = make_router()
    await router.warm_up()
    hashed.error = ModelUnavailableError("Triton does not answer.")
    response = await router.route(request("职工三级医院住院支付比例是多少"))
    assert response.plan.intent.intent_id == "benefit.inpatient.rate"
    assert response.plan.intent.decided_by == "rule"
    assert [item.component for item in response.degradations] == ["embedder"]
    unknown = await router.route(request("谁发明了电灯"))
    assert unknown.plan.intent.decided_by == "default"
    assert unknown.plan.strategy == plan_pb2.STRATEGY_FULL
    assert not unknown.plan.is_default


async def test_examples_are_learnt_once_the_embedder_is_back(make_router: MakeRouter, hashed: HashedEmbedder) -> None:
    router = make_router()
    hashed.error = ModelUnavailableError("Triton does not answer.")
    with pytest.raises(ModelUnavailableError):
        await router.warm_up()
    hashed.error = None
    first = await router.route(request("产检的钱包不包在里面"))
    assert [item.reason for item in first.degradations] == ["EXAMPLES_NOT_EMBEDDED"]

    async def taught() -> None:
        while (await router.route(request("产检的钱包不包在里面"))).degradations:
            await asyncio.sleep(0.01)

    await asyncio.wait_for(taught(), 60)
    response = await router.route(request("产检的钱包不包在里面"))
    assert response.plan.intent.decided_by == "examples"
    await router.close()


async def test_vectors_of_another_model_are_not_compared(make_router: MakeRouter, hashed: HashedEmbedder) -> None:
    router = make_router()
    await router.warm_up()
    hashed.name = "hashed-2"
    response = await router.route(request("职工三级医院住院支付比例是多少"))
    assert response.plan.intent.decided_by == "rule"
    assert [item.reason for item in response.degradations] == ["EXAMPLES_NOT_EMBEDDED"]
    await router.close()


async def test_doubtful_questions_go_to_the_labelling_queue(make_router: MakeRouter, queue: Queue) -> None:
    router = make_router(settings=RouterSettings(clarify_below=0.99))
    await router.warm_up()
    response = await router.route(request("种植牙每颗限价多少钱"))
    assert response.plan.queued_for_labelling
    assert queue.entries == [
        {
            "question": "种植牙每颗限价多少钱",
            "domain": "medical_insurance",
            "reason": "LOW_CONFIDENCE",
            "intent": response.plan.intent.intent_id,
            "confidence": response.plan.confidence,
        }
    ]
    vague = await router.route(request("怎么办"))
    assert any(item.required for item in vague.plan.clarifications)
    assert queue.entries[-1]["reason"] == "CLARIFICATION"
    assert router.statistics.queued == 2


async def test_without_a_queue_nothing_claims_to_be_queued(make_router: MakeRouter) -> None:
    response = await make_router(labelling_queue=None).route(request("怎么办"))
    assert not response.plan.queued_for_labelling


async def test_a_frequent_question_leads_to_the_clause_that_answers_it(make_router: MakeRouter) -> None:
    router = make_router()
    await router.warm_up()
    plan = (await router.route(request("大病保险要另外交钱吗？"))).plan
    assert plan.strategy == plan_pb2.STRATEGY_FAQ
    assert [(item.text, item.clause_label, list(item.document_ids)) for item in plan.named_documents] == [
        ("云川省大病保险实施细则", "第三条", ["d-major"])
    ]


async def test_an_answer_without_its_clause_is_none(make_router: MakeRouter) -> None:
    async def nothing(text: str, limit: int) -> list[Document]:
        return []

    plan = (await make_router(find_titles=nothing).route(request("大病保险要另外交钱吗？"))).plan
    assert plan.strategy == plan_pb2.STRATEGY_FULL
    assert not plan.named_documents


async def test_an_invalid_plan_is_replaced_and_counted(
    make_router: MakeRouter, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    router = make_router()
    monkeypatch.setattr(agent_module, "plan_problems", lambda *_: ["the schema says no."])
    response = await router.route(request("住院报销比例", as_of_date="2024-01-01"))
    assert response.plan.is_default
    assert response.plan.normalized_question == "住院报销比例"
    assert response.plan.as_of_date == "2024-01-01"
    assert response.plan.strategy == plan_pb2.STRATEGY_FULL
    assert router.statistics.defaults == 1
    assert queue.entries[-1]["reason"] == "INVALID_PLAN"


async def test_a_fault_in_planning_costs_no_answer(make_router: MakeRouter, monkeypatch: pytest.MonkeyPatch) -> None:
    router = make_router()

    def fail(*_: object) -> None:
        raise ValueError("a fault of ours")

    monkeypatch.setattr(agent_module.PackPlanner, "plan", fail)
    assert (await router.route(request("住院报销比例"))).plan.is_default


async def test_today_is_what_relative_dates_count_from(make_router: MakeRouter) -> None:
    router = make_router(today=lambda: dt.date(2024, 5, 1))
    assert (await router.route(request("去年住院报销比例"))).plan.as_of_date == "2023-12-31"


async def test_many_questions_at_once(make_router: MakeRouter) -> None:
    router = make_router()
    await router.warm_up()
    questions = ["住院报销比例", "怎么办", "你好", "异地就医备案几天办结", "起付标准是什么意思"] * 20
    responses = await asyncio.gather(*(router.route(request(question)) for question in questions))
    assert [response.plan.question for response in responses] == questions
    assert len({response.plan.plan_id for response in responses}) == len(questions)
    assert router.statistics.plans == len(questions)


async def test_a_served_model_joins_the_vote_and_fills_slots(make_router: MakeRouter, model: ExampleClassifier) -> None:
    router = make_router(classifier=model)
    await router.warm_up()
    model.spans["上班族住院能报几成"] = (SlotSpan("population", 0, 3, 0.9),)
    response = await router.route(request("上班族住院能报几成"))
    model.spans[response.plan.normalized_question] = (SlotSpan("population", 0, 2, 0.9),)
    plan = (await router.route(request("上班族住院能报几成"))).plan
    assert plan.intent.intent_id == "benefit.inpatient.rate"
    assert not response.degradations
    assert [stage.stage for stage in response.timing.stages] == ["normalize", "embed", "classify", "titles", "route"]
    assert ("population", "职工") in {(slot.type, slot.value) for slot in plan.slots}


async def test_the_model_reads_the_normalised_question(make_router: MakeRouter, model: ExampleClassifier) -> None:
    router = make_router(classifier=model)
    await router.warm_up()
    model.calls.clear()
    plan = (await router.route(request("门槛费是啥"))).plan
    assert model.calls == [[plan.normalized_question]]


async def test_a_model_that_fails_leaves_rules_and_examples(make_router: MakeRouter, model: ExampleClassifier) -> None:
    router = make_router(classifier=model)
    await router.warm_up()
    model.error = ModelUnavailableError("Triton does not answer.")
    response = await router.route(request("职工在三级医院住院能报多少"))
    assert response.plan.intent.intent_id == "benefit.inpatient.rate"
    assert [item.component for item in response.degradations] == ["router_model"]


async def test_a_model_that_is_not_served_is_not_missed(make_router: MakeRouter, model: ExampleClassifier) -> None:
    model.error = ModelNotFoundError("No model 'router'.")
    router = make_router(classifier=model)
    await router.warm_up()
    assert not (await router.route(request("职工在三级医院住院能报多少"))).degradations
    required = make_router(classifier=model, settings=RouterSettings(model="required"))
    with pytest.raises(ModelNotFoundError):
        await required.warm_up()
    response = await required.route(request("职工在三级医院住院能报多少"))
    assert "router_model" in {item.component for item in response.degradations}
    off = make_router(classifier=model, settings=RouterSettings(model="off"))
    await off.warm_up()
    model.calls.clear()
    assert not (await off.route(request("职工在三级医院住院能报多少"))).degradations
    assert not model.calls


async def test_another_version_reads_the_examples_first(make_router: MakeRouter, model: ExampleClassifier) -> None:
    router = make_router(classifier=model)
    await router.warm_up()
    model.name = "model-2"
    model.calls.clear()
    first = await router.route(request("职工在三级医院住院能报多少"))
    assert not first.degradations
    planner = router._planners["medical_insurance"]
    await until(lambda: planner.model_fingerprint == "model-2")
    assert len(model.calls) > 1
    await router.close()


async def test_a_model_of_another_pack_has_no_say(make_router: MakeRouter) -> None:
    stranger = ExampleClassifier([("贷款利率", "loan.rate"), ("开户", "account.open")])
    router = make_router(classifier=stranger)
    await router.warm_up()
    response = await router.route(request("职工在三级医院住院能报多少"))
    assert response.plan.intent.intent_id == "benefit.inpatient.rate"
    assert not response.degradations
