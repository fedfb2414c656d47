"""The sample corpus: made from its sources, readable, and what the domain pack says of it is true."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import docx
import pymupdf
import pytest

from orchestrator.domain.pack import load_pack

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "scripts" / "examples"
DOCUMENTS = ROOT / "examples" / "documents"
MARKUP = re.compile(r"^(?:#|\*|-|>|=) |^(?:caption|appendix): |\[\^\d+\]:?")


def header(source: Path) -> dict[str, str]:
    return dict(line.split(": ", 1) for line in source.read_text("utf-8").partition("\n---\n")[0].splitlines())


def document_of(source: Path) -> Path:
    return DOCUMENTS / f"{source.stem}.{header(source)['format']}"


def text_of(path: Path) -> str:
    """All text of a document, white space left out."""
    if path.suffix == ".md":
        text = path.read_text("utf-8")
    elif path.suffix == ".pdf":
        with pymupdf.open(path) as pdf:
            text = "".join(page.get_text() for page in pdf)
        text = re.sub(r"— \d+ —", "", text)
    else:
        word = docx.Document(str(path))
        cells = [cell.text for table in word.tables for row in table.rows for cell in row.cells]
        with zipfile.ZipFile(path) as package:
            notes = package.read("word/footnotes.xml").decode() if "word/footnotes.xml" in package.namelist() else ""
        text = "".join([*(paragraph.text for paragraph in word.paragraphs), *cells, re.sub(r"<[^>]+>", "", notes)])
    return "".join(text.split())


def sources() -> list[Path]:
    return sorted(SOURCES.glob("*.txt"))


def test_each_source_has_its_document_and_each_document_its_source() -> None:
    assert {document_of(source).name for source in sources()} == {path.name for path in DOCUMENTS.iterdir()}


@pytest.mark.parametrize("source", sources(), ids=lambda path: path.stem)
def test_a_document_holds_every_line_of_its_source(source: Path) -> None:
    text = text_of(document_of(source))
    for line in source.read_text("utf-8").partition("\n---\n")[2].splitlines():
        for piece in line.strip("| ").split(" | ") if line.startswith("| ") else [line]:
            wanted = "".join(MARKUP.sub("", piece).split())
            if wanted not in {"^", "<"}:
                assert wanted in text, line
    assert "".join(header(source)["title"].split()) in text
    assert header(source)["number"] in text


def test_the_script_agrees_with_the_committed_files() -> None:
    check = [sys.executable, str(ROOT / "scripts" / "make_examples.py"), "--check"]
    result = subprocess.run(check, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stderr


def test_the_corpus_stays_small() -> None:
    assert sum(path.stat().st_size for path in DOCUMENTS.iterdir()) < 300_000


def test_automatic_numbers_are_not_in_the_text() -> None:
    path = DOCUMENTS / "云川省职工基本医疗保险办法.docx"
    assert "第一条" not in text_of(path)
    with zipfile.ZipFile(path) as package:
        assert 'w:lvlText w:val="第%1条"' in package.read("word/numbering.xml").decode()


def test_a_pdf_has_several_pages_and_a_text_layer() -> None:
    with pymupdf.open(DOCUMENTS / "云川省大病保险实施细则.pdf") as pdf:
        assert pdf.page_count > 1
        assert all(page.get_text().strip() for page in pdf)


def test_the_readme_lists_every_document() -> None:
    readme = (ROOT / "examples" / "README.md").read_text("utf-8")
    for path in DOCUMENTS.iterdir():
        assert path.name in readme


def test_six_questions_one_a_line() -> None:
    lines = (ROOT / "examples" / "questions.txt").read_text("utf-8").splitlines()
    assert len(lines) == 6
    assert all(line.endswith("？") for line in lines)


def test_the_faq_quotes_clauses_as_they_are() -> None:
    texts = {header(source)["title"]: text_of(document_of(source)) for source in sources()}
    pack = load_pack(ROOT / "domains" / "medical_insurance")
    for entry in pack.faq:
        for evidence in entry.evidence:
            assert "".join(evidence.quote.split()) in texts[evidence.document_title], entry.faq_id


def test_the_overrides_name_documents_of_the_corpus() -> None:
    titles = {header(source)["title"] for source in sources()}
    numbers = {header(source)["number"] for source in sources()}
    for override in load_pack(ROOT / "domains" / "medical_insurance").overrides:
        for selector in (override.match, override.prevails):
            assert set(selector.document_titles) <= titles
            assert set(selector.doc_numbers) <= numbers
