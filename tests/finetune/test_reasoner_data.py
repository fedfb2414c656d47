"""Training pairs: claims are made of their clauses, numbers are marked, splits keep wordings whole."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from finetune.reasoner_data import CLAIM_CHARACTERS, ClaimWordings, read_wordings, synthesise_pairs
from orchestrator.errors import ConfigurationError
from orchestrator.settings import PROJECT

WORDINGS = PROJECT / "domains" / "medical_insurance" / "claims.yaml"


@pytest.fixture(scope="module")
def wordings() -> ClaimWordings:
    return read_wordings(WORDINGS)[0]


def test_pairs_of_the_pack(wordings: ClaimWordings) -> None:
    pairs = synthesise_pairs(wordings, seed=3, per_claim=1)
    assert {pair.task for pair in pairs} == {"claim", "rule", "rewrite"}
    for pair in pairs:
        if pair.task == "rewrite":
            continue
        assert 0 < len(pair.answer) <= CLAIM_CHARACTERS
        number = re.search("【(.+?)】", pair.prompt)
        assert (number is not None) == (pair.task == "claim")
        if number is not None:
            assert number[1] in pair.answer


def test_equal_seeds_make_equal_pairs(wordings: ClaimWordings) -> None:
    first = synthesise_pairs(wordings, seed=5, per_claim=1)
    assert first == synthesise_pairs(wordings, seed=5, per_claim=1)
    assert first != synthesise_pairs(wordings, seed=6, per_claim=1)


def _wordings(text: str, claim: str, values: str = "[三级医院]") -> str:
    return f'values: {{h: {values}}}\nnumbers: [{{text: "{text}", claims: {{p1: "{claim}"}}}}]\nrules: []\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("values: [", "cannot be read"),
        ("values: {}\nnumbers: [{text: 甲}]\nrules: []\n", "numbers.0.claims"),
        ("values: {}\nnumbers: []\nrules: []\nmore: 1\n", "more"),
    ],
)
def test_a_malformed_file_names_the_field(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "claims.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=said):
        read_wordings(path)


@pytest.mark.parametrize(
    ("text", "claim", "said"),
    [
        ("{h1}支付{p1}。", "{h2}支付{p1}", "h2"),
        ("{q1}支付{p1}。", "支付{p1}", "q"),
        ("{h1}支付{p1}。", "门槛费{p1}", "out of its own pieces"),
        ("由统筹基金按照规定程序支付{p1}。", "由统筹基金按照规定程序支付{p1}。", "at most"),
    ],
)
def test_a_wording_that_makes_nothing_is_named(tmp_path: Path, text: str, claim: str, said: str) -> None:
    path = tmp_path / "claims.yaml"
    path.write_text(_wordings(text, claim), encoding="utf-8")
    with pytest.raises(ConfigurationError, match=said):
        synthesise_pairs(read_wordings(path)[0], seed=1, per_claim=2)
