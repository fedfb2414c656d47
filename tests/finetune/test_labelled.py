"""Reading a labelled folder, and which questions are kept apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from finetune.labelled import Question, read_labelled_set, split
from orchestrator.errors import ConfigurationError


def test_passages_read_as_ingest_embeds_them(labelled_folder: Path) -> None:
    data = read_labelled_set(labelled_folder, licence="MIT")
    assert len(data.passages) == len(data.questions) == 64
    assert all(passage.startswith("法") for passage in data.passages)
    assert data.card.licence == "MIT"
    assert all(len(one.gold) == 8 and one.answer for one in data.questions)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"corpus.jsonl": None}, "holds no corpus.jsonl.gz or corpus.jsonl"),
        ({"qrels.tsv": "q0\tnowhere\t1"}, "'nowhere' is not in the corpus"),
        ({"qrels.tsv": "q0\tc0\t0"}, "no question with a judgement"),
        ({"queries.jsonl": "{"}, "line 1: not JSON"),
    ],
)
def test_what_is_wrong_with_a_folder_is_named(
    labelled_folder: Path, tmp_path: Path, change: dict[str, str | None], message: str
) -> None:
    for path in labelled_folder.iterdir():
        text = change.get(path.name, path.read_text(encoding="utf-8"))
        if text is not None:
            (tmp_path / path.name).write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=message):
        read_labelled_set(tmp_path, licence="")


def test_the_split_depends_on_text_and_seed_alone() -> None:
    questions = tuple(Question(str(number), f"问{number // 2}", "", frozenset({1})) for number in range(400))
    train, held = split(questions, 0.2, 7)
    assert len(train) + len(held) == 400
    assert 40 < len(held) < 120
    assert not {one.text for one in train} & {one.text for one in held}
    assert split(tuple(reversed(questions)), 0.2, 7)[1] == list(reversed(held))
    assert split(questions, 0.2, 8)[1] != held
    assert split(questions, 0.0, 7) == (list(questions), [])
