from __future__ import annotations

import io

from rich.console import Console

from orchestrator.commands import answer_view
from trias.v1 import answer_service_pb2, common_pb2, passage_pb2, plan_pb2, reasoning_pb2


def shown(view: object) -> str:
    console = Console(file=io.StringIO(), width=160, force_terminal=False, highlight=False)
    console.print(view)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert isinstance(text, str)
    return text


def answered() -> answer_service_pb2.Answered:
    reply = answer_service_pb2.Answered(elapsed_ms=321)
    answer = reply.answer
    answer.tier = common_pb2.TIER_DEEP
    answer.status = reasoning_pb2.ANSWER_STATUS_NEEDS_REVIEW
    answer.text = "三级医院报销70%。#1"
    answer.sentences.add(
        text=answer.text, citation_numbers=[1], status=reasoning_pb2.SENTENCE_STATUS_VERIFIED, ruling_id="r1"
    )
    answer.sentences.add(status=reasoning_pb2.SENTENCE_STATUS_WITHHELD, reason="a number differs")
    answer.citations.add(number=1, display="《新办法》第十二条，第3页", sentence="三级医院支付比例为百分之七十。")
    answer.claims.add(claim_id="k1", text="三级报销70%")
    answer.claims.add(claim_id="k2", text="三级报销60%")
    answer.conflicts.add(conflict_id="x1", claim_ids=["k1", "k2"], matter="报销比例", explanation="新旧不一致")
    answer.rulings.add(
        ruling_id="r1",
        claim_id="k1",
        conflict_id="x1",
        reason=reasoning_pb2.RULING_REASON_NEWER,
        explanation="新办法晚三年",
    )
    answer.degraded = True
    answer.degradations.add(
        level=common_pb2.FAULT_LEVEL_DEGRADED, component="embedder", reason="MODEL_UNAVAILABLE", detail="It is down."
    )
    answer.verification.sentences_checked = 2
    answer.verification.sentences_verified = 1
    answer.verification.sentences_withheld = 1
    answer.verification.unverified.append("生效日期未知")
    reply.timing.total_ms = 321
    reply.timing.stages.add(stage="route", wall_ms=12)
    reply.timing.stages.add(stage="route/embed", wall_ms=9)
    reply.suggestions.append("换一种说法")
    reply.clarifications.add(question="住院还是门诊？", alternatives=["住院", "门诊"])
    return reply


def test_the_final_view_holds_everything_that_the_answer_rests_on() -> None:
    plan = plan_pb2.Plan(intent=plan_pb2.Intent(path=["待遇", "住院"], confidence=0.8, decided_by="vote"))
    text = shown(answer_view.final(plan, [answered()], None))
    for wanted in (
        "待遇 › 住院",
        "needs review",
        "DEGRADED",
        "embedder: MODEL_UNAVAILABLE",
        "三级医院报销70%",
        "withheld: a number differs",
        "#1",
        "第十二条，第3页",
        "三级医院支付比例为百分之七十。",
        "三级报销70% ↔ 三级报销60%",
        "newer",
        "新办法晚三年",
        "1 of 2 sentences",
        "生效日期未知",
        "换一种说法",
        "住院 / 门诊",
        "321 ms",
        "route 12",
    ):
        assert wanted in text
    assert "route/embed" not in text


def test_conflicts_that_the_answer_does_not_rest_on_are_only_counted() -> None:
    reply = answered()
    reply.answer.conflicts.add(conflict_id="x2", matter="起付标准")
    text = shown(answer_view.final(plan_pb2.Plan(), [reply], None))
    assert "1 conflicts among the passages do not touch" in text
    assert "起付标准" not in text


def test_explain_shows_every_term() -> None:
    passage = passage_pb2.Passage(rank=1, confidence=0.7, validity=passage_pb2.VALIDITY_REPEALED)
    passage.scores.final = 0.612
    passage.scores.semantic.CopyFrom(
        passage_pb2.ScoreTerm(value=0.8, raw=0.91, weight=0.4, contribution=0.32, present=True, origin="vector")
    )
    passage.document.title, passage.clause.label, passage.clause.text = "旧办法", "第三条", "内容"
    retrieved = answer_service_pb2.Retrieved(passages=[passage], confidence=0.7)
    text = shown(answer_view.final(plan_pb2.Plan(), [answered()], retrieved))
    for wanted in ("0.612", "+0.320", "0.80×0.40", "vector 0.91", "vector", "–", "《旧办法》第三条", "repealed"):
        assert wanted in text


def test_text_from_the_server_is_never_markup() -> None:
    reply = answered()
    reply.answer.text = "[red]第一[/red]条 [/] [link=http://x]"
    reply.answer.citations[0].display = "[bold]x[/bold]"
    text = shown(answer_view.final(plan_pb2.Plan(), [reply], None))
    assert "[red]第一[/red]条 [/] [link=http://x]" in text
    assert "[bold]x[/bold]" in text
    assert "[red]第一[/red]条" in shown(answer_view.provisional(reply))


def test_unknown_enum_numbers_of_a_newer_server_are_shown_as_numbers() -> None:
    reply = answered()
    reply.answer.status = 99  # type: ignore[assignment]
    assert "99" in shown(answer_view.final(plan_pb2.Plan(), [reply], None))
