"""Questions to ask: one a line, or JSON lines with a `text` (or `question`) each."""

from __future__ import annotations

import json
from pathlib import Path

__all__ = ["read_questions"]


def read_questions(path: Path) -> list[str]:
    """Read a file of questions; blank lines and lines that start with # are left out.

    Raises:
        ValueError: the file is missing, is not text, or holds no question; names the file and line.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from None
    questions = []
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if text and not text.startswith("#"):
            questions.append(_from_json(path, number, text) if text.startswith("{") else text)
    if not questions:
        raise ValueError(f"{path} holds no question")
    return questions


def _from_json(path: Path, number: int, line: str) -> str:
    try:
        row = json.loads(line)
        return str(row.get("text") or row["question"])
    except (json.JSONDecodeError, KeyError) as error:
        raise ValueError(f"{path}, line {number}: JSON with `text` or `question` is wanted ({error})") from None
