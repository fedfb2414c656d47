from __future__ import annotations

import zipfile

import pytest

from ingest.parse.reader import parse_file
from ingest.parse.sniff import Format, sniff
from orchestrator.errors import DocumentError

COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504)


def kind_of(path) -> str:
    with pytest.raises(DocumentError) as caught:
        sniff(path, str(path))
    assert str(path) in str(caught.value)
    assert caught.value.hint
    return caught.value.kind


def zipped(write, name: str, *members: str):
    path = write(name, b"")
    with zipfile.ZipFile(path, "w") as package:
        for member in members:
            package.writestr(member, "x")
    return path


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.pdf", b"%PDF-1.7\n...", Format.PDF),
        ("a.pdf", b"\r\n\r\n%PDF-1.4\n", Format.PDF),
        ("a.html", "<!DOCTYPE html><html><body>甲", Format.HTML),
        ("a.htm", "只是文字，没有标签", Format.HTML),
        ("a.md", "# 标题\n<html>", Format.MARKDOWN),
        ("a.txt", "第一条", Format.TEXT),
        ("BM.txt", "BMI 指数", Format.TEXT),
        ("tags.txt", "网页以 <html> 开头", Format.TEXT),
        ("blank.txt", " " * 9000 + "第一条", Format.TEXT),
        ("MZ.txt", "MZ 是缩写", Format.TEXT),
    ],
)
def test_content_and_name_agree(write, name, content, expected):
    found = sniff(write(name, content), name)
    assert (found.format, found.warning) == (expected, "")


def test_word_document(docx):
    assert sniff(docx.write(docx.p("甲")), "a.docx").format is Format.DOCX


@pytest.mark.parametrize(
    ("name", "content", "expected", "told"),
    [
        ("a.docx", "%PDF-1.7\n", Format.PDF, "PDF"),
        ("a.docx", "<html><body>找不到网页", Format.HTML, "HTML"),
        ("a.pdf", "第一条 目的", Format.TEXT, "plain text"),
        ("a.txt", "<!doctype html><p>甲", Format.HTML, "HTML"),
        ("a", "第一条", Format.TEXT, "no suffix"),
        ("通知（2024.1.1）", "第一条", Format.TEXT, "no suffix"),
        ("a.doc", "<html><body>甲", Format.HTML, ".doc"),
    ],
)
def test_name_that_lies_is_a_warning(write, name, content, expected, told):
    found = sniff(write(name, content), name)
    assert found.format is expected
    assert told in found.warning


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.docx", b"", "EMPTY_FILE"),
        ("a.txt", b"  \r\n\t", "EMPTY_FILE"),
        ("a.txt", b"\xef\xbb\xbf", "EMPTY_FILE"),
        ("a.docx", bytes(20_000), "EMPTY_FILE"),
        ("a.docx", COMPOUND + "EncryptedPackage".encode("utf-16-le"), "ENCRYPTED"),
        ("a.doc", COMPOUND + "WordDocument".encode("utf-16-le"), "UNKNOWN_FORMAT"),
        ("a.wps", COMPOUND, "UNKNOWN_FORMAT"),
        ("a.docx", b"PK\x03\x04" + b"x" * 500, "TRUNCATED"),
        ("a.docx", b"{\\rtf1 hello}", "MISLABELLED"),
        ("a.rtf", b"{\\rtf1 hello}", "UNKNOWN_FORMAT"),
        ("a.png", b"\x89PNG\r\n\x1a\n", "UNKNOWN_FORMAT"),
        ("a.pdf", b"\xff\xd8\xff\xe0", "MISLABELLED"),
        ("a.gz", b"\x1f\x8b\x08", "UNKNOWN_FORMAT"),
        ("a.txt", b"\x00\x01\x02\x03\xfe" * 100, "MISLABELLED"),
        ("a.bin", b"\x00\x01\x02\x03\xfe" * 100, "UNKNOWN_FORMAT"),
        ("a.csv", "甲,乙", "UNKNOWN_FORMAT"),
        ("a.py", "print()", "UNKNOWN_FORMAT"),
        ("a.xml", b'<?xml version="1.0"?><?mso-application progid="Word.Document"?>', "UNKNOWN_FORMAT"),
        ("a.mht", b"MIME-Version: 1.0\r\nContent-Type: multipart/related", "UNKNOWN_FORMAT"),
    ],
)
def test_refused_with_a_reason(write, name, content, kind):
    assert kind_of(write(name, content)) == kind


@pytest.mark.parametrize(
    ("member", "told"),
    [("xl/workbook.xml", "Excel"), ("ppt/x.xml", "PowerPoint"), ("OFD.xml", "OFD"), ("mimetype", "OpenDocument")],
)
def test_other_packages_are_named(write, member, told):
    with pytest.raises(DocumentError, match=told):
        sniff(zipped(write, "a.docx", "[Content_Types].xml", member), "a.docx")
    assert kind_of(zipped(write, "b.docx", member)) == "MISLABELLED"
    assert kind_of(zipped(write, "b.xlsx", member)) == "UNKNOWN_FORMAT"


def test_plain_archive(write):
    assert kind_of(zipped(write, "a.zip", "读我.txt")) == "UNKNOWN_FORMAT"


def test_old_word_document_says_how_to_convert(write):
    path = write("a.doc", COMPOUND + "WordDocument".encode("utf-16-le"))
    with pytest.raises(DocumentError, match=r"save it as \.docx"):
        parse_file(path)
