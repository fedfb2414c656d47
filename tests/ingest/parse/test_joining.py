from __future__ import annotations

import pytest

from ingest.parse.joining import display_width, join_lines


@pytest.mark.parametrize(
    ("lines", "joined"),
    [
        (["参保人员", "的待遇"], "参保人员的待遇"),
        (["the insured", "person"], "the insured person"),
        (["reim-", "bursement"], "reimbursement"),
        (["COVID-", "19"], "COVID- 19"),
        (["比例为", "70%"], "比例为70%"),
        (["  甲 ", "", "乙"], "甲乙"),
        ([], ""),
    ],
)
def test_join(lines, joined):
    assert join_lines(lines) == joined


def test_width():
    assert display_width("第1条a") == 6
