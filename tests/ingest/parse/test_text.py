from __future__ import annotations

import pytest

from ingest.parse.layout import BlockKind
from ingest.parse.reader import parse_file
from orchestrator.errors import DocumentError


def texts(path):
    return [block.text for block in parse_file(path).blocks]


def test_one_paragraph_a_line(write):
    parsed = parse_file(write("a.txt", "某办法\r\n\r\n第一条　目的。\r第二条　范围。\n\n"))
    assert parsed.media_type == "text/plain"
    assert [(b.text, b.index, b.kind) for b in parsed.blocks] == [
        ("某办法", 0, BlockKind.PARAGRAPH),
        ("第一条　目的。", 1, BlockKind.PARAGRAPH),
        ("第二条　范围。", 2, BlockKind.PARAGRAPH),
    ]


def test_gb18030(write):
    assert texts(write("a.txt", "第一条　目的。", "gb18030")) == ["第一条　目的。"]


def test_wrapped_text_is_joined(write):
    sentence = "参保人员在定点医疗机构发生的符合规定的住院费用由统筹基金按照比例支付"  # 34 characters
    article = sentence * 3 + "。"
    wrapped = []
    for label in ("第一条　", "第二条　", "第三条　"):
        whole = label + article
        wrapped += [whole[start : start + 30] for start in range(0, len(whole), 30)]
    assert texts(write("a.txt", "\n".join(wrapped))) == [f"第{n}条　{article}" for n in "一二三"]


def test_lines_of_many_lengths_stay_lines(write):
    lines = [f"第{number}条　" + "内容" * number for number in range(1, 30)]
    assert texts(write("a.txt", "\n".join(lines))) == lines


def test_white_space_only(write):
    with pytest.raises(DocumentError) as caught:
        parse_file(write("a.txt", "\u3000\n\u3000\n"))
    assert caught.value.kind == "NO_TEXT"
