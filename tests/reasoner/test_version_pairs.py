"""Conflicts and rulings measured on real old and new texts of one article, and on unrelated clauses of one law."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import os
import random
import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.quantity import contradicts
from orchestrator.domain.quantity_text import parse_quantities
from orchestrator.reasoner.claims import Claim, extract_claims
from orchestrator.reasoner.conflicts import Conflict, find_conflicts
from orchestrator.reasoner.evidence import Evidence, read_sources, readings_of
from orchestrator.reasoner.matters import masked
from orchestrator.reasoner.question import QuestionPart
from orchestrator.reasoner.reading import PackReader
from orchestrator.reasoner.rulings import rule
from orchestrator.settings import ReasonerSettings
from trias.v1 import passage_pb2, plan_pb2, reasoning_pb2

DATA = Path(os.environ.get("TRIAS_SHARED_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
PAIRS = DATA / "statutes" / "version_pairs.jsonl"
CORPUS = DATA / "legal_dc" / "corpus.jsonl.gz"

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not PAIRS.exists(), reason=f"{PAIRS} is absent; set TRIAS_SHARED_DATA"),
]

SETTINGS = ReasonerSettings(max_claims=100)
ANY = QuestionPart("", "", plan_pb2.QUESTION_TYPE_FACT, (), (), ())
# Clauses with a number and a unit: cheaper than to read all of them closely.
_MEASURED = re.compile(r"[\d一二三四五六七八九十百千万][日年元倍%人]|个月|工作日")
# Twins: sentences this alike, numbers apart, by the edit distance of the standard library, not by our own measure.
TWINS = 0.85


def judge(passages: Sequence[passage_pb2.Passage], reader: PackReader) -> tuple[list[Claim], list[Conflict], list[Any]]:
    """Claims of every sentence, whatever a question would want, with their conflicts and rulings."""
    sources = read_sources(passages, reader)
    evidence = [Evidence(reading, 1.0, 1.0, in_scope=True) for reading in readings_of(sources)]
    claims = extract_claims([ANY], [evidence], SETTINGS.max_claims)
    conflicts = find_conflicts(claims, reader.scopes, SETTINGS)
    return claims, conflicts, rule(claims, conflicts, reader.pack, SETTINGS, dt.date(2026, 1, 1))


def pairs(passage: Any) -> Iterator[tuple[passage_pb2.Passage, passage_pb2.Passage]]:
    with PAIRS.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            old, new = row["old"], row["new"]
            if row["number_changed"] and old["date"] and new["date"]:
                yield (
                    passage(
                        old["content"], title=row["law"], label=old["article"], date=old["date"], document_id="old"
                    ),
                    passage(
                        new["content"], title=row["law"], label=new["article"], date=new["date"], document_id="new"
                    ),
                )


def has_twin_with_another_number(first: passage_pb2.Passage, second: passage_pb2.Passage, reader: PackReader) -> bool:
    old, new = ([sentence.text for sentence in source.sentences] for source in read_sources([first, second], reader))
    for one in old:
        for other in new:
            mine, theirs = parse_quantities(one), parse_quantities(other)
            if len(mine) != len(theirs) or not any(map(contradicts, mine, theirs)):
                continue
            skeletons = (masked(one, mine).replace("\x00", ""), masked(other, theirs).replace("\x00", ""))
            if SequenceMatcher(None, *skeletons, autojunk=False).ratio() >= TWINS:
                return True
    return False


def test_real_changes_are_found_and_ruled_for_the_newer(passage: Any, reader: PackReader) -> None:
    found = wanted = 0
    for old, new in pairs(passage):
        _, conflicts, rulings = judge([old, new], reader)
        changed = has_twin_with_another_number(old, new, reader)
        wanted += changed
        found += changed and bool(conflicts)
        apart = dt.date.fromisoformat(new.document.effective_date) - dt.date.fromisoformat(old.document.effective_date)
        for ruling in rulings:
            if ruling.beaten:
                assert ruling.claim.document_id == "new"
                if apart.days >= SETTINGS.newer_by_days:
                    assert ruling.reason == reasoning_pb2.RULING_REASON_NEWER
    assert wanted >= 10
    assert found >= 0.8 * wanted, f"{found} of {wanted}"


def test_unrelated_clauses_of_one_law_seldom_conflict(passage: Any, reader: PackReader) -> None:
    laws: dict[str, list[str]] = {}
    with gzip.open(CORPUS, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            if _MEASURED.search(row["content"]):
                laws.setdefault(row["title"], []).append(row["content"])
    chance = random.Random(5)
    titles = [title for title, clauses in laws.items() if len(clauses) >= 5]
    wrong, total = 0, 300
    for _ in range(total):
        title = chance.choice(titles)
        one, other = chance.sample(laws[title], 2)
        # As if they stood in two documents: within one, clauses are held against each other far more strictly.
        passages = [
            passage(one, title=title, label="第一条", document_id="a", date="2020-01-01"),
            passage(other, title=title, label="第二条", document_id="b", date="2024-01-01"),
        ]
        wrong += bool(judge(passages, reader)[1])
    assert wrong <= 0.03 * total, f"{wrong} of {total}"
