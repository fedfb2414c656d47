"""Real regulations: every article found, none invented, no text lost.

Reads one file in `STEP`; ``TRIAS_STEP=1`` reads all 539 of them.
"""

from __future__ import annotations

import difflib
import gzip
import json
import os
import re
import zipfile
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from lxml import etree

from ingest.clauses import Cut, cut_clauses
from ingest.labels import canonical_label
from ingest.metadata import read_metadata
from ingest.outline import read_outline
from ingest.parse.layout import BlockKind, ParsedDocument
from ingest.parse.reader import parse_file
from ingest.references import find_references
from orchestrator.knowledge.clause import ClauseType, Document

pytestmark = [pytest.mark.data, pytest.mark.slow]

SHARED = Path(os.environ.get("TRIAS_SHARED_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
FOLDER = SHARED / "legal_dc" / "docx"
STEP = int(os.environ.get("TRIAS_STEP", "4"))

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
LABEL = re.compile(r"\s*(第[\s一二三四五六七八九十百千零○〇0-9０-９两]+条(?:之[一二三四五六七八九十]+)?)")
# Read by hand: labels that stand in the middle of a paragraph, behind a full stop; the simple finder looks at starts.
BEHIND_A_STOP = {
    "市场监管行业标准制定管理实施细则.docx": ["第十六条", "第二十一条", "第二十七条", "第三十三条", "第五十一条"],
    "重点管控新污染物清单（2023年版）.docx": ["第六条"],
}
# Word numbers these itself; the labels are in no text of the file.
AUTOMATIC = {"肉制品生产许可审查细则（2023版）.docx": 67}


def files() -> list[Path]:
    found = sorted(FOLDER.glob("*.docx"))
    if not found:
        pytest.skip(f"{FOLDER} is not there; set TRIAS_SHARED_DATA")
    return found[::STEP]


@cache
def read(file: Path) -> tuple[ParsedDocument, Document, Cut]:
    parsed = parse_file(file)
    lines = read_outline(parsed.blocks)
    document = read_metadata(parsed, lines, document_id="d", doc_source=file.name, content_hash="h")
    return parsed, document, cut_clauses("d", lines, max_chars=1200)


def labels_in_the_file(file: Path) -> list[str]:
    """第X条 at the start of a line of word/document.xml, by the simplest means."""
    with zipfile.ZipFile(file) as package:
        root = etree.fromstring(package.read("word/document.xml"))
    found = []
    for paragraph in root.iter(f"{W}p"):
        pieces = [
            (piece.text or "") if piece.tag == f"{W}t" else ("\t" if piece.tag == f"{W}tab" else "\n")
            for piece in paragraph.iter(f"{W}t", f"{W}tab", f"{W}br")
        ]
        found += [canonical_label(match[1]) for line in "".join(pieces).split("\n") if (match := LABEL.match(line))]
    return found


def articles(cut: Cut) -> list[str]:
    """Labels of the articles; the parts of a long one count once."""
    return [c.label for c in cut.clauses if c.clause_type is ClauseType.ARTICLE and LABEL.match(c.text)]


def squeeze(text: str) -> str:
    return re.sub(r"\s", "", text)


def test_every_article_is_found_and_none_invented() -> None:
    wanted = found = 0
    missed: list[str] = []
    invented: list[str] = []
    for file in files():
        expected, seen = labels_in_the_file(file), articles(read(file)[2])
        wanted += len(expected)
        surplus = Counter(seen) - Counter(expected)
        lacking = Counter(expected) - Counter(seen)
        found += len(expected) - lacking.total()
        missed += [f"{file.name} {label}" for label in lacking.elements()]
        if file.name in AUTOMATIC:
            assert len(seen) == AUTOMATIC[file.name]
            continue
        surplus -= Counter(BEHIND_A_STOP.get(file.name, []))
        invented += [f"{file.name} {label}" for label in surplus.elements()]
    assert wanted > 25_000 / STEP / 2
    assert found >= 0.995 * wanted, missed
    assert not invented


def test_no_text_is_lost_and_none_is_there_twice() -> None:
    for file in files():
        parsed, _, cut = read(file)
        tables = [block for block in parsed.blocks if block.kind is BlockKind.TABLE and block.table]
        text = Counter(squeeze("".join(block.text for block in parsed.blocks if block not in tables)))
        cut_text = Counter(squeeze("".join(c.text for c in cut.clauses if c.table is None)))
        cut_text += Counter(squeeze("".join(line.text for line in cut.headings)))
        difference = (text - cut_text) + (cut_text - text)
        # Captions and notes of tables, and tables that only frame text, change sides.
        moved = Counter(squeeze("".join(c.text for c in cut.clauses if c.table is not None)))
        moved += Counter(squeeze("".join(block.text for block in tables)))
        assert not difference - moved, file.name
        if not tables:
            assert not difference, file.name
        whole = squeeze("\n".join(c.text for c in cut.clauses))
        headings = {squeeze(line.text) for line in cut.headings}
        for block in parsed.blocks:
            for line in block.text.split("\n") if block not in tables else ():
                assert squeeze(line) in whole or squeeze(line) in "".join(headings), (file.name, line)


def test_the_cells_of_every_table_are_in_its_clauses() -> None:
    for file in files():
        parsed, _, cut = read(file)
        whole = squeeze("\n".join(c.text for c in cut.clauses))
        for block in parsed.blocks:
            for row in block.table.rows if block.table else ():
                assert all(squeeze(cell) in whole for cell in row), (file.name, row)


def test_clauses_are_well_formed() -> None:
    for file in files():
        _, _, cut = read(file)
        assert cut.clauses, file.name
        assert len({c.source_id for c in cut.clauses}) == len(cut.clauses)
        assert all(c.text == c.text.strip() != "" for c in cut.clauses)
        assert all(len(c.text) <= 1200 for c in cut.clauses if c.table is None)
        assert [c.ordinal for c in cut.clauses] == list(range(len(cut.clauses)))
        assert all(c.place.first_block <= c.place.last_block for c in cut.clauses)


def test_titles_dates_and_authorities() -> None:
    documents = [read(file)[1] for file in files()]
    same = sum(squeeze(d.title) == squeeze(d.doc_source.removesuffix(".docx")) for d in documents)
    assert same >= 0.97 * len(documents)
    for field, share in (("publish_date", 0.95), ("effective_date", 0.95), ("authority", 0.95)):
        assert sum(bool(getattr(d, field)) for d in documents) >= share * len(documents), field
    # None of them limits its own validity; the certificates that they speak of do.
    assert not [d.doc_source for d in documents if d.expiry_date]
    assert not [d.doc_source for d in documents if d.region]


def test_references_name_existing_articles() -> None:
    inner = broken = 0
    for file in files():
        _, document, cut = read(file)
        known = {c.label for c in cut.clauses}
        texts = {c.source_id: c.text for c in cut.clauses}
        for reference in find_references(document.title, cut.clauses):
            assert texts[reference.source_id][reference.start : reference.end] == reference.text
            article = re.match(r"第[^条]+条(?:之[一二三四五六七八九十]+)?", reference.target_label)
            if article and not reference.target_title and reference.text.startswith("本"):
                inner += 1
                broken += article[0] not in known
    assert inner > 100
    assert broken <= 0.01 * inner


def test_the_cut_agrees_with_another_one() -> None:
    """`corpus.jsonl.gz` holds the same files, cut at 第X条 by someone else."""
    with gzip.open(SHARED / "legal_dc" / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        theirs: dict[str, str] = {}
        for line in lines:
            row = json.loads(line)
            theirs[row["title"]] = theirs.get(row["title"], "") + row["content"] + "\n"
    ours = {file.stem: read(file)[2] for file in files()}
    compared = [title for title in ours if title in theirs]
    assert len(compared) >= 0.9 * len(ours)
    alike = 0
    for title in compared:
        labels = [canonical_label(m[1]) for line in theirs[title].split("\n") if (m := LABEL.match(line))]
        alike += difflib.SequenceMatcher(None, labels, articles(ours[title]), autojunk=False).ratio() >= 0.99
    assert alike >= 0.97 * len(compared)
