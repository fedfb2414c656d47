from __future__ import annotations

from pathlib import Path

import pytest

from loadtest.questions import read_questions


def test_lines_and_json_lines_may_be_mixed(tmp_path: Path) -> None:
    path = tmp_path / "q.txt"
    path.write_text('# 注释\n\n住院报销多少？\n{"text": "起付线是多少"}\n{"question": "怎么备案"}\n', encoding="utf-8")
    assert read_questions(path) == ["住院报销多少？", "起付线是多少", "怎么备案"]


@pytest.mark.parametrize("content", [b"", b"# only\n", b"{broken\n", b"{}\n", "问".encode("gb18030")])
def test_a_file_without_questions_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "q.txt"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"q\.txt"):
        read_questions(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"none\.txt"):
        read_questions(tmp_path / "none.txt")
