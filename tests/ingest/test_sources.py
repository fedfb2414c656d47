"""From paths to sources."""

from __future__ import annotations

import os
from pathlib import Path

from ingest.sources import Ignored, Source, find_sources
from orchestrator.knowledge.clause import document_id_for


def test_folders_are_walked_in_order_and_what_is_no_source_is_named(tmp_path: Path) -> None:
    for name in (
        "b.md",
        "a.md",
        "~$a.docx",
        ".hidden",
        "a.md.meta.yaml",
        "sub/c.md",
        ".git/d.md",
        "x.tmp",
        "Thumbs.db",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    found = list(find_sources([tmp_path]))
    assert [Path(s.name).name for s in found if isinstance(s, Source)] == ["a.md", "b.md", "c.md"]
    ignored = {Path(s.name).name: s.kind for s in found if isinstance(s, Ignored)}
    assert ignored == {
        "~$a.docx": "TEMPORARY_FILE",
        "x.tmp": "TEMPORARY_FILE",
        ".hidden": "HIDDEN_FILE",
        "Thumbs.db": "HIDDEN_FILE",
    }


def test_every_spelling_of_a_path_is_one_source(tmp_path: Path, monkeypatch: object) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("x")
    (tmp_path / "link").symlink_to(folder)
    spellings = [folder / "a.md", folder, tmp_path / "docs/../docs/a.md", tmp_path / "link" / "a.md"]
    ids = {document_id_for(s.doc_source) for path in spellings for s in find_sources([path]) if isinstance(s, Source)}
    assert len(ids) == 1
    assert len(list(find_sources(spellings))) == 1


def test_below_a_base_names_are_relative(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.md").write_text("x")
    (source,) = find_sources([tmp_path], base=tmp_path)
    assert isinstance(source, Source)
    assert source.doc_source == "sub/a.md"
    (outside,) = find_sources([tmp_path / "sub" / "a.md"], base=tmp_path / "elsewhere")
    assert isinstance(outside, Source)
    assert outside.doc_source == str(tmp_path.resolve() / "sub/a.md")


def test_a_file_that_is_named_is_taken_whatever_its_name(tmp_path: Path) -> None:
    hidden = tmp_path / ".hidden.md"
    hidden.write_text("x")
    assert [type(s) for s in find_sources([hidden, tmp_path / "missing.docx"])] == [Source, Source]


def test_a_name_that_is_not_utf_8_can_be_stored(tmp_path: Path) -> None:
    name = os.fsdecode(b"a\xff.md")
    (tmp_path / name).write_text("x")
    (source,) = find_sources([tmp_path])
    assert isinstance(source, Source)
    document_id_for(source.doc_source)
    assert source.path.read_text() == "x"
