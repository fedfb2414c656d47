from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.parse.encoding import decode
from orchestrator.errors import DocumentError

SIMPLIFIED = (
    "第一条　为了规范医疗保障工作，保障参保人员的合法权益，制定本办法。\n第二条　本办法自2024年1月1日起施行。\n"
)
TRADITIONAL = "第一條　為保障被保險人之權益，特制定本辦法。\n第二條　本辦法自公布日施行。\n"


@pytest.mark.parametrize(
    ("text", "encoding", "found"),
    [
        (SIMPLIFIED, "utf-8", "utf-8"),
        (SIMPLIFIED, "utf-8-sig", "utf-8-sig"),
        (SIMPLIFIED, "utf-16", "utf-16"),
        (SIMPLIFIED, "utf-16-le", "utf-16-le"),
        (SIMPLIFIED, "utf-16-be", "utf-16-be"),
        (SIMPLIFIED, "utf-32", "utf-32"),
        (SIMPLIFIED, "gb18030", "gb18030"),
        (SIMPLIFIED, "gbk", "gb18030"),
        (TRADITIONAL, "big5", "big5hkscs"),
        (TRADITIONAL, "utf-8", "utf-8"),
        ("plain ASCII\n", "ascii", "utf-8"),
    ],
)
def test_round_trip(text, encoding, found):
    decoded = decode(text.encode(encoding), "a.txt")
    assert (decoded.text, decoded.encoding, decoded.warning) == (text, found, "")


def test_declared_encoding_is_believed_where_it_holds():
    assert decode("naïve café".encode("cp1252"), "a.html", "windows-1252").text == "naïve café"
    assert decode(SIMPLIFIED.encode("gbk"), "a.html", "gb2312").text == SIMPLIFIED
    assert decode(SIMPLIFIED.encode(), "a.html", "ascii").text == SIMPLIFIED
    assert decode(b"hello", "a.html", "no-such-encoding").text == "hello"
    assert decode(b"uryyb", "a.html", "rot13").text == "uryyb"


def test_file_cut_inside_a_character():
    assert decode("第一条".encode()[:-1], "a.txt").text == "第一"
    cut = SIMPLIFIED.strip().encode("gb18030")[:-1]
    assert decode(cut, "a.txt").text == SIMPLIFIED.strip()[:-1]


def test_a_few_bad_bytes_are_a_warning():
    data = (SIMPLIFIED * 50).encode()
    decoded = decode(data[:300] + b"\xff" + data[300:], "a.txt")
    assert decoded.encoding == "utf-8"
    assert "1 characters" in decoded.warning


@pytest.mark.parametrize("data", [b"abc\x00def" * 20, bytes(range(1, 32)) * 50])
def test_binary_data_are_refused(data):
    with pytest.raises(DocumentError) as caught:
        decode(data, "a.txt")
    assert caught.value.kind == "UNDECODABLE"
    assert "UTF-8" in caught.value.hint


@settings(deadline=None)
@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1))
def test_utf8_always_comes_back(text):
    decoded = decode(text.encode(), "a.txt")
    assert decoded.text == text.removeprefix("\ufeff")


@settings(deadline=None)
@given(st.binary(min_size=1, max_size=300))
def test_no_bytes_cause_another_error(data):
    with contextlib.suppress(DocumentError):
        assert "\x00" not in decode(data, "a.txt").text
