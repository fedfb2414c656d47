"""A small domain pack on disk, and builders of passages and requests, for every test of the reasoner."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.lexicon import SlotMatcher
from orchestrator.domain.pack import DomainPack, load_pack
from orchestrator.knowledge.clause import snippet_hash_for
from orchestrator.reasoner.agent import ReasonerAgent
from orchestrator.reasoner.reading import PackReader
from orchestrator.settings import ReasonerSettings
from trias.v1 import common_pb2, document_pb2, passage_pb2, plan_pb2, reasoner_service_pb2

SLOTS = """
slots:
  - type: hospital_grade
    label: 医院级别
    scope: true
    values:
      - {value: 三级, synonyms: [三级医院, 三级定点医疗机构]}
      - {value: 三级甲等, synonyms: [三甲医院, 三甲], parent: 三级}
      - {value: 二级, synonyms: [二级医院]}
      - {value: 一级, synonyms: [一级医院]}
  - type: service
    label: 医疗类别
    scope: true
    values: [住院, 普通门诊, 门诊慢特病]
  - type: population
    label: 参保类型
    scope: true
    values:
      - {value: 职工, synonyms: [参保职工, 职工医保]}
      - {value: 退休人员, parent: 职工}
      - {value: 居民, synonyms: [城乡居民, 居民医保]}
  - type: region
    label: 地区
    scope: true
    values:
      - {value: 云川省, synonyms: [云川]}
      - {value: 青岚市, synonyms: [青岚], parent: 云川省}
      - {value: 东霖省, synonyms: [东霖]}
"""

MATTERS = """
matters:
  - {name: 报销比例, kind: ratio, terms: [支付比例, 统筹基金支付比例, 报销], antonyms: [自付比例]}
  - {name: 自付比例, kind: ratio, terms: [个人自付比例], antonyms: [报销比例]}
  - {name: 起付标准, kind: money, terms: [起付线]}
  - {name: 最高支付限额, kind: money, terms: [封顶线, 年度最高支付限额]}
  - {name: 缴费标准, kind: money, terms: [个人缴费标准]}
  - {name: 办理时限, kind: duration, terms: [办结]}
"""

INTENTS = """
intents:
  - id: benefit
    label: 待遇
    children:
      - {id: benefit.rate, label: 报销比例, keywords: [报销, 报多少], matters: [报销比例], examples: [住院能报多少钱]}
      - {id: service.filing, label: 备案, keywords: [备案], examples: [异地就医怎么备案]}
