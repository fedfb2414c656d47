from __future__ import annotations

from orchestrator.domain.lexicon import SlotMatcher
from orchestrator.domain.pack import DomainPack
from orchestrator.router.faq import FaqMatcher
from orchestrator.router.normalise import Normaliser


def matcher(pack: DomainPack) -> FaqMatcher:
    normaliser = Normaliser(pack)
    return FaqMatcher(pack, lambda text: normaliser.rewrite(text).text, SlotMatcher(pack).find)


def test_the_same_wording_is_the_same_question(medical: DomainPack) -> None:
    faq = matcher(medical)
    entry = faq.find(faq.questions[0] + "？", None, None)
    assert entry is not None
    assert entry.faq_id == medical.faq[0].faq_id


def test_another_question_is_none(medical: DomainPack) -> None:
    faq = matcher(medical)
    for text in ("住院报销比例是多少", "新生儿", "大病保险起付标准是多少", ""):
        assert faq.find(text, None, None) is None


def test_a_condition_that_the_entry_does_not_know_makes_it_another_question(medical: DomainPack) -> None:
    faq = matcher(medical)
    assert faq.find("新生儿参保登记期限", None, None) is not None
    assert faq.find("海陵市新生儿参保登记期限", None, None) is None
