"""The language of templates, and what a wrong file is told."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from orchestrator.domain.pack import load_pack
from orchestrator.domain.templates import Choice, Hole, TemplateSyntaxError, load_templates, parse
from orchestrator.errors import PackError
from orchestrator.settings import PathSettings

PACK = PathSettings().domains / "medical_insurance"


def test_places() -> None:
    assert parse("在<region>住院(报多少|)") == ("在", Hole("region"), "住院", Choice((("报多少",), ())))
    assert parse("<grade=二级|三级>(<a>甲|乙)") == (
        Hole("grade", ("二级", "三级")),
        Choice(((Hole("a"), "甲"), ("乙",))),
    )


@pytest.mark.parametrize("source", ["在<region住院", "报(多少", "报)多少", "(一|(二|三))", "只有(一种)写法", "a>b"])
def test_wrong_syntax(source: str) -> None:
    with pytest.raises(TemplateSyntaxError):
        parse(source)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    target = tmp_path / "medical_insurance"
    shutil.copytree(PACK, target)
    return target


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("templates: {benefit: [住院]}", "no leaf"),
        ("templates: {chat: ['<colour>好']}", "nothing to fill <colour> with"),
        ("templates: {chat: ['<service=天上>好']}", "'天上' is no value of 'service'"),
        ("templates: {chat: ['(好']}", "never closed"),
        ("templates: {chat: [好]}\nvalues: {colour: [红]}", "no slot type 'colour'"),
        ("templates: {chat: [好]}\nvalues: {service: [上天]}", "does not call 'service' open"),
        ("template: {}", "templates"),
    ],
)
def test_a_wrong_file_is_told_where(folder: Path, text: str, complaint: str) -> None:
    (folder / "templates.yaml").write_text(text, "utf-8")
    pack = load_pack(folder)
    with pytest.raises(PackError, match=r"line [12]") as raised:
        load_templates(pack, folder)
    assert complaint in str(raised.value)


def test_no_file(folder: Path) -> None:
    (folder / "templates.yaml").unlink()
    with pytest.raises(PackError, match="missing"):
        load_templates(load_pack(folder), folder)


def test_templates_are_no_part_of_the_fingerprint(folder: Path) -> None:
    before = load_pack(folder).fingerprint
    (folder / "templates.yaml").unlink()
    assert load_pack(folder).fingerprint == before