"""

AUTHORITY = (
    "weights: {law: 1.0, administrative_regulation: 0.9, department_rule: 0.8, provincial: 0.7, municipal: 0.5, "
    "county: 0.4, interpretation: 0.5, unknown: 0.3}\n"
)

OVERRIDES = {
    "overrides": [
        {
            "id": "chronic-special",
            "matter": "报销比例",
            "match": {"document_titles": ["云川省职工医保办法"]},
            "prevails": {"document_titles": ["青岚市慢特病办法"], "labels": ["第六条"]},
            "reason": "门诊慢特病待遇由统筹地区专门规定。",
            "valid_from": "2020-01-01",
            "valid_to": "2030-01-01",
        }
    ]
}


@pytest.fixture(scope="session")
def pack(tmp_path_factory: pytest.TempPathFactory) -> DomainPack:
    folder: Path = tmp_path_factory.mktemp("packs") / "medical"
    folder.mkdir()
    files = {
        "pack.yaml": "name: medical\ntitle: 医保\nlanguage: zh\n",
        "slots.yaml": SLOTS,
        "matters.yaml": MATTERS,
        "intents.yaml": INTENTS,
        "authority.yaml": AUTHORITY,
        "synonyms.yaml": "synonyms:\n  - {term: 最高支付限额, variants: [封顶线]}\n",
        "overrides.json": json.dumps(OVERRIDES, ensure_ascii=False),
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return load_pack(folder)


@pytest.fixture(scope="session")
def reader(pack: DomainPack) -> PackReader:
    return PackReader(pack)


@pytest.fixture
def agent(pack: DomainPack) -> ReasonerAgent:
    return ReasonerAgent(ReasonerSettings(), {"medical": pack}, "medical", None)


PassageMaker = Callable[..., passage_pb2.Passage]


@pytest.fixture(scope="session")
def passage() -> PassageMaker:
    """passage(text, title=…, label=…, date=…, …): a clause of an in-force document."""

    def make(
        text: str,
        *,
        title: str = "云川省职工医保办法",
        label: str = "第一条",
        date: str = "2023-01-01",
        confidence: float = 0.6,
        status: document_pb2.DocumentStatus = document_pb2.DOCUMENT_STATUS_IN_FORCE,
        validity: passage_pb2.Validity = passage_pb2.VALIDITY_IN_FORCE,
        level: document_pb2.AuthorityLevel = document_pb2.AUTHORITY_LEVEL_PROVINCIAL,
        table: document_pb2.Table | None = None,
        headings: Sequence[str] = (),
        references: Sequence[document_pb2.Reference] = (),
        **document: Any,
    ) -> passage_pb2.Passage:
        document_id = document.pop("document_id", f"doc:{title}")
        source_id = f"{document_id}#{label}"
        clause = document_pb2.Clause(
            source_id=source_id,
            document_id=document_id,
            label=label,
            text=text,
            clause_type=document_pb2.CLAUSE_TYPE_ARTICLE,
            snippet_hash=snippet_hash_for(text),
            place=document_pb2.Place(page=3),
            path=[document_pb2.PathElement(level="章", heading=heading) for heading in headings],
        )
        if table is not None:
            clause.table.CopyFrom(table)
        return passage_pb2.Passage(
            source_id=source_id,
            snippet_hash=clause.snippet_hash,
            confidence=confidence,
            clause=clause,
            validity=validity,
            references=references,
            superseded_by=document.pop("newer", ""),
            document=document_pb2.Document(
                document_id=document_id,
                title=title,
                publish_date=date,
                effective_date=date,
                status=status,
                authority_level=level,
                **document,
            ),
        )

    return make


RequestMaker = Callable[..., reasoner_service_pb2.ReasonRequest]


@pytest.fixture(scope="session")
def request_for(pack: DomainPack) -> RequestMaker:
    """request_for(question, passages, …): with the slots that the pack finds in the question."""
    matcher = SlotMatcher(pack)

    def make(
        question: str,
        passages: Sequence[passage_pb2.Passage],
        *,
        kind: plan_pb2.QuestionType = plan_pb2.QUESTION_TYPE_FACT,
        tier: common_pb2.Tier = common_pb2.TIER_DEEP,
        confidence: float = 0.6,
        follow_up_round: int = 0,
        **plan: Any,
    ) -> reasoner_service_pb2.ReasonRequest:
        slots = [
            plan_pb2.Slot(type=match.slot_type, text=match.text, value=match.value) for match in matcher.find(question)
        ]
        return reasoner_service_pb2.ReasonRequest(
            plan=plan_pb2.Plan(
                **{
                    "question": question,
                    "normalized_question": question,
                    "question_type": kind,
                    "slots": slots,
                    "as_of_date": "2025-01-01",
                    **plan,
                }
            ),
            passages=passages,
            tier=tier,
            retrieval_confidence=confidence,
            follow_up_round=follow_up_round,
        )

    return make


@pytest.fixture
def reason(agent: ReasonerAgent, request_for: RequestMaker) -> Callable[..., reasoner_service_pb2.ReasonResponse]:
    """reason(question, passages, …): the agent's response."""

    def run(question: str, passages: Sequence[passage_pb2.Passage], **rest: Any) -> reasoner_service_pb2.ReasonResponse:
        return asyncio.run(agent.reason(request_for(question, passages, **rest)))

    return run
