from __future__ import annotations

import zipfile

import pytest

from ingest.parse.docx import package as package_module
from ingest.parse.reader import parse_file
from orchestrator.errors import DocumentError


def kind_of(path) -> str:
    with pytest.raises(DocumentError) as caught:
        parse_file(path)
    assert str(path) in str(caught.value)
    assert caught.value.hint
    return caught.value.kind


def test_bomb_is_not_unpacked(docx, monkeypatch):
    monkeypatch.setattr(package_module, "MAX_PART_BYTES", 100_000)
    path = docx.write(docx.p("甲") + " " * 10_000_000)
    assert path.stat().st_size < 100_000
    assert kind_of(path) == "TOO_LARGE"


def test_too_many_members(docx, monkeypatch):
    monkeypatch.setattr(package_module, "MAX_MEMBERS", 10)
    members = {f"word/media/{number}.png": "" for number in range(20)}
    assert kind_of(docx.write(docx.p("甲"), members=members)) == "TOO_LARGE"


def test_entities_stay_as_they_are(docx, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("机密")
    document = (
        f'<!DOCTYPE d [<!ENTITY lol "笑"><!ENTITY file SYSTEM "{secret.as_uri()}">]>'
        '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>'
        "<w:p><w:r><w:t>甲&file;&lol;</w:t></w:r></w:p></w:body></w:document>"
    )
    texts = docx.texts("", members={"word/document.xml": document})
    assert texts == ["甲"]


def test_billion_laughs_end_early(docx):
    values = ["笑", *(f"&a{level};" * 10 for level in range(11))]
    entities = "".join(f'<!ENTITY a{level} "{value}">' for level, value in enumerate(values))
    document = (
        f"<!DOCTYPE d [{entities}]>"
        '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>'
        "<w:p><w:r><w:t>&a11;</w:t></w:r></w:p></w:body></w:document>"
    )
    assert kind_of(docx.write("", members={"word/document.xml": document})) in {"NO_TEXT", "TRUNCATED"}


def test_deep_nesting_is_an_error_not_a_crash(docx):
    deep = "<w:sdt><w:sdtContent>" * 5000 + docx.p("甲") + "</w:sdtContent></w:sdt>" * 5000
    assert kind_of(docx.write(deep)) == "TOO_LARGE"


def test_nesting_that_xml_allows_is_read(docx):
    body = docx.p("甲")
    for _ in range(20):
        body = docx.table([f"<w:tc>{body}</w:tc>", "乙"], ["丙", "丁"])
    assert "甲" in docx.texts(body)[0]


def test_targets_outside_the_package_are_not_followed(docx):
    rels = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        '<Relationship Id="r1" Type="x/styles" Target="../../../../etc/passwd"/>'
        '<Relationship Id="r2" Type="x/numbering" Target="http://127.0.0.1:1/x" TargetMode="External"/></Relationships>'
    )
    assert docx.texts(docx.p("甲"), members={"word/_rels/document.xml.rels": rels}) == ["甲"]


def test_broken_xml(docx):
    assert kind_of(docx.write(docx.p("甲") + "<w:p>")) == "TRUNCATED"


def test_main_part_in_another_place(docx):
    path = docx.write(docx.p("甲"))
    moved = path.with_name("moved.docx")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(moved, "w") as new:
        for name in old.namelist():
            text = old.read(name).decode().replace('Target="word/document.xml"', 'Target="/Content/Main.xml"')
            new.writestr({"word/document.xml": "content\\main.xml"}.get(name, name), text)
    assert parse_file(moved).blocks[0].text == "甲"


def test_encrypted_member(docx):
    path = docx.write(docx.p("甲"))
    data = bytearray(path.read_bytes())
    # The flag's first bit, in the local header and in the central directory, marks a member as encrypted.
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = 0
        while (place := data.find(signature, place)) >= 0:
            data[place + offset] |= 1
            place += 4
    path.write_bytes(bytes(data))
    assert kind_of(path) == "ENCRYPTED"
