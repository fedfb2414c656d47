from __future__ import annotations

import pytest

from orchestrator.domain.pack import DomainPack
from orchestrator.router.rules import RuleScorer


def leaves(pack: DomainPack) -> tuple[str, ...]:
    return tuple(path[-1].intent_id for path in pack.intent_paths.values() if not path[-1].children)


@pytest.mark.parametrize(
    ("text", "intent_id"),
    [
        ("职工三级医院住院支付比例是多少", "benefit.inpatient.rate"),
        ("三级医院住院起付标准", "benefit.inpatient.deductible"),
        ("大病保险起付标准是多少", "benefit.major.threshold"),
        ("异地就医备案几天办结", "remote.time"),
        ("骗取医疗保障基金怎么处罚", "supervise.fraud"),
    ],
)
def test_formal_wording_is_decided_by_rules(medical: DomainPack, text: str, intent_id: str) -> None:
    vote = RuleScorer(medical, leaves(medical)).vote(text)
    assert leaves(medical)[int(vote.argmax())] == intent_id


def test_a_vote_is_a_share_of_one(medical: DomainPack) -> None:
    scorer = RuleScorer(medical, leaves(medical))
    loud = scorer.vote("职工三级医院住院支付比例是多少")
    soft = scorer.vote("住院")
    silent = scorer.vote("谁发明了电灯")
    assert (loud >= 0).all()
    assert 0.5 < loud.sum() < 1
    assert 0 < soft.max() < loud.max()
    assert not silent.any()


def test_width_and_case_do_not_matter(medical: DomainPack) -> None:
    scorer = RuleScorer(medical, leaves(medical))
    assert (scorer.vote("住院（三级）支付比例") == scorer.vote("住院(三级)支付比例")).all()
