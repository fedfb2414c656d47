"""The readers on real documents, against a plain reading and against the labels that the files hold."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

import docx as python_docx
import pytest

from ingest.parse.layout import BlockKind
from ingest.parse.reader import parse_file
from orchestrator.errors import DocumentError

DATA = Path(os.environ.get("TRIAS_SHARED_DATA", Path(__file__).parents[4] / "shared" / "data"))
pytestmark = pytest.mark.data


@pytest.fixture
def files():
    def find(folder: str, pattern: str) -> list[Path]:
        found = sorted((DATA / folder).glob(pattern))
        if not found:
            pytest.skip(f"the shared data are not at {DATA}; name their folder in TRIAS_SHARED_DATA")
        return found

    return find


def bare(text: str) -> str:
    return re.sub(r"\s+", "", text)


def test_no_paragraph_of_a_plain_reading_is_lost(files):
    """None of these files has tracked changes or hidden text, so a plain reading holds nothing that may go."""
    for path in files("legal_dc/docx", "*.docx")[::12]:
        ours: Counter[str] = Counter()
        for block in parse_file(path).blocks:
            ours[bare(block.text.removeprefix(block.numbering))] += 1
        plain = Counter(bare(paragraph.text) for paragraph in python_docx.Document(str(path)).paragraphs)
        del plain[""]
        lost = plain - ours
        assert not lost, path.name


def test_titles_of_regulations_are_found(files):
    sample = files("legal_dc/docx", "*.docx")[::12]
    found = 0
    for path in sample:
        title = "".join(block.text for block in parse_file(path).blocks if block.kind is BlockKind.TITLE)
        found += bare(title) == bare(path.stem)
    assert found >= 0.95 * len(sample)


def test_difficult_pdfs_are_read_or_refused_with_a_reason(files):
    kinds = {}
    for path in files("pdf", "*.pdf"):
        if path.stat().st_size > 1_000_000:
            continue  # a journal of many pages: minutes on a slow machine
        try:
            kinds[path.name] = len(parse_file(path).blocks)
        except DocumentError as error:
            kinds[path.name] = error.kind
    assert kinds["scanned.pdf"] == "NO_TEXT"
    assert kinds["3list_1table.pdf"] > 20


def test_table_of_a_real_pdf(files):
    (path,) = files("pdf", "3list_1table.pdf")
    (table,) = [block for block in parse_file(path).blocks if block.kind is BlockKind.TABLE]
    assert table.table.headers == ("职位", "人数", "工作职责")
    assert table.table.rows[0] == ("工会主席", "1", "全面负责工会工作")
